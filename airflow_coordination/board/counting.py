"""The counts on the board: partitions by state, counted once for all who look, and never for one of them.

What is kept here knows no user. Who may see a source is asked at every look, before its numbers are taken from here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Lock
from time import monotonic
from typing import Final, Generic, TypeVar

from airflow_coordination.monitoring.counts import Counts, counted, told_apart
from airflow_coordination.monitoring.needs import Need, needs_of, said_of, trouble_of
from airflow_coordination.monitoring.owners import owners
from airflow_coordination.protocol.beside.key_ranges import KeyRanges
from airflow_coordination.protocol.beside.parts import glance, parts_of
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import Outlook
from airflow_coordination.values.status import PartitionStatus

LIFE: Final = 5.0
"""Seconds for which a count is kept at least: half of what passes between two looks of one page."""
SHARE: Final = 4
"""And so many times as long as counting all of its store takes: a store is counted a quarter of the time at most."""
PATIENCE: Final = 0.4
"""Seconds for which a look waits for what is being counted; then it shows what is known."""
HELD: Final = 400
PARKED: Final = 400
"""The most leases and parked partitions that are looked at beside a count, of a source that has some."""
ROWS: Final = 1_900
"""And the most of both in all sources that one look asks for: of many sources each is looked at less closely."""
RANGES: Final = 49
"""Ranges of keys: so many bars can be told apart, and clicked, on a page of 1,200 pixels."""
_AT_ONCE: Final = 2


@dataclass(frozen=True, slots=True)
class Counted:
    """A source in numbers.

    :param in_words: the counts, each partition in one word.
    :param needs: what only a person can move.
    :param owners: how many owners hold something; of more leases than are looked at those of the first.
    :param all_owners: whether all leases were looked at.
    :param now: the store's clock then.
    :param at: this server's clock then: how old the numbers are is known by it alone.
    :param began: the same by a clock that nobody sets, in seconds.
    :param took: seconds.
    """

    counts: Mapping[PartitionStatus, int]
    outlook: Outlook
    in_words: Counts
    needs: tuple[Need, ...]
    owners: int
    all_owners: bool
    now: datetime
    at: datetime
    began: float
    took: float

    @property
    def trouble(self) -> str | None:
        """The worst of what is wrong with it."""
        return trouble_of(self.in_words, self.needs)

    @property
    def said(self) -> str | None:
        """What is wrong with it, and what happens by itself."""
        return said_of(self.in_words, self.needs, self.outlook.pause)


def count(store: PartitionStore, source: str, rows: int = HELD + PARKED) -> Counted:
    """Count a source now, and look at what it has parked, and at what is held.

    Where to be sure that nothing moves is dear, it looks at an index: the next look sees what this one has missed.

    :param source: its stored identifier.
    :param rows: so many leases and parked partitions are looked at at most.
    :raises CoordinationError: when the store does not answer.
    """
    began = monotonic()
    counts, outlook, now = store.counts(source), glance(store, source), store.now()
    words = counted(counts, outlook)
    held = owners(store, source, max(1, min(HELD, rows // 2 - 1))) if counts[PartitionStatus.ASSIGNED] else None
    words = told_apart(words, sum(each.expired for each in held.held) if held else 0)
    parked = (
        store.page(source, PartitionStatus.CLOSED, None, max(1, min(PARKED, rows // 2)), parked=True)
        if words.parked
        else ()
    )
    leases = held.held if held else ()
    return Counted(
        counts=counts,
        outlook=outlook,
        in_words=words,
        needs=tuple(needs_of(words, outlook.pause, leases, parked)),
        owners=len({each.owner for each in leases}),
        all_owners=held is None or held.after is None,
        now=now,
        at=datetime.now(UTC),
        began=began,
        took=monotonic() - began,
    )


@dataclass(frozen=True, slots=True)
class Ranged:
    """A source's partitions by ranges of their keys.

    :param found: the ranges.
    :param now: the store's clock then.
    :param began: as of :class:`Counted`; so is ``took``.
    """

    found: KeyRanges
    now: datetime
    began: float
    took: float


_Source = tuple[PartitionStore, str]
Kept = TypeVar("Kept", Counted, Ranged)


class Beside(ABC, Generic[Kept]):
    """Keeps the last count of every source that somebody has looked at, and counts beside those who look."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_AT_ONCE, "board-counting")  # it starts no thread before it is needed
        self._lock = Lock()
        self._known: dict[_Source, Kept] = {}
        self._counting: dict[_Source, Future[None]] = {}

    @abstractmethod
    def look(self, store: PartitionStore, source: str, rows: int) -> Kept:
        """Count a source now.

        :param rows: so many may be looked at one by one.
        """

    def latest(self, store: PartitionStore, sources: Iterable[str]) -> dict[str, Kept]:
        """Return the last counts of those of a store's sources that have been counted, after a moment's wait.

        :param sources: stored identifiers. What is too old is counted again, what was never counted first.
        :raises CoordinationError: when the store did not answer.
        """
        wanted = [(store, source) for source in sources]
        with self._lock:
            life = max(LIFE, SHARE * sum(known.took for (of, _), known in self._known.items() if of is store))
            old = [each for each in wanted if self._began(each) + life <= monotonic()]
            running = [self._begun(each, ROWS // len(wanted)) for each in sorted(old, key=self._began)]
        for done in wait(running, PATIENCE).done:
            done.result()
        with self._lock:
            return {each[1]: self._known[each] for each in wanted if each in self._known}

    def _began(self, source: _Source) -> float:
        known = self._known.get(source)
        return known.began if known else float("-inf")

    def _begun(self, source: _Source, rows: int) -> Future[None]:
        """Return the count that is under way: who asks meanwhile waits for the same."""
        if source not in self._counting:
            self._counting[source] = self._pool.submit(self._count, source, rows)
        return self._counting[source]

    def _count(self, source: _Source, rows: int) -> None:
        counted: Kept | None = None
        try:
            counted = self.look(*source, rows)
        finally:
            with self._lock:
                del self._counting[source]
                if counted is not None:
                    self._known[source] = counted


class Counter(Beside[Counted]):
    """Keeps the numbers of sources."""

    def look(self, store: PartitionStore, source: str, rows: int) -> Counted:
        """Return a source in numbers."""
        return count(store, source, rows)


class RangeCounter(Beside[Ranged]):
    """Keeps where in the keys of sources what is: counted for those only that somebody looks at one by one."""

    def look(self, store: PartitionStore, source: str, rows: int) -> Ranged:
        """Return a source by ranges of its keys."""
        ranges = parts_of(store).ranges
        began = monotonic()
        found = KeyRanges([]) if ranges is None else ranges.key_ranges(source, RANGES)
        return Ranged(found, store.now(), began, monotonic() - began)


COUNTER: Final = Counter()
RANGED: Final = RangeCounter()
"""The ones of this process."""
