"""The duties that count: ``collectStats`` what there is in all sources, ``countEnded`` what ended in five minutes."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import ClassVar, Final

from airflow_coordination.duties.groups.round import Ran, Round, in_each
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.beside.ended_sums import MOST_SLOTS, SLOT
from airflow_coordination.values.status import PartitionStatus
from airflow_coordination.values.times import from_micros, to_micros

MOST_PORTIONS: Final = 50
"""Portions that one run counts of a source at most, 100,000 endings; where there are more, the next run goes on."""
SELDOM: Final = timedelta(hours=1)
"""From one look for old sums to the next."""


class CountEnded:
    """Counts on how much ended, for charts, from where whoever counted before has got to; what is two days old goes.

    Any number of these may run at once, and one that dies half way leaves nothing wrong (decision 158).
    """

    name: ClassVar[str] = "countEnded"

    def run(self, round: Round) -> Ran:
        """Count: four requests for a source, and once in an hour one more."""
        counting = _Counting(round)
        return counting.told(() if round.dry_run else in_each(round.sources, counting.count))


class _Counting:
    def __init__(self, round: Round) -> None:
        last = from_micros(round.remembered) if isinstance(round.remembered, int) else None
        self._now, self.rows, self.endings, self.behind = round.now, 0, 0, 0
        self._forgets = last is None or round.now >= last + SELDOM
        self._forgot = to_micros(round.now) if self._forgets else round.remembered

    def count(self, coordinator: SourceCoordinator) -> None:
        book, begin = coordinator.looking.ended, self._now - SLOT * (MOST_SLOTS - 1)
        if self._forgets:
            book.forget_old(self._now)
        for _ in range(MOST_PORTIONS):
            counted = book.count_on(begin, now=self._now)
            if counted is None:  # the store keeps no history, or somebody else counts just now
                return
            self.rows += counted.rows
            self.endings += counted.endings
            if not counted.goes_on:
                return
        self.behind += 1

    def told(self, errors: tuple[str, ...]) -> Ran:
        said = f"counted {self.endings} ending(s)" if self.endings else "nothing to count"
        more = f"; {self.behind} source(s) go on in the next run" if self.behind else ""
        counts = {"ended/sums/count": self.rows, "ended/behind/count": self.behind}
        return Ran(said=said + more, counts=counts, idle=not self.endings, errors=errors, left=self._forgot)


class CollectStats:
    """Counts partitions by status, and chunks by what compaction makes of them, as its last plan has left the sums.

    Source: Druid, ``CollectSegmentAndServerStats``.
    """

    name: ClassVar[str] = "collectStats"

    def run(self, round: Round) -> Ran:
        """Count; two requests for each source, whatever it has."""
        counts = dict.fromkeys((f"partition/{status.lower()}/count" for status in PartitionStatus), 0)
        counts |= {"interval/count": 0, "interval/bytes": 0}
        for coordinator in round.sources:
            for metric, number in _stats_of(coordinator).items():
                counts[metric] = counts.get(metric, 0) + number
        there = sum(counts[f"partition/{status.lower()}/count"] for status in PartitionStatus)
        return Ran(said=f"{len(round.sources)} source(s) with {there} partition(s)", counts=counts, idle=True)


def _stats_of(coordinator: SourceCoordinator) -> Counter[str]:
    found = Counter({f"partition/{status.lower()}/count": n for status, n in coordinator.counts().items()})
    for totals in coordinator.looking.chunks.totals():
        found["interval/count"] += totals.chunks
        found["interval/bytes"] += totals.bytes_now or 0
        found[f"interval/{totals.state.replace(' ', '_')}/count"] += totals.chunks
    return found
