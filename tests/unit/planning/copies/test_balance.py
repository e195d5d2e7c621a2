"""Each move makes the two locations more alike, there are few, and a quiet tier stays quiet."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.planning.copies.amounts import least_moves, most_moves, skew_by_bytes, skew_by_counts
from airflow_coordination.planning.copies.balance import difference, moves
from airflow_coordination.planning.copies.location import Action, Copyable, Location, in_order
from airflow_coordination.planning.intervals import parse_interval
from airflow_coordination.values.input_errors import InvalidInputError

ZERO, HALVES = (Fraction(0), Fraction(0)), (Fraction(1, 2), Fraction(1, 4))


def tier(*places):
    """Return locations of capacity and sizes, and what each may give away."""
    locations, sizes = [], {}
    for number, (capacity, row) in enumerate(places):
        copies = [Copyable((number, n), size) for n, size in enumerate(row)]
        held = frozenset(one.name for one in copies)
        locations.append(Location(f"l{number}", capacity=capacity, used=sum(row), holds=held))
        sizes[f"l{number}"] = copies
    return locations, sizes


def done(locations, sizes, found):
    there = {one.name: one for one in locations}
    sizes = {name: list(row) for name, row in sizes.items()}
    for move in found:
        there[move.source] = there[move.source].without_copy(move.copy)
        there[move.target] = there[move.target].with_copy(move.copy)
        sizes[move.source].remove(move.copy)
        sizes[move.target].append(move.copy)
    return list(there.values()), sizes


def differ(locations):
    used = [one.utilisation for one in locations]
    return difference(max(used), min(used))


places = st.lists(st.tuples(st.integers(50, 400), st.lists(st.integers(0, 30), max_size=12)), min_size=2, max_size=5)


@given(places, st.integers(0, 99), st.integers(0, 6), st.integers(0, 20))
def test_every_move_is_strictly_better_and_there_are_no_more_than_allowed(given_places, seed, most, threshold):
    locations, sizes = tier(*given_places)
    found = moves(locations, sizes, seed, most=most, threshold=threshold)
    assert len(found) <= most
    assert len({(move.source, move.target) for move in found}) <= 1
    for number in range(len(found)):
        before, _ = done(locations, sizes, found[:number])
        after, _ = done(locations, sizes, found[: number + 1])
        by_name = [{one.name: one for one in row} for row in (before, after)]
        pair = [(row[found[0].source].utilisation, row[found[0].target].utilisation) for row in by_name]
        assert difference(*pair[1]) < difference(*pair[0])
        assert pair[1][0] >= pair[1][1]
        assert difference(*pair[0]) > threshold
        assert differ(after) <= differ(before)
    assert found == moves(locations, sizes, seed, most=most, threshold=threshold)  # told again by its seed


@given(places, st.integers(0, 99))
def test_runs_come_to_an_end(given_places, seed):
    """Druid issue 3354: a balancer that moved to and fro in a quiet cluster."""
    locations, sizes = tier(*given_places)
    for run in range(400):
        found = moves(locations, sizes, seed + run)
        if not found:
            return
        locations, sizes = done(locations, sizes, found)
    pytest.fail("it goes to and fro")


def test_two_that_use_nothing_are_alike():
    assert (difference(*ZERO), difference(*HALVES), difference(*reversed(HALVES))) == (0, 50, 50)
    assert moves(*tier((10, []), (10, [])), 1) == []


def test_within_the_threshold_nothing_moves():
    locations, sizes = tier((100, [1] * 100), (100, [1] * 97))
    assert moves(locations, sizes, 1) == []
    locations, sizes = tier((100, [1] * 100), (100, [1] * 96))
    assert len(moves(locations, sizes, 1)) == 1


def test_while_earlier_moves_are_pending_nothing_moves():
    locations, sizes = tier((100, [1] * 50), (100, []))
    assert moves(locations, sizes, 1, pending=1) == []
    assert len(moves(locations, sizes, 1)) == 5


def test_a_single_copy_stays_where_it_is():
    assert moves(*tier((10, [5]), (10, [])), 1) == []


def test_who_is_drained_or_lost_takes_no_part():
    locations, sizes = tier((100, [1] * 50), (100, []))
    drained = [locations[0], Location("l1", capacity=100, draining=True)]
    assert moves(drained, sizes, 1) == []


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: moves([], {}, 1, threshold=-1), r"balance_threshold=-1: is no number from 0 on. Give 0 or more"),
        (lambda: moves([], {}, 1, threshold=float("nan")), "balance_threshold=nan: is no number"),
        (lambda: moves([], {}, 1, most=-1), "maxSegmentsToMove=-1: is no number from 0 on"),
        (lambda: moves([], {}, 1, pending=-1), "pending=-1: is no number from 0 on"),
        (
            lambda: moves([Location("a", "hot"), Location("b", "cold")], {}, 1),
            r"locations=\['cold', 'hot'\]: are of several tiers. Balance each tier by itself",
        ),
        (lambda: least_moves(-1), "copies=-1: is negative"),
        (lambda: most_moves(1, -1, 1), "threads=-1: is negative"),
    ],
)
def test_what_makes_no_sense_is_refused(made, message):
    with pytest.raises(InvalidInputError, match=message):
        made()


@given(st.integers(0, 10**7), st.integers(1, 64), st.integers(0, 600_000))
def test_moves_are_bounded_by_what_there_is(copies, threads, period):
    assert least_moves(copies) <= copies
    assert most_moves(copies, threads, period) <= max(100, copies // 5)


def test_skew():
    assert skew_by_counts([{"wiki": 10, "koala": 1}, {"koala": 4}]) == 5
    assert (skew_by_counts([]), skew_by_bytes([], 1), skew_by_bytes([10, 4], 0), skew_by_bytes([10, 4], 2)) == (
        0,
        0,
        0,
        1,
    )


def test_room_first_then_the_newest_and_moves_last():
    old, new = parse_interval("i", "2026-01-01/P1D"), parse_interval("i", "2026-01-02/P1D")
    asked = [(action, one) for action in reversed(Action) for one in (old, new)]
    assert in_order(asked) == [(action, one) for action in Action for one in (new, old)]
