"""In a line each: a source, a partition, what parked ones failed of, and what became of records."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile

from airflow_coordination.leases.creation import dags_of
from airflow_coordination.monitoring.owners import NO_GRACE
from airflow_coordination.monitoring.states import state_of
from airflow_coordination.protocol.beside.parts import glance
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import Outlook
from airflow_coordination.protocol.steps import due_at
from airflow_coordination.values.accounting import Accounting
from airflow_coordination.values.errors import first_line
from airflow_coordination.values.failing import alike
from airflow_coordination.values.names import split_source
from airflow_coordination.values.status import PartitionStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSummary:
    """One source as it was at one look.

    :param identifier: the stored source identifier.
    :param dags: the ids of the DAGs that registered it, in order; none of a source that was filled outside Airflow.
    :param counts: partitions by status.
    :param outlook: what can still happen in it.
    """

    identifier: str
    dags: tuple[str, ...]
    counts: Mapping[PartitionStatus, int]
    outlook: Outlook

    @property
    def name(self) -> str:
        """The source's name."""
        return split_source(self.identifier)[1]

    @property
    def prefix(self) -> str | None:
        """The deployment's partition prefix, ``None`` without one."""
        return split_source(self.identifier)[0]

    @property
    def total(self) -> int:
        """How many partitions it has."""
        return sum(self.counts.values())


def sources(store: PartitionStore, only: Collection[str] | None = None) -> Iterator[SourceSummary]:
    """Yield what is registered in a store, by name; two requests for each source, when it is its turn.

    :param only: stored source identifiers; ``None`` = all.
    """
    for identifier, facts in store.sources():
        if only is None or identifier in only:
            yield SourceSummary(
                identifier=identifier,
                dags=tuple(sorted(dags_of(facts))),
                counts=store.counts(identifier),
                outlook=glance(store, identifier),
            )


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
    :param last: since when the last of them is parked, as far as the partitions tell.
    """

    error: str
    like: str
    number: int
    key: str
    since: datetime | None = None
    alike: str = ""
    last: datetime | None = None


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
    times = sorted(filter(None, (each.updated_at for each in found)))
    since, last = (times[0], times[-1]) if times else (None, None)
    return ErrorGroup(_said(found[0]), like[:200].strip(), len(found), found[0].key, since, alike, last)


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


def unbalanced(counted: Accounting) -> list[str]:
    """Return a sentence for each sum that does not balance: no delivery writes one."""
    return [f"They do not balance: {line}." for line in counted.imbalances()]


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
