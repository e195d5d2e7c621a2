"""What can still happen in a source of the in-memory store: a look at every partition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.pause import Pause
from airflow_coordination.protocol.results import Outlook
from airflow_coordination.protocol.steps import due_at
from airflow_coordination.values.status import PartitionStatus


def outlook_of(living: Sequence[Partition], pause: Pause, now: datetime) -> Outlook:
    """Return the outlook of a source.

    :param living: all of its partitions but tombstones.
    :param pause: whether it is paused.
    """
    ahead = [due for p in living if (due := due_at(p)) is not None and due > now]
    prospects = [(partition, _prospect(partition, now)) for partition in living]
    found = Counter(prospect for _, prospect in prospects)
    claimable = [partition for partition, prospect in prospects if prospect == "claimable"]
    late = sum(p.status is not PartitionStatus.UNASSIGNED for p in claimable)
    expired = sum(p.status is PartitionStatus.ASSIGNED for p in claimable)
    oldest = max((now - due for p in claimable if (due := due_at(p)) is not None), default=None)
    return Outlook(
        **found,
        next_due=min(ahead, default=None),
        overdue=late,
        oldest_claimable=oldest,
        pause=pause,
        expired=expired,
    )


def _prospect(partition: Partition, now: datetime) -> str:
    """Return which field of :class:`Outlook` counts the partition."""
    if partition.status is PartitionStatus.COMPLETED:
        return "completed"
    due = due_at(partition)
    if due is None:
        return "blocked" if partition.blocked else "parked"
    if due <= now:
        return "claimable"
    return "assigned" if partition.status is PartitionStatus.ASSIGNED else "waiting"
