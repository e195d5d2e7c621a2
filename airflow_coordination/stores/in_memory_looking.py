"""What can be seen of a source in memory: every partition is looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from airflow_coordination.protocol.beside.key_ranges import KeyRange, KeyRanges
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.pause import Pause
from airflow_coordination.protocol.results import Outlook
from airflow_coordination.protocol.steps import due_at
from airflow_coordination.values.status import PartitionStatus

_WORDS: Final = {"assigned": "held", "waiting": "delayed"}
"""How people call what an outlook counts, where that is another word."""


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


def ranges_of(living: Sequence[Partition], number: int, now: datetime) -> KeyRanges:
    """Return ranges of about as many partitions each.

    :param living: all but tombstones, by key.
    """
    parts: dict[int, list[Partition]] = {}
    for place, partition in enumerate(living):
        parts.setdefault(place * number // len(living), []).append(partition)
    return KeyRanges(
        [
            KeyRange(first=part[0].key, last=part[-1].key, **Counter(_word(each, now) for each in part))
            for part in parts.values()
        ]
    )


def _word(partition: Partition, now: datetime) -> str:
    prospect = _prospect(partition, now)
    if prospect == "claimable" and partition.status is PartitionStatus.ASSIGNED:
        return "expired"
    return _WORDS.get(prospect, prospect)
