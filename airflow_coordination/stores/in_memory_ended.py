"""Sums of what ended in each five minutes, in the store of one process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime

from airflow_coordination.protocol.beside.ended_sums import EndedSums, EndedTenure
from airflow_coordination.stores.in_memory_source import StoredSource


class KeepsEnded(ABC):
    """What :class:`.InMemoryStore` has of them."""

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
