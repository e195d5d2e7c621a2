"""The newest ended tenures of a source, as many as may be read, and what they say: throughput, and who was slowest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import nsmallest
from typing import Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.explaining.wording import span
from airflow_coordination.monitoring.owners import Holding
from airflow_coordination.monitoring.progress import Rate, rate_of
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.past_tenure import PastTenure
from airflow_coordination.values.status import Outcome, PartitionStatus

ROWS: Final = 2_000
"""The most ended tenures that are read, however long the history is."""
RATE_WINDOW: Final = timedelta(hours=1)
"""A rate is that of the last hour, or of as much of it as there was work in and is known."""
DAY: Final = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Lately:
    """The tenures of a source that ended in the last day, all of them from a moment on.

    :param now: by the store's clock, when they were read.
    :param since: what ended at this moment or before is not here.
    :param past: the tenures, the newest first.
    """

    now: datetime
    since: datetime
    past: tuple[PastTenure, ...]

    @property
    def whole(self) -> bool:
        """Whether it reaches back a whole day: otherwise more has ended than may be read."""
        return self.since <= self.now - DAY

    @property
    def completions(self) -> list[datetime]:
        """When partitions became COMPLETED, the newest first."""
        return _completions(self.past)

    @property
    def spent(self) -> str:
        """What the tenures took and brought, in words."""
        held = sum((each.lasted for each in self.past if each.lasted is not None), timedelta())
        rows, size = sum(each.rows for each in self.past), sum(each.bytes for each in self.past)
        ended = f"{len(self.past):,} ended, {len(self.completions):,} of them completed"
        return f"{ended}, in {span(held)} of leases, with {rows:,} rows and {size:,} bytes published"

    def rate(self) -> Rate | None:
        """Return how many partitions a minute became COMPLETED: in the last hour, since work began in it."""
        begin = max(self.since, self.now - RATE_WINDOW)
        ended = [each for each in self.past if each.ended_at > begin]
        begin = max(begin, min((each.acquired_at or begin for each in ended), default=begin))
        happened = [(at - begin, 1) for at in _completions(ended)]
        return rate_of(happened, self.now - begin)


def lately(coordinator: SourceCoordinator, now: datetime, limit: int = ROWS) -> Lately | None:
    """Return what ended lately, ``None`` where nobody knows: the store keeps no history, or it is switched off.

    :param now: the store's clock.
    :param limit: so many rows are read at most.
    """
    if parts_of(coordinator.store).history is None:
        return None
    return of_rows(coordinator.looking.past_tenures(limit), now, limit)


def of_rows(rows: Sequence[PastTenure], now: datetime, limit: int) -> Lately:
    """Return what rows say of the last day.

    :param rows: the newest first.
    :param limit: so many were asked for: with as many, some of the moment of the oldest one may be missing.
    """
    since = now - DAY
    if len(rows) >= limit:
        since = max(since, rows[-1].ended_at)
    return Lately(now, since, tuple(each for each in rows if each.ended_at > since))


@dataclass(frozen=True, slots=True)
class Slow:
    """The longest tenure of a partition.

    :param key: the partition's.
    :param lasted: how long it took, or has taken so far.
    :param ended: how; ``None`` while it is held.
    :param owner: whose it was.
    """

    key: str
    lasted: timedelta
    ended: Outcome | None
    owner: str | None


def slowest(known: Lately, held: Sequence[Holding], most: int) -> list[Slow]:
    """Return the partitions whose tenures took longest, each once, the longest first.

    What is held counts with the time it has taken so far, unless its lease is over: then nobody works on it. A tenure
    whose beginning nobody knows is left out.

    :param known: what ended in the last day.
    :param held: what is held now, perhaps the first part of it.
    :param most: so many at most.
    """
    longest = dict[str, Slow]()
    for each in _all(known, held):
        if each.key not in longest or longest[each.key].lasted < each.lasted:
            longest[each.key] = each
    return nsmallest(most, longest.values(), key=lambda one: (-one.lasted, one.key))


def _all(known: Lately, held: Sequence[Holding]) -> Iterator[Slow]:
    for now in held:
        if now.since is not None and not now.expired:
            yield Slow(now.key, known.now - now.since, None, now.owner)
    for past in known.past:
        if past.lasted is not None:
            yield Slow(past.key, past.lasted, past.outcome, past.owner)


def _completions(past: Sequence[PastTenure]) -> list[datetime]:
    return [each.ended_at for each in past if each.status_after is PartitionStatus.COMPLETED]
