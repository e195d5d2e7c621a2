"""A source with partitions in each of the seven words, on any store under a clock that a test moves."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Final

from airflow_coordination.leases import PartitionIdentifier, SourceCoordinator
from airflow_coordination.monitoring.counts import counted, told_apart
from airflow_coordination.monitoring.owners import owners
from airflow_coordination.monitoring.selection import Filter, count, listed
from airflow_coordination.monitoring.states import WORDS
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.names import compose_source

SOURCE: Final = compose_source("words", None, "PARTITION")
_HOUR: Final = timedelta(hours=1)
SINCE: Final = 2 * _HOUR
"""So long is the time that :func:`one_of_each` lets pass."""


def one_of_each(store: PartitionStore, clock: FakeClock) -> SourceCoordinator:
    """Return a source of 22 partitions, some in each word; their keys are in no order of words."""
    made = SourceCoordinator(store, "words", "worker", ownership_timeout=_HOUR, clock=clock)
    made.create_partitions([f"k{(7 * number) % 20:02}" for number in range(20)])
    made.create_partitions([PartitionIdentifier(f"child{number}", parents=["k19"]) for number in range(2)])
    for key in ("k00", "k07", "k13"):
        made.acquire_partition(key)
    made.close(made.acquire_partition("k05"), reopen_after=timedelta(seconds=10))
    clock.advance(SINCE)
    for key in ("k01", "k14"):
        made.acquire_partition(key)
    for key in ("k02", "k06", "k09", "k17"):
        made.complete(made.acquire_partition(key))
    for key in ("k03", "k10", "k18"):
        made.people.park(key, by="ana", why="w")
    made.close(made.acquire_partition("k04"), reopen_after=_HOUR)
    made.fail(made.acquire_partition("k11"), "not yet", retry_after=_HOUR)
    return made


def counted_and_listed(made: SourceCoordinator) -> dict[str, tuple[int, list[str]]]:
    """Return of each word how many the board counts, and the keys of its list; a dry run counts as many."""
    held = owners(made.store, SOURCE, 100).held
    words = counted(made.counts(), made.looking.outlook())
    numbers = asdict(told_apart(words, sum(each.expired for each in held)))
    found = {word: [each.key for each in listed(made, Filter(word), None, 100)[0]] for word in WORDS}
    assert {word: count(made, Filter(word), None, 100).matching for word in WORDS} == numbers
    return {word: (numbers[word], found[word]) for word in WORDS}


def pages_of_each(made: SourceCoordinator, rows: int) -> dict[str, list[str]]:
    """Return the keys of each word's list, read in pages of two, each of which reads so many rows at most."""
    return {word: _paged(made, Filter(word), rows) for word in WORDS}


def _paged(made: SourceCoordinator, chosen: Filter, rows: int) -> list[str]:
    read: list[int] = []
    asked, found, after = made.partitions, [], None
    made.partitions = lambda status, above, limit, **more: (read.append(limit), asked(status, above, limit, **more))[1]  # type: ignore[method-assign]
    try:
        while True:
            read.clear()
            page, after = listed(made, chosen, after, 2, rows)
            assert sum(read) <= rows
            found += [each.key for each in page]
            if after is None:
                return found
    finally:
        made.partitions = asked  # type: ignore[method-assign]
