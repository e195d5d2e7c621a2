"""In a line each: a partition, what parked ones failed of, and what became of records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile

from airflow_coordination.monitoring.owners import NO_GRACE
from airflow_coordination.monitoring.states import state_of
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.steps import due_at
from airflow_coordination.values.accounting import Accounting
from airflow_coordination.values.errors import first_line
from airflow_coordination.values.failing import alike
from airflow_coordination.values.status import PartitionStatus


def summary(partition: Partition, now: datetime, grace: timedelta = NO_GRACE) -> Mapping[str, object]:
    """Return the columns of a list.

    :param now: the store's clock.
    :param grace: ``reassign_grace``, as the owners have it.
    """
    then, at = _next(partition, now, grace)
    return {
        "key": partition.key,
        "status": state_of(partition),
        "owner": partition.owner,
        "next": then,
        "next_at": at,
        "closed": partition.closed_count,
        "failures": partition.failures,
        "lost_leases": partition.lost_leases,
        "last_error": partition.last_error,
    }


def _next(partition: Partition, now: datetime, grace: timedelta) -> tuple[str | None, datetime | None]:
    """Return the partition's next event and its time. An overdue one waits for whoever looks after the source."""
    due = due_at(partition)
    overdue = due is not None and due <= now
    if partition.is_late(grace, now):
        return "its owner is late: it is in grace, and then others get it", due
    if partition.status is PartitionStatus.ASSIGNED:
        return ("its lease is over: a sensor or an acquirer takes it" if overdue else "its lease ends"), due
    if partition.parked:
        return "a person reopens it", None
    if partition.status is PartitionStatus.CLOSED:
        return ("it is due: a sensor or an acquirer opens it" if overdue else "it opens again"), due
    if partition.blocked:
        left = len(partition.waits_for)
        return "its parent must complete" if left == 1 else f"{left} parents of it must complete", None
    if partition.status is PartitionStatus.UNASSIGNED:
        return "it can be acquired", None if overdue else due
    return None, None


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Partitions that were parked with the same error.

    :param error: the first line of one of them, printable.
    :param like: what all their errors have in common from the beginning on; empty when that is nothing.
    :param number: how many.
    :param key: one of them.
    :param since: since when the first of them is parked, as far as the partitions tell.
    :param alike: what a filter finds exactly them by.
    """

    error: str
    like: str
    number: int
    key: str
    since: datetime | None = None
    alike: str = ""


def grouped(parked: Iterable[Partition]) -> list[ErrorGroup]:
    """Return the errors of parked partitions, the most frequent first."""
    groups_of: dict[str, list[Partition]] = {}
    for each in parked:
        groups_of.setdefault(alike(each.last_error, each.key), []).append(each)
    groups = [_group(same, each) for same, each in groups_of.items()]
    return sorted(groups, key=lambda group: (-group.number, group.error))


def _group(alike: str, found: list[Partition]) -> ErrorGroup:
    texts = [(each.last_error or "").strip().partition("\n")[0] for each in found]
    same = takewhile(lambda pair: pair[0] == pair[1], zip(min(texts), max(texts), strict=False))
    like = "".join(char for char, _ in same)
    since = min(filter(None, (each.updated_at for each in found)), default=None)
    return ErrorGroup(_said(found[0]), like[:200].strip(), len(found), found[0].key, since, alike)


def _said(partition: Partition) -> str:
    return first_line(partition.last_error, "without an error")


@dataclass(frozen=True, slots=True)
class Line:
    """One count.

    :param count: what was counted.
    :param sink: of which sink, ``None`` for the records as a whole.
    :param records: how many.
    """

    count: str
    sink: str | None
    records: int


def lines(counted: Accounting) -> Iterator[Line]:
    """Yield what became of the records, then of what each sink was owed: in each part the first line is the sum."""
    yield Line("read", None, counted.read)
    yield Line("delivered everywhere", None, counted.delivered_everywhere)
    for reason, count in sorted(counted.dropped.items()):
        yield Line(f"dropped: {reason}", None, count)
    yield Line("unrouted", None, counted.unrouted)
    yield Line("dead-lettered", None, counted.dead_lettered)
    yield Line("failed", None, counted.failed)
    for name, sink in sorted(counted.sinks.items()):
        parts = ("owed", "delivered", "dead-lettered", "failed")
        for part, count in zip(parts, sink.values(), strict=True):
            yield Line(part, name, count)
