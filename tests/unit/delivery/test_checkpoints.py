"""Ordered checkpoints: Data Prepper's scenarios 45 and 46."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.acknowledgments import OrderedCheckpoints, Stopped
from airflow_coordination.values.input_errors import InvalidInputError

TIMEOUT = timedelta(minutes=15)


@pytest.fixture
def positions(clock):
    return OrderedCheckpoints[str](TIMEOUT, clock=clock)


def test_s13_scenario_45_a_negative_stops_at_the_last_good_position(positions):
    first, second, third = (positions.add(f"seq{number}") for number in (123, 124, 125))
    positions.acknowledge(third, True)
    assert positions.safe is None
    positions.acknowledge(first, True)
    positions.acknowledge(second, False)
    assert (positions.safe, positions.stopped) == ("seq123", Stopped("seq124", "negative"))
    assert not positions.done


def test_s13_scenario_45_an_overdue_batch_stops_it_and_comes_too_late(positions, clock):
    first, second = positions.add("seq1"), positions.add("seq2")
    positions.acknowledge(second, True)
    clock.advance(TIMEOUT)
    assert not positions.acknowledge(first, True)
    assert (positions.safe, positions.stopped) == (None, Stopped("seq1", "overdue"))


def test_scenario_45_a_gap_that_closes_gives_all_behind_it(positions):
    numbers = [positions.add(f"seq{number}") for number in range(4)]
    for number in reversed(numbers[1:]):
        positions.acknowledge(number, True)
    assert positions.safe is None
    positions.acknowledge(numbers[0], True)
    assert positions.safe == "seq3"


def test_s13_scenario_46_done_once_the_final_marker_is_acknowledged(positions):
    first, final = positions.add("seq1"), positions.add("end of shard")
    positions.finish()
    positions.acknowledge(final, True)
    assert not positions.done
    positions.acknowledge(first, True)
    assert positions.done


def test_a_second_acknowledgment_changes_nothing(positions):
    first, second = positions.add("a"), positions.add("b")
    assert positions.acknowledge(second, True)
    assert not positions.acknowledge(second, False)
    assert positions.acknowledge(first, True)
    assert not positions.acknowledge(first, False)
    assert not positions.acknowledge(99, False)
    assert (positions.safe, positions.stopped) == ("b", None)


def test_nothing_follows_the_end(positions):
    positions.finish()
    with pytest.raises(InvalidInputError, match=r"^position='b': comes after finish"):
        positions.add("b")


@given(st.permutations(range(6)), st.lists(st.booleans(), min_size=6, max_size=6))
def test_s13_in_every_order_only_positives_before_the_first_negative_are_safe(order, results):
    positions = OrderedCheckpoints[int](TIMEOUT)
    numbers = [positions.add(each) for each in range(6)]
    acknowledged: set[int] = set()
    for each in order:
        acknowledged.add(each)
        positions.acknowledge(numbers[each], results[each])
        safe = -1 if positions.safe is None else positions.safe
        assert all(earlier in acknowledged and results[earlier] for earlier in range(safe + 1))
    expected = results.index(False) - 1 if False in results else 5
    assert positions.safe == (None if expected < 0 else expected)
