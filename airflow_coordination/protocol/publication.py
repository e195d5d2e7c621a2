"""What an ending publishes: the head records after it, by the *generation* rule of ``protocol.md``.

A publication replaces the partition's earlier output of a dataset, but adds to it when its progress was
carried over from that publication (same generation), or when the publisher says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.blocks import Block, merge


def by_dataset(blocks: Iterable[Block]) -> dict[str, list[Block]]:
    """Return ``blocks`` grouped by dataset, in their order."""
    grouped: dict[str, list[Block]] = {}
    for block in blocks:
        grouped.setdefault(block.dataset, []).append(block)
    return grouped


def adds(partition: Partition, blocks: Sequence[Block], head: HeadRecord | None) -> bool:
    """Return whether publishing ``blocks`` adds to ``head`` instead of replacing it."""
    if head is None:
        return False
    return head.generation == partition.generation or any(block.mode == "append" for block in blocks)


def of_an_earlier_life(partition: Partition, head: HeadRecord) -> bool:
    """Return whether a partition that was deleted and created again had published ``head`` before that.

    Only the generation that the creation began can tell: what is there of another one is older. Blocks of it are
    probably made once more now, so nobody can know whether ``"append"`` means to add to them.
    """
    begun_by_creation = partition.generation == partition.create_op
    return begun_by_creation and head.generation != partition.generation and bool(head.blocks)


def may_add(partition: Partition, blocks: Iterable[Block]) -> bool:
    """Return whether the present head records must be known: only then are they read.

    A generation can only have published before when the partition was closed in it.
    """
    return partition.closed_count > 0 or any(block.mode == "append" for block in blocks)


def retracted(head: HeadRecord) -> HeadRecord:
    """Return the head record after a person's retract: of no block, and still there.

    It goes on to name the ending that published, so that a late sender still learns what became of that one. Its time
    is the retract's, so that the collector leaves the blocks to those who are reading them.
    """
    return replace(head, blocks=(), rows=0, bytes=0, published_at=None, accounting_text=None)


def head_records(
    partition: Partition,
    blocks: Sequence[Block],
    heads: Mapping[str, HeadRecord],
    op: str,
    accounting_text: str | None = None,
) -> tuple[HeadRecord, ...]:
    """Return the head records after an ending that publishes ``blocks``.

    :param partition: the partition whose tenure ends.
    :param blocks: its staged and new blocks.
    :param heads: its present head records by dataset, where :func:`may_add` asks for them.
    :param op: the ending's operation id.
    :param accounting_text: the partition's totals after the ending.
    """
    records = []
    for dataset, published in by_dataset(blocks).items():
        head = heads.get(dataset)
        whole = merge(head.blocks, published) if head and adds(partition, published, head) else merge((), published)
        records.append(
            HeadRecord(
                source=partition.source,
                dataset=dataset,
                key=partition.key,
                blocks=whole,
                rows=sum(block.rows for block in whole),
                bytes=sum(block.bytes for block in whole),
                generation=partition.generation,
                op=op,
                token=partition.token,
                accounting_text=accounting_text,
            )
        )
    return tuple(records)
