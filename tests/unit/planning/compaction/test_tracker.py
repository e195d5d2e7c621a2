"""A group that fails is tried again, ever more rarely, and never given up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.planning.compaction.tracker import Failures
from airflow_coordination.values.input_errors import InvalidInputError

THEN = datetime(2026, 1, 1, 12, tzinfo=UTC)
HALF_HOUR = timedelta(minutes=30)


def test_three_retries_at_once_then_one_two_four_runs():
    waits = [(Failures(number, THEN).next_try(HALF_HOUR) - THEN) / HALF_HOUR for number in range(1, 9)]
    assert waits == [0, 0, 0, 1, 2, 4, 8, 16]


@given(st.integers(1, 10_000), st.timedeltas(timedelta(seconds=1), timedelta(days=3)))
def test_it_waits_for_a_day_at_most(number, period):
    failures = Failures(number, THEN)
    due = failures.next_try(period)
    assert due - THEN <= timedelta(days=1)
    assert failures.is_due(due, period)
    assert not failures.is_due(due - timedelta(microseconds=1), period)
    assert Failures(number + 1, THEN).next_try(period) >= due


def test_what_is_newer_than_the_failure_is_tried_at_once():
    failures = Failures(9, THEN)
    later = THEN + timedelta(minutes=1)
    assert not failures.is_due(later, HALF_HOUR)
    assert failures.is_due(later, HALF_HOUR, changed=later)
    assert not failures.is_due(later, HALF_HOUR, changed=THEN)


def test_it_says_how_it_stands():
    assert Failures(4, THEN, "checksum differs").told(HALF_HOUR) == (
        "failed 4 times with checksum differs, next try at 2026-01-01T12:30"
    )
    assert Failures(1, THEN).told(HALF_HOUR) == "failed once, next try at 2026-01-01T12"


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Failures(0, THEN), r"failures\.number=0: is less than 1. Leave out what has not failed"),
        (lambda: Failures(1, datetime(2026, 1, 1)), r"failures\.last=.*has no time zone"),  # noqa: DTZ001
        (lambda: Failures(1, THEN).next_try(timedelta(0)), r"period=.*is zero"),
    ],
)
def test_what_makes_no_sense_is_refused(made, message):
    with pytest.raises(InvalidInputError, match=message):
        made()
