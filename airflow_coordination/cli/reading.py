"""The commands that only read."""

from __future__ import annotations

from argparse import Namespace
from datetime import datetime

from airflow_coordination.cli.output import Row, print_rows
from airflow_coordination.cli.place import Place
from airflow_coordination.leases.errors import PartitionNotFoundError
from airflow_coordination.leases.names import agreed_prefix, split_source
from airflow_coordination.leases.partition import Partition, PartitionStatus


def status(place: Place, args: Namespace) -> None:
    """Print the counts of one source, or of all that are registered."""
    named = [(args.partition_prefix, args.source)] if args.source else _registered(place, args.partition_prefix)
    print_rows([_counted(place, prefix, source) for prefix, source in named], args.output)


def _registered(place: Place, partition_prefix: str | None) -> list[tuple[str | None, str]]:
    """Return prefix and name of all sources, of one prefix where the store or the command names one."""
    wanted = agreed_prefix(place.store.partition_prefix, partition_prefix)
    named = [split_source(name)[:2] for name, _ in place.store.sources()]
    return [(prefix, source) for prefix, source in named if wanted in (None, prefix)]


def _counted(place: Place, prefix: str | None, source: str) -> Row:
    coordinator = place.coordinator(source, prefix)
    counts, outlook = coordinator.counts(), coordinator.outlook()
    row: dict[str, object] = {"source": source, "prefix": coordinator.partition_prefix}
    row |= {str(each).lower(): counts[each] for each in PartitionStatus}
    return row | {"parked": outlook.parked, "next_due": outlook.next_due}


def list_partitions(place: Place, args: Namespace) -> None:
    """Print one page of partitions, by key."""
    wanted = PartitionStatus(args.status) if args.status else None
    page = place.coordinator(args.source, args.partition_prefix).partitions(
        status=wanted, after=args.after, limit=args.limit
    )
    print_rows([summary(partition) for partition in page], args.output)


def show(place: Place, args: Namespace) -> None:
    """Print one partition with its endings and people's actions.

    :raises PartitionNotFoundError: when there is none of this key.
    """
    coordinator = place.coordinator(args.source, args.partition_prefix)
    partition = coordinator.partition(args.key)
    if partition is None:
        raise PartitionNotFoundError(args.key, args.source)
    rows: list[Row] = [{"field": name, "value": value} for name, value in _details(partition).items()]
    rows += [{"field": f"ending {ending.fence.token}", "value": str(ending)} for ending in partition.endings]
    rows += [{"field": "action", "value": _spoken(action)} for action in place.store.audit(partition.source, args.key)]
    print_rows(rows, args.output)


def summary(partition: Partition) -> Row:
    """Return the columns of a list."""
    return {
        "key": partition.key,
        "status": "PARKED" if partition.parked else str(partition.status),
        "owner": partition.owner,
        "until": _until(partition),
        "closed": partition.closed_count,
        "failures": partition.failures,
        "lost_leases": partition.lost_leases,
        "last_error": partition.last_error,
    }


def _until(partition: Partition) -> datetime | None:
    """Return when the state changes by itself; a time of availability only if it lay ahead when it was set."""
    available_at, set_at = partition.available_at, partition.updated_at or partition.created_at
    waits = available_at is not None and set_at is not None and available_at > set_at
    return partition.ownership_timeout or partition.reopen_at or (available_at if waits else None)


def _details(partition: Partition) -> Row:
    named = ("priority", "payload_text", "progress_text", "reopen_at", "available_at", "created_at", "updated_at")
    fence = str(partition.fence) if partition.fence else None
    limit = {"max_lost_leases": partition.max_lost_leases}
    return {**summary(partition), **limit, "fence": fence, **{name: getattr(partition, name) for name in named}}


def _spoken(action: dict[str, object]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in action.items() if value not in (None, ""))
