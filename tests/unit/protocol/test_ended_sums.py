"""Sums of what ended, as values: which five minutes an ending is in, and where a portion stops."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from airflow_coordination.protocol.beside.ended_sums import (
    MOST_SLOTS,
    SLOT,
    EndedSums,
    EndedTenure,
    beginning,
    carried_on,
    next_portion,
    slot_of,
)
from airflow_coordination.values.status import Outcome

START = datetime(2026, 11, 27, 3, 0, tzinfo=UTC)
MICRO = timedelta(microseconds=1)
EMPTY = EndedSums.none_yet(START)


def ended(second: int, outcome: Outcome = Outcome.COMPLETED, rows: int = 0) -> EndedTenure:
    return EndedTenure(START + timedelta(seconds=second), outcome, rows, 10 * rows)


class Rows:
    """A history that is read as a store reads it."""

    def __init__(self, *tenures: EndedTenure) -> None:
        self.tenures, self.asked = tenures, []

    def read(self, since: datetime, until: datetime, limit: int) -> list[EndedTenure]:
        self.asked.append(limit)
        return [each for each in self.tenures if since <= each.ended_at < until][:limit]


@pytest.mark.parametrize(
    ("moment", "start"),
    [(START, START), (START + SLOT - MICRO, START), (START - MICRO, START - SLOT), (START + SLOT, START + SLOT)],
)
def test_five_minutes_begin_with_their_start_and_end_before_the_next(moment: datetime, start: datetime) -> None:
    assert slot_of(moment) == start


def test_what_is_counted_is_completed_failed_and_lost_and_the_rows_of_all() -> None:
    endings = [ended(1, each, rows=2) for each in Outcome] + [ended(2)]
    [row] = carried_on(EMPTY, endings, START + SLOT)
    assert (row.completed, row.failed, row.lost) == (2, 1, 1)
    assert (row.rows, row.bytes) == (2 * len(Outcome), 20 * len(Outcome))


def test_five_minutes_of_two_sources_add_up_with_the_times_of_the_first() -> None:
    one = EndedSums(start=START, counted_to=START + SLOT, completed=1, failed=2, lost=3, rows=4, bytes=5)
    other = EndedSums(start=START + SLOT, counted_to=START, completed=10, failed=20, lost=30, rows=40, bytes=50)
    assert one.adding(other) == EndedSums(
        start=START, counted_to=START + SLOT, completed=11, failed=22, lost=33, rows=44, bytes=55
    )


def test_rows_are_whole_up_to_the_last_one_and_empty_ones_are_left_out() -> None:
    found = carried_on(EMPTY, [ended(1), ended(1200)], START + timedelta(seconds=1300))
    assert [(row.start, row.counted_to - START, row.completed) for row in found] == [
        (START, SLOT, 1),
        (START + 4 * SLOT, timedelta(seconds=1300), 1),
    ]


def test_counting_on_changes_no_row_that_is_whole() -> None:
    [first] = carried_on(EMPTY, [ended(1)], START + SLOT)
    [second] = carried_on(first, [], START + SLOT + MICRO)
    assert second == EndedSums(start=START + SLOT, counted_to=START + SLOT + MICRO)
    assert carried_on(second, [], second.counted_to) == []
    [more] = carried_on(second, [ended(301)], START + 2 * SLOT)
    assert (more.start, more.completed, more.counted_to) == (START + SLOT, 1, START + 2 * SLOT)


def test_a_full_portion_leaves_its_last_moment_to_the_next() -> None:
    history = Rows(ended(1), ended(2), ended(2), ended(2))
    [row] = next_portion(EMPTY, history.read, START + SLOT, 3)
    assert (row.completed, row.counted_to) == (1, START + timedelta(seconds=2))
    assert history.asked == [3]
    [row] = next_portion(row, history.read, START + SLOT, 3)
    assert (row.completed, row.counted_to) == (4, START + SLOT)
    assert history.asked == [3, 3, 6]


def test_nothing_is_read_where_all_is_counted() -> None:
    history = Rows(ended(1))
    assert next_portion(EMPTY, history.read, START, 3) == []
    assert history.asked == []


def test_it_begins_where_somebody_has_got_to_else_where_it_is_told_to_and_never_before_a_day() -> None:
    now, day = START + timedelta(minutes=7), SLOT * MOST_SLOTS
    kept = EndedSums(start=START - SLOT, counted_to=START - MICRO)
    assert beginning(kept, now, now) is kept
    assert beginning(None, now, now) == EndedSums.none_yet(START + SLOT)
    first = START + SLOT - day + SLOT
    assert beginning(None, now - 2 * day, now).start == first
    old = EndedSums(start=first - SLOT, counted_to=first)
    assert beginning(old, now - 2 * day, now) == EndedSums.none_yet(first)
