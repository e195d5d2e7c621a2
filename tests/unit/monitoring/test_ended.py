"""What ended in a day, as a chart shows it: stored sums, and what somebody has counted since."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.leases.viewing.ended import EndedBook
from airflow_coordination.monitoring.ended import PACE, STALE, EndedDay, continued, ended_day, pace
from airflow_coordination.protocol.beside.ended_sums import LATE, MOST_SLOTS, SLOT, EndedSums, slot_of
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import FaultyStore

HOUR = timedelta(hours=1)


class Night:
    """A source in which something ends, with a duty that counts and a server that looks."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = FaultyStore(InMemoryStore(self.clock))
        self.flights = SourceCoordinator(self.store, "flights", "me", clock=self.clock)
        self.started, self.known, self.number = self.clock.now(), [], 0

    @property
    def duty(self) -> EndedBook:
        return self.flights.looking.ended

    def ends(self, number: int) -> None:
        keys = [f"k{self.number + place}" for place in range(number)]
        self.number += number
        self.flights.create_partitions(keys)
        for key in keys:
            self.clock.advance(0.001)
            self.flights.complete(self.flights.acquire_partition(key))

    def look(self, **more):
        self.store.calls.clear()
        day, self.known = ended_day(self.duty, self.clock.now(), self.started, self.known, **more)
        assert set(self.store.calls) <= {"ended_sums", "ended_between"}
        assert len(self.store.calls) <= 2
        return day, sum(row.completed for row in day.rows)


@pytest.fixture
def night() -> Night:
    return Night()


def test_a_server_counts_from_its_own_start_where_no_duty_runs_and_says_so(night):
    night.ends(3)
    night.clock.advance(2 * SLOT)
    day, completed = night.look()
    assert (completed, day.by_duty, day.whole, day.since) == (3, False, False, slot_of(night.started))
    assert day.counted_to == night.clock.now() - LATE
    assert list(night.duty.newest(9)) == [], "it writes nothing"


def test_it_goes_on_from_what_it_knows_and_counts_nothing_twice(night):
    for number in range(5):
        night.ends(2)
        assert [night.look()[1] for _ in range(3)] == [2 * number] * 3
        night.clock.advance(2 * LATE)
    assert night.look()[1] == 10


def test_more_than_one_look_may_count_is_counted_by_the_next_ones(night):
    night.ends(7)
    night.clock.advance(2 * LATE)
    found = [night.look(limit=3) for _ in range(5)]
    assert [completed for _, completed in found] == [2, 4, 6, 7, 7]
    assert found[0][0].counted_to < found[-1][0].counted_to == night.clock.now() - LATE


def test_what_a_duty_has_stored_goes_before_and_is_counted_on(night):
    night.ends(2)
    night.clock.advance(HOUR)
    night.started = night.clock.now()
    night.clock.advance(LATE)
    assert night.look()[1] == 0
    night.duty.count_on(night.clock.now() - 2 * HOUR)
    day, completed = night.look()
    assert (completed, day.by_duty) == (2, True)
    assert day.since <= night.clock.now() - 2 * HOUR
    night.ends(3)
    night.clock.advance(2 * LATE)
    assert night.look()[1] == 5, "since the duty's last run"
    night.duty.count_on(night.clock.now() - 2 * HOUR)
    assert night.look()[1] == 5
    night.clock.advance(STALE + SLOT)
    assert night.look()[0].by_duty is False


def test_a_whole_day_has_288_times_five_minutes_and_no_more_rows_are_read(night):
    begin = night.clock.now() - 2 * MOST_SLOTS * SLOT
    for _ in range(MOST_SLOTS + 20):
        night.ends(1)
        night.clock.advance(SLOT)
        night.duty.count_on(begin)
    night.clock.advance(LATE)
    day, completed = night.look()
    assert (day.whole, day.since) == (True, day.start)
    assert day.start == slot_of(night.clock.now()) - SLOT * (MOST_SLOTS - 1)
    assert MOST_SLOTS - 2 <= completed <= MOST_SLOTS
    assert len(night.known) == MOST_SLOTS + 1


def test_where_nothing_has_ended_it_is_known_from_when_on(night):
    day, completed = night.look()
    assert (completed, day.rows, day.since) == (0, (), slot_of(night.started))
    night.clock.advance(HOUR)
    day, completed = night.look()
    assert (completed, day.since, day.counted_to) == (0, slot_of(night.started), night.clock.now() - LATE)


START = datetime(2026, 11, 27, 3, 0, tzinfo=UTC)


def counted(*completed: int) -> list[EndedSums]:
    """Return whole rows of five minutes, the oldest first, from :data:`START` on."""
    starts = [START + SLOT * place for place in range(len(completed))]
    return [
        EndedSums(start=start, counted_to=start + SLOT, completed=number)
        for start, number in zip(starts, completed, strict=True)
    ]


def day_of(rows: list[EndedSums], **more) -> EndedDay:
    known = {"since": rows[0].start, "counted_to": rows[-1].counted_to, "by_duty": True, **more}
    return EndedDay(rows=tuple(rows), start=rows[0].start, **known)


def test_the_pace_is_that_of_the_last_hour() -> None:
    an_hour = int(PACE / SLOT)
    assert pace(day_of(counted(900, *[10] * an_hour))) == 2
    assert pace(day_of(counted(*[0] * an_hour))) == 0


def test_of_less_than_an_hour_it_is_that_of_as_long_as_is_known() -> None:
    rows = counted(10, 20)
    assert pace(day_of(rows)) == 3
    assert pace(day_of(rows, since=rows[-1].start)) == 4


@pytest.mark.parametrize("more", [{"by_duty": False}, {"since": START + SLOT + timedelta(seconds=1)}])
def test_it_is_not_known_where_no_duty_counts_or_for_less_than_five_minutes(more) -> None:
    assert pace(day_of(counted(10, 20), **more)) is None


def test_what_is_read_anew_goes_before_what_was_known() -> None:
    *old, newest = counted(1, 2, 3)
    [anew, more] = counted(1, 2, 4, 5)[2:]
    known = [newest, *reversed(old)]
    assert continued([more, anew], known) == [more, anew, old[1], old[0]]
    assert continued([anew], known) == [anew, old[1], old[0]]
    assert continued([more, anew], []) == [more, anew]


def test_what_was_before_a_row_that_is_gone_is_forgotten() -> None:
    known = list(reversed(counted(1, 2)))
    [later] = counted(0, 0, 0, 7)[3:]
    assert continued([later], known) == [later]
    assert continued([], known) == []
