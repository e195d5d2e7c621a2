"""What ended in each five minutes: counted from the history in portions, once each, whoever counts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar

import pytest

from airflow_coordination.leases.viewing.ended import EndedBook
from airflow_coordination.protocol.beside.ended_sums import (
    KEPT,
    LATE,
    MOST_SLOTS,
    SLOT,
    EndedSums,
    EndedTenure,
    slot_of,
)
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.testing.conformance.coordinator_cases import Coordinators
from airflow_coordination.testing.conformance.fixtures import TIMEOUT, Workbench
from airflow_coordination.testing.crash import Crash, Fault, FaultyStore
from airflow_coordination.testing.forwarding import ForwardingStore
from airflow_coordination.values.status import Outcome

SECOND = timedelta(seconds=1)
T = TypeVar("T")


def end(bench: Workbench, *keys: str, outcome: Outcome = Outcome.COMPLETED) -> None:
    """End a tenure of each key, new ones, a second apart."""
    for key in keys:
        held = bench.new(key)
        bench.clock.advance(SECOND)
        if outcome is Outcome.COMPLETED:
            bench.complete(held)
        elif outcome is Outcome.FAILED:
            bench.fail(held)
        else:
            bench.close(held)


def at_a_start(bench: Workbench) -> datetime:
    """Let five minutes begin, and return when that is."""
    now = bench.store.now()
    start = slot_of(now) + SLOT
    bench.clock.advance(start - now)
    return start


def counted(book: EndedBook) -> dict[datetime, tuple[int, int, int]]:
    """Return what ended by five minutes, those left out in which nothing did."""
    rows = book.newest(1000)
    return {row.start: found for row in rows if any(found := (row.completed, row.failed, row.lost))}


class Between(ForwardingStore):
    """A store in which somebody else counts on as soon as one has read the history.

    :param store: the store that does the work.
    :param other: counts on, from ``begin``.
    """

    def __init__(self, store: PartitionStore, other: EndedBook, begin: datetime) -> None:
        super().__init__(store)
        self.other, self.begin, self.counted = other, begin, 0

    def forward(self, name: str, call: Callable[[], T]) -> T:
        """Carry out one call, and let the other one count after a reading."""
        found = call()
        if name == "ended_between":
            self.counted += self.other.count_on(self.begin) is not None
        return found


class Counting:
    """The sums of what ended; decision 158."""

    @pytest.fixture
    def book(self, bench: Workbench, coordinators: Coordinators) -> EndedBook:
        _ = bench.ended
        return coordinators().looking.ended

    def test_endings_of_a_time_come_the_oldest_first(self, bench: Workbench) -> None:
        _ = bench.ended
        start = at_a_start(bench)
        end(bench, "a", "b", "c", "d")
        times = [start + number * SECOND for number in range(1, 5)]

        def read(since: datetime, until: datetime, limit: int = 9) -> list[datetime]:
            found = bench.ended.ended_between(bench.source, since, until, limit)
            assert all(each == EndedTenure(each.ended_at, Outcome.COMPLETED) for each in found)
            return [each.ended_at for each in found]

        assert read(start, start + SLOT) == times
        assert read(start, start + SLOT, 2) == times[:2]
        assert read(times[1], times[3]) == times[1:3]
        assert bench.ended.ended_between("other|PARTITION", start, start + SLOT, 9) == []

    def test_a_row_is_written_by_one_of_those_who_saw_the_same(self, bench: Workbench) -> None:
        kept, start = bench.ended, at_a_start(bench)
        first = EndedSums(start=start, counted_to=start + SECOND, completed=2, failed=3, lost=4, rows=5, bytes=2**40)
        assert kept.put_ended_sums(bench.source, first, None)
        assert not kept.put_ended_sums(bench.source, first, None)
        assert not kept.put_ended_sums(bench.source, first, start)
        assert list(kept.ended_sums(bench.source, 9)) == [first]
        more = EndedSums(start=start, counted_to=start + 2 * SECOND, completed=7)
        assert kept.put_ended_sums(bench.source, more, first.counted_to)
        assert not kept.put_ended_sums(bench.source, more, first.counted_to)
        later = EndedSums.none_yet(start + SLOT)
        assert kept.put_ended_sums(bench.source, later, None)
        assert list(kept.ended_sums(bench.source, 9)) == [later, more]
        assert list(kept.ended_sums(bench.source, 1)) == [later]
        assert list(kept.ended_sums("other|PARTITION", 9)) == []

    def test_what_is_old_goes_and_the_rest_stays(self, bench: Workbench) -> None:
        kept, start = bench.ended, at_a_start(bench)
        rows = [EndedSums.none_yet(start + number * SLOT) for number in range(4)]
        for row in rows:
            kept.put_ended_sums(bench.source, row, None)
        for _ in range(2):
            kept.forget_ended_sums(bench.source, rows[2].start)
            assert list(kept.ended_sums(bench.source, 9)) == [rows[3], rows[2]]

    def test_what_ended_is_counted_once_however_often_somebody_counts(self, bench: Workbench, book: EndedBook) -> None:
        start = at_a_start(bench)
        end(bench, "a", "b")
        end(bench, "c", outcome=Outcome.FAILED)
        bench.close(bench.new("closed"))
        bench.new("lost")
        bench.clock.advance(TIMEOUT)
        bench.sweep()
        bench.clock.advance(LATE + SECOND)
        for _ in range(3):
            assert book.count_on(start) is not None
            assert counted(book) == {start: (2, 1, 0), start + 2 * SLOT: (0, 0, 1)}

    def test_what_ended_just_now_is_left_to_the_next_time(self, bench: Workbench, book: EndedBook) -> None:
        start = at_a_start(bench)
        end(bench, "a")
        assert counted(book) == {}
        book.count_on(start)
        assert counted(book) == {}
        bench.clock.advance(LATE)
        end(bench, "b")
        book.count_on(start)
        assert counted(book) == {start: (1, 0, 0)}
        bench.clock.advance(LATE + SECOND)
        book.count_on(start)
        assert counted(book) == {start: (2, 0, 0)}

    def test_portions_count_the_same_as_one_and_a_moment_is_never_cut(self, bench: Workbench, book: EndedBook) -> None:
        start = at_a_start(bench)
        end(bench, "a", "b", "c")
        for key in ("at", "one", "moment"):
            bench.complete(bench.new(key))
        bench.clock.advance(SLOT)
        end(bench, "d")
        bench.clock.advance(LATE + SECOND)
        portions = 0
        while (done := book.count_on(start, limit=2)) is not None and done.goes_on:
            portions += 1
        assert portions > 1
        assert counted(book) == {start: (6, 0, 0), start + SLOT: (1, 0, 0)}

    def test_it_begins_where_it_is_told_to_and_says_so_in_a_quiet_source(
        self, bench: Workbench, book: EndedBook
    ) -> None:
        start = at_a_start(bench)
        bench.clock.advance(4 * SLOT)
        book.count_on(start + SLOT)
        assert [row.start for row in book.newest(9)] == [start + 3 * SLOT, start + SLOT]
        assert book.newest(1)[0].counted_to == bench.store.now() - LATE

    def test_after_a_long_silence_no_more_is_counted_than_a_chart_shows(
        self, bench: Workbench, book: EndedBook
    ) -> None:
        start = at_a_start(bench)
        end(bench, "before")
        bench.clock.advance(LATE + SLOT)
        book.count_on(start)
        end(bench, "unseen")
        bench.clock.advance(MOST_SLOTS * SLOT)
        end(bench, "after")
        bench.clock.advance(LATE + SECOND)
        book.count_on(start)
        assert counted(book) == {start: (1, 0, 0), start + (MOST_SLOTS + 1) * SLOT: (1, 0, 0)}
        bench.clock.advance(KEPT)
        book.forget_old(bench.store.now())
        assert list(book.newest(9)) == []

    def test_two_who_count_at_once_count_nothing_twice(
        self, bench: Workbench, store: PartitionStore, coordinators: Coordinators, book: EndedBook
    ) -> None:
        """The other one counts between what the first reads and what it writes."""
        start = at_a_start(bench)
        end(bench, "a", "b")
        bench.clock.advance(LATE + SLOT)
        between = Between(store, book, start)
        assert coordinators(store=between).looking.ended.count_on(start) is None
        assert between.counted == 1
        assert counted(book) == {start: (2, 0, 0)}

    @pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER])
    @pytest.mark.parametrize("place", [1, 2])
    def test_whoever_dies_in_the_middle_is_followed_by_whoever_comes_next(
        self,
        bench: Workbench,
        store: PartitionStore,
        coordinators: Coordinators,
        book: EndedBook,
        fault: Fault,
        place: int,
    ) -> None:
        start = at_a_start(bench)
        end(bench, "a", "b")
        bench.clock.advance(SLOT)
        end(bench, "c")
        bench.clock.advance(LATE + SECOND)
        dying = FaultyStore(store, {place: fault}, only=("put_ended_sums",))
        with pytest.raises(Crash):
            coordinators(store=dying).looking.ended.count_on(start)
        book.count_on(start)
        assert counted(book) == {start: (2, 0, 0), start + SLOT: (1, 0, 0)}
