"""The blocks that a new one adds to: the blocks of its tenure, or what its partition published before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from airflow_coordination.outputs.attempts import OpenBlock
from airflow_coordination.outputs.formats import check_format
from airflow_coordination.outputs.manifests import Reference, may_follow
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.remedies import about, shell_of
from airflow_coordination.protocol.side_writes import adds, may_add, of_an_earlier_life
from airflow_coordination.values.blocks import Block, Mode
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import branch_dataset, partition_label


def check_arguments(mode: object, file_format: object, options: Any = None) -> None:
    """Refuse a mode, format or option that readers do not know.

    :raises InvalidInputError: naming those they do.
    """
    if mode not in get_args(Mode):
        raise InvalidInputError("mode", mode, "is not a mode", "Give 'replace' or 'append'")
    check_format(file_format, options)


def check_one_mode(known: Sequence[Block], dataset: str, mode: Mode) -> None:
    """Refuse a second mode for a dataset of this tenure.

    :param known: the blocks of this tenure, and those staged before it.
    :raises InvalidInputError: naming both.
    """
    others = [block for block in known if block.dataset == dataset and block.mode != mode]
    if others:
        problem = f"differs from {others[0].mode!r}, which {dataset!r} has in this tenure"
        raise InvalidInputError("mode", mode, problem, "Use one mode per dataset")


def check_not_twice(store: PartitionStore, partition: Partition, known: Sequence[Block], dataset: str) -> None:
    """Refuse to append to the output of an earlier life, before the work for it is done.

    :raises InvalidInputError: naming the ways out.
    """
    if any(block.dataset == dataset for block in known) or partition.generation != partition.create_op:
        return
    for head in store.heads(partition.source, branch_dataset(partition.branch, dataset), partition.key):
        if of_an_earlier_life(partition, head):
            label = partition_label(partition.source, partition.key)
            shell = shell_of(store)
            problem = f"would add to {dataset!r} of {label} what may be in it already, from before it was created again"
            remedy = (
                "Publish with mode='replace' to take the place of what is there, or take it back by "
                f"`{about(shell, 'retract', partition.source, partition.key)}`; to add to it all the same, run "
                f"`{about(shell, 'reset', partition.source, partition.key)}`"
            )
            raise InvalidInputError("mode", "append", problem, remedy)


def predecessor(
    store: PartitionStore, partition: Partition, known: Sequence[Block], block: OpenBlock, mode: Mode
) -> Reference | None:
    """Return the newest block that this one adds to, so that the store keeps one block however many there are.

    It begins a chain of its own beside one that readers would not follow: on another kind of storage.
    """
    before = [each for each in known if each.dataset == block.dataset]
    newest = next(reversed(before or _published(store, partition, block.dataset, mode)), None)
    if newest is None or not may_follow(block.path, newest.address, partition.source, partition.key):
        return None
    return Reference(newest.address, newest.digest)


def _published(store: PartitionStore, partition: Partition, dataset: str, mode: Mode) -> list[Block]:
    """Return the published blocks, if this tenure adds to them. Only a tenure of this partition can change that."""
    probe = Block(dataset, "-", "-", mode=mode)
    if not may_add(partition, [probe]):
        return []
    heads = store.heads(partition.source, branch_dataset(partition.branch, dataset), partition.key)
    return [block for head in heads if adds(partition, [probe], head) for block in head.blocks]


def schema_text(schema: Any) -> str | None:
    """Return the schema that a publisher gave, as JSON text.

    :raises InvalidInputError: when it is none.
    """
    if schema is None:
        return None
    text = schema.json() if callable(getattr(schema, "json", None)) else ""
    if not text.startswith('{"fields":'):
        raise InvalidInputError("schema", schema, "is no schema of a DataFrame", "Give df.schema of what is written")
    return str(text)
