"""Whether a store remembers each tenure: every ending in a partition's ring has its row in the history."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.past_tenure import PastTenure
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.testing.forwarding import there
from airflow_coordination.values import accounting
from airflow_coordination.values.fence import Ending

_PAGE = 500


def unremembered(store: PartitionStore, source: str, *, best_effort: bool = False) -> Iterator[str]:
    """Yield what the history of a source lacks, or says otherwise than the rings of its partitions.

    :param store: one that keeps a history.
    :param source: the stored source identifier.
    :param best_effort: a row may be missing, or not know who held the partition; none may be wrong (DynamoDB).
    """
    after: str | None = None
    while page := store.page(source, None, after, _PAGE):
        for partition in page:
            yield from unremembered_of(store, partition, best_effort=best_effort)
        after = page[-1].key


def unremembered_of(store: PartitionStore, partition: Partition, *, best_effort: bool = False) -> Iterator[str]:
    """Yield what the history of one partition lacks, or says otherwise than its ring."""
    found = there(parts_of(store).history).history(partition.source, partition.key)
    rows = {past.fence: past for past in found}
    if len(rows) < len(found):
        yield f"{partition.key!r}: a tenure is there twice: {found}"
    for ending in partition.endings:
        row = rows.get(ending.fence)
        if row is None:
            if not best_effort:
                yield f"{partition.key!r}: tenure {ending.fence} ended ({ending}) and has no row"
        elif _said_by_row(row) != _said_by_ring(ending):
            yield f"{partition.key!r}: the ring says {_said_by_ring(ending)}, the row {_said_by_row(row)}"
        elif problem := _doubtful(row, partition, best_effort=best_effort):
            yield f"{partition.key!r}: {problem}"


def _doubtful(row: PastTenure, partition: Partition, *, best_effort: bool) -> str:
    """Return what a row that ended as the ring says cannot be right about, empty if nothing."""
    if row.acquired_at is not None and row.acquired_at > row.ended_at:
        return f"it began after its end: {row}"
    if not best_effort and (row.owner is None or row.acquired_at is None):
        return f"nobody knows who held it, and since when: {row}"
    # A sweep that is applied twice ends two tenures under one operation: only the newest is what it was left by.
    newest = row.fence.token == partition.token and partition.last_op == row.op
    if newest and not _left(row, partition, best_effort=best_effort):
        return f"it was left with {partition.accounting_text}, the row says {row.accounting_text}"
    return ""


def _left(row: PastTenure, partition: Partition, *, best_effort: bool) -> bool:
    """Return whether the newest row has the accounting that its ending has left, after which nothing was written.

    A person's reset begins a generation without any: what it has ended had what it had.
    """
    if row.accounting_text is None and best_effort:
        return True
    now = accounting.said(partition)
    return row.accounting_text == now or (now is None and partition.generation == row.op)


def _said_by_ring(ending: Ending) -> tuple[object, ...]:
    return ending.outcome, ending.op, ending.at, ending.status_after, ending.closed_count


def _said_by_row(row: PastTenure) -> tuple[object, ...]:
    return row.outcome, row.op, row.ended_at, row.status_after, row.closed_count
