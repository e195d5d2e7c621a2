"""How many groups run at once; the seed's formula with the one that always runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.planning.compaction.slots import MOST_IN_A_PLAN, CompactionSlots, Slots, first, slots_of
from airflow_coordination.values.input_errors import InvalidInputError


@given(st.integers(0, 500), st.floats(0, 1), st.none() | st.integers(0, 50), st.integers(0, 50))
def test_at_least_one_when_nothing_runs_and_never_more_than_the_limit(capacity, ratio, most, busy):
    slots = Slots(ratio, most)
    limit, free = slots.limit(capacity), slots.available(capacity, busy)
    assert limit <= capacity * ratio
    assert most is None or limit <= most
    assert free == (max(0, limit - busy) if busy else max(1, limit))
    assert Slots(ratio, most, at_least=0).available(capacity, 0) == limit


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Slots(-0.1), r"slots\.ratio=-0\.1: is no part of a whole. Give a number from 0 to 1, such as 0\.1"),
        (lambda: Slots(1.1), r"slots\.ratio=1\.1: is no part of a whole"),
        (lambda: Slots(float("nan")), r"slots\.ratio=nan: is no part of a whole"),
        (lambda: Slots("half"), r"slots\.ratio='half': is no part of a whole"),
        (lambda: Slots(True), r"slots\.ratio=True: is no part of a whole"),
        (lambda: Slots(max_slots=-1), r"slots\.max_slots=-1: is no whole number from 0 on. Give 0 or more"),
        (lambda: Slots(max_slots=1.5), r"slots\.max_slots=1\.5: is no whole number"),
        (lambda: Slots().limit(-1), r"slots\.capacity=-1: is no whole number from 0 on"),
        (lambda: Slots().limit(None), r"slots\.capacity=None: is no whole number from 0 on"),
        (lambda: Slots().available(1, -1), r"slots\.busy=-1: is no whole number from 0 on"),
    ],
)
def test_numbers_out_of_range_are_refused(made, message):
    with pytest.raises(InvalidInputError, match=message):
        made()


def test_the_last_one_may_take_more_than_there_is():
    tasks = [("a", 3), ("b", 3), ("c", 3)]
    assert first(tasks, 4) == (["a", "b"], 1)
    assert first(tasks, 0) == ([], 3)


def test_a_plan_is_cut_at_what_airflow_maps_and_the_rest_is_told():
    """Ten thousand chunks in one plan."""
    taken, later = first(((number, 1) for number in range(10_000)), 10_000)
    assert (taken, later) == (list(range(MOST_IN_A_PLAN)), 10_000 - 1_024)


def test_a_group_that_fans_out_costs_one_more_than_its_workers():
    assert [slots_of(n, by_range=False) for n in (None, 1, 2, 5)] == [1, 1, 3, 6]
    assert [slots_of(n, by_range=True) for n in (None, 1, 2)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("slots", "places", "busy", "free"),
    [
        (CompactionSlots(), 0, 0, 1),
        (CompactionSlots(), 0, 1, 0),
        (CompactionSlots(max_slots=4), 0, 1, 3),
        (CompactionSlots(max_slots=0), 0, 0, 1),
        (CompactionSlots(max_slots=4), 100, 1, 3),
        (CompactionSlots(ratio=0.5), 8, 1, 3),
        (CompactionSlots(ratio=0.5, capacity=20), 8, 1, 9),
        (CompactionSlots(ratio=0.5, capacity=lambda: 2), 8, 1, 0),
        (CompactionSlots(capacity=0, max_slots=4), 8, 0, 1),
    ],
)
def test_groups_begin_while_there_is_room_and_one_when_there_are_none(slots, places, busy, free):
    assert slots.available(places, busy) == free


@pytest.mark.parametrize("settings", [{"ratio": 2}, {"max_slots": -1}, {"capacity": -1}, {"capacity": True}])
def test_slots_that_make_no_sense_are_refused(settings):
    with pytest.raises(InvalidInputError, match="slots"):
        CompactionSlots(**settings)
