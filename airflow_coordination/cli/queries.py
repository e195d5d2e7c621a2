"""The commands that only read."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.output import Row, print_rows, say
from airflow_coordination.leases.errors import PartitionNotFoundError
from airflow_coordination.leases.names import agreed_prefix, check_limit, split_source
from airflow_coordination.leases.partition import Partition
from airflow_coordination.leases.remedies import quoted
from airflow_coordination.leases.results import Outlook
from airflow_coordination.leases.status import PartitionStatus
from airflow_coordination.leases.steps import due_at

PARKED: Final = "PARKED"
"""The people's word for CLOSED without a time to reopen."""
_WANTED: Final = {
    **{str(each): (each, None) for each in PartitionStatus},
    str(PartitionStatus.CLOSED): (PartitionStatus.CLOSED, False),
    PARKED: (PartitionStatus.CLOSED, True),
}
STATES: Final = tuple(_WANTED)
"""The states by which a list can be narrowed."""


def wanted(state: str | None) -> tuple[PartitionStatus | None, bool | None]:
    """Return what a page is asked for: the status, and whether parked, of one of :data:`STATES`, or of any."""
    return _WANTED.get(state or "", (None, None))


def by_state(counts: Mapping[PartitionStatus, int], outlook: Outlook) -> dict[str, int]:
    """Return how many partitions are in each of :data:`STATES`: in the store parked ones are CLOSED, too."""
    closed = max(0, counts[PartitionStatus.CLOSED] - outlook.parked)
    stored = {str(each): counts[each] for each in PartitionStatus}
    return {**stored, str(PartitionStatus.CLOSED): closed, PARKED: outlook.parked}


def status(context: CommandContext, args: Namespace) -> None:
    """Print the counts of one source, or of all that are registered."""
    print_rows([_counted(context, prefix, source) for prefix, source in chosen(context, args)], args.output)


def chosen(context: CommandContext, args: Namespace) -> list[tuple[str | None, str]]:
    """Return prefix and name of the source that is named, or of all that are registered."""
    if args.source:
        return [(args.partition_prefix, args.source)]
    return registered(context, args.partition_prefix)


def registered(context: CommandContext, partition_prefix: str | None) -> list[tuple[str | None, str]]:
    """Return prefix and name of all sources, of one prefix where the store or the command names one."""
    agreed = agreed_prefix(context.store.partition_prefix, partition_prefix)
    named = [split_source(name)[:2] for name, _ in context.store.sources()]
    found = [(prefix, source) for prefix, source in named if agreed in (None, prefix)]
    if named and not found:
        elsewhere = ", ".join(sorted({"none" if prefix is None else ascii(prefix) for prefix, _ in named}))
        say(f"There is no source under partition_prefix {agreed!a}; the store has {len(named)} under: {elsewhere}")
    return found


def _counted(context: CommandContext, prefix: str | None, source: str) -> Row:
    coordinator = context.coordinator(source, prefix)
    counts, outlook = coordinator.counts(), coordinator.outlook()
    row: dict[str, object] = {"source": source, "prefix": coordinator.partition_prefix}
    row |= {state.lower(): count for state, count in by_state(counts, outlook).items()}
    return row | {"overdue": outlook.overdue, "next_due": outlook.next_due}


def list_partitions(context: CommandContext, args: Namespace) -> None:
    """Print one page of partitions by key, and say how to go on when there are more."""
    coordinator = context.coordinator(args.source, args.partition_prefix)
    more = check_limit(args.limit) + 1
    only, parked = wanted(args.status)
    found = coordinator.partitions(only, args.after, more, parked=parked, prefix=args.key_prefix)
    page = found[: args.limit]
    now = context.store.now()
    print_rows([summary(partition, now) for partition in page], args.output)
    if len(found) > len(page):
        say(f"There are more. These are the first {len(page)}; go on with --after={quoted(page[-1].key)}")


def show(context: CommandContext, args: Namespace) -> None:
    """Print one partition with its endings and people's actions.

    :raises PartitionNotFoundError: when there is none of this key.
    """
    coordinator = context.coordinator(args.source, args.partition_prefix)
    partition = coordinator.partition(args.key)
    if partition is None:
        raise PartitionNotFoundError(args.key, args.source)
    rows: list[Row] = [
        {"field": name, "value": value} for name, value in _details(partition, context.store.now()).items()
    ]
    rows += [{"field": f"ending {ending.fence.token}", "value": str(ending)} for ending in partition.endings]
    rows += [
        {"field": "action", "value": _spoken(action)} for action in context.store.audit(partition.source, args.key)
    ]
    print_rows(rows, args.output)


def summary(partition: Partition, now: datetime) -> Row:
    """Return the columns of a list.

    :param now: the store's clock.
    """
    then, at = _next(partition, now)
    return {
        "key": partition.key,
        "status": PARKED if partition.parked else str(partition.status),
        "owner": partition.owner,
        "next": then,
        "next_at": at,
        "closed": partition.closed_count,
        "failures": partition.failures,
        "lost_leases": partition.lost_leases,
        "last_error": partition.last_error,
    }


def _next(partition: Partition, now: datetime) -> tuple[str | None, datetime | None]:
    """Return the partition's next event and its time. An overdue one waits for whoever looks after the source."""
    due = due_at(partition)
    overdue = due is not None and due <= now
    if partition.status is PartitionStatus.ASSIGNED:
        return ("its lease is over: a sensor or an acquirer takes it" if overdue else "its lease ends"), due
    if partition.parked:
        return "a person reopens it", None
    if partition.status is PartitionStatus.CLOSED:
        return ("it is due: a sensor or an acquirer opens it" if overdue else "it opens again"), due
    if partition.status is PartitionStatus.UNASSIGNED:
        return "it can be acquired", None if overdue else due
    return None, None


def _details(partition: Partition, now: datetime) -> Row:
    named = ("priority", "payload_text", "progress_text", "reopen_at", "available_at", "created_at", "updated_at")
    fence = str(partition.fence) if partition.fence else None
    limit = {"max_failures": partition.max_failures, "max_lost_leases": partition.max_lost_leases}
    return {**summary(partition, now), **limit, "fence": fence, **{name: getattr(partition, name) for name in named}}


def _spoken(action: dict[str, object]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in action.items() if value not in (None, ""))
