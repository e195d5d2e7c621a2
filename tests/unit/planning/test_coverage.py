"""Holes are exact, and count when they have been seen often enough."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.streams import MAX_HASH_KEY, Findings, HashRange, holes, look
from airflow_coordination.values.input_errors import InvalidInputError

ALL = HashRange(0, MAX_HASH_KEY)
MIDDLE = HashRange(100, 199)
AROUND = [HashRange(0, 99), HashRange(200, MAX_HASH_KEY)]


def test_nothing_leased_is_one_hole():
    assert holes([]) == (ALL,)


def test_the_ends_belong_to_a_range():
    assert holes([HashRange(1, 9), HashRange(10, MAX_HASH_KEY - 1)]) == (
        HashRange(0, 0),
        HashRange(MAX_HASH_KEY, MAX_HASH_KEY),
    )


def test_a_short_range_inside_of_a_long_one_hides_nothing():
    """KCL sees a hole here."""
    assert holes([ALL, HashRange(30, 45)]) == ()


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)).map(lambda pair: HashRange(min(pair), max(pair)))))
def test_holes_are_what_no_range_has(ranges):
    rest = HashRange(50, MAX_HASH_KEY)
    left_out = {key for hole in holes([*ranges, rest]) for key in range(hole.first, hole.last + 1)}
    assert left_out == set(range(50)) - {key for one in ranges for key in range(one.first, one.last + 1)}


def test_a_hole_counts_after_three_identical_findings_running():
    findings, told = Findings(), []
    for ranges in (AROUND, AROUND, [ALL], AROUND, AROUND, [HashRange(0, 9)], AROUND, AROUND, AROUND, AROUND):
        findings, sure = look(findings, ranges)
        told.append(sure)
    assert told == [False] * 8 + [True] * 2
    assert findings == Findings((MIDDLE,), 4)


def test_another_hole_begins_anew():
    findings = Findings((MIDDLE,), 2)
    assert look(findings, [HashRange(0, 9)])[0].times == 1
    assert look(findings, AROUND) == (Findings((MIDDLE,), 3), True)


def test_without_any_lease_a_stream_is_listed_at_once():
    before = Findings((MIDDLE,), 1)
    assert look(before, []) == (before, True)


def test_confidence_is_at_least_one():
    with pytest.raises(InvalidInputError, match="confidence=0: is less than 1"):
        look(Findings(), AROUND, 0)
