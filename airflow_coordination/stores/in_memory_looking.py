"""What can be seen of a source in memory: every partition is looked at, and sums of what ended are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Final

from airflow_coordination.protocol.beside.ended_sums import EndedSums, EndedTenure
from airflow_coordination.protocol.beside.key_ranges import KeyRange, KeyRanges
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.pause import Pause
from airflow_coordination.protocol.results import Outlook
from airflow_coordination.protocol.steps import due_at
from airflow_coordination.stores.in_memory_source import StoredSource
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


class KeepsEnded(ABC):
    """What :class:`.InMemoryStore` has of what ended, and of its sums for each five minutes."""

    @abstractmethod
    def _step(self) -> AbstractContextManager[datetime]:
        """Hold the lock for one step, and give the step its time."""

    @abstractmethod
    def _source(self, name: str) -> StoredSource:
        """Return a source; the caller holds the lock."""

    def ended_between(self, source: str, since: datetime, until: datetime, limit: int) -> Sequence[EndedTenure]:
        """Return the first endings of the history from a time up to another one, the oldest first."""
        with self._step():
            past = [each for each in self._source(source).history() if since <= each.ended_at < until]
            found = (EndedTenure(each.ended_at, each.outcome, each.rows, each.bytes) for each in past)
            return sorted(found, key=lambda each: each.ended_at)[:limit]

    def ended_sums(self, source: str, limit: int) -> Sequence[EndedSums]:
        """Return the newest sums of what ended, the newest first."""
        with self._step():
            kept = self._source(source).ended
            return [kept[start] for start in sorted(kept, reverse=True)[:limit]]

    def put_ended_sums(self, source: str, row: EndedSums, seen: datetime | None) -> bool:
        """Write sums of what ended in five minutes, if nobody has counted on since ``seen``."""
        with self._step():
            kept = self._source(source).ended
            before = kept.get(row.start)
            if (before.counted_to if before else None) != seen:
                return False
            kept[row.start] = row
            return True

    def forget_ended_sums(self, source: str, before: datetime) -> None:
        """Remove the sums of what ended before a time."""
        with self._step():
            kept = self._source(source).ended
            for start in [start for start in kept if start < before]:
                del kept[start]
