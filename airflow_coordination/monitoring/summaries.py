"""One partition in a line: what it is, who holds it, and what happens to it next."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from airflow_coordination.monitoring.states import state_of
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.steps import due_at
from airflow_coordination.values.status import PartitionStatus


def summary(partition: Partition, now: datetime) -> Mapping[str, object]:
    """Return the columns of a list.

    :param now: the store's clock.
    """
    then, at = _next(partition, now)
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
    if partition.blocked:
        left = len(partition.waits_for)
        return f"{left} parent{'s' if left > 1 else ''} of it must complete", None
    if partition.status is PartitionStatus.UNASSIGNED:
        return "it can be acquired", None if overdue else due
    return None, None
