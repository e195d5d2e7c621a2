"""Shares are even, and no move makes them less so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.streams import Free, Wish, shares, wish
from airflow_coordination.values.input_errors import InvalidInputError

capacities = st.dictionaries(st.sampled_from("abcdefg"), st.integers(0, 9), min_size=1)


@given(capacities, st.integers(0, 80))
def test_shares_differ_by_one_unless_a_capacity_binds(capacity, leases):
    found = shares(capacity, leases)
    assert sum(found.values()) == min(leases, sum(capacity.values()))
    assert all(0 <= found[name] <= capacity[name] for name in capacity)
    unbound = [found[name] for name in capacity if found[name] < capacity[name]]
    assert not unbound or max(found.values()) - min(unbound) <= 1


@given(st.dictionaries(st.sampled_from("abcdefg"), st.integers(0, 40), min_size=2), st.integers(1, 9), st.data())
def test_what_is_asked_for_makes_shares_more_even(held, at_one_time, data):
    me = data.draw(st.sampled_from(sorted(held)))
    asked = data.draw(st.integers(0, 3))
    told = wish(me, held, dict.fromkeys(held, 100), Free(), asked=asked, max_leases_to_steal_at_one_time=at_one_time)
    share = shares(dict.fromkeys(held, 100), sum(held.values()))
    assert told.take == 0
    assert sum(told.ask.values()) <= at_one_time
    mine = held[me] + asked
    for other, number in told.ask.items():
        mine += number
        assert held[other] - number >= max(share[other], mine)


@pytest.mark.parametrize("leases", [12, 64, 65])
@pytest.mark.parametrize("late", ["a", "m", "z"])
def test_late_workers_reach_their_share_in_the_fewest_moves(leases, late):
    held, moves = {"b": leases, "c": 0, late: 0}, 0
    while asked := {
        name: told.ask for name in sorted(held) if (told := wish(name, held, dict.fromkeys(held, 99), Free())).ask
    }:
        me, of = next(iter(asked.items()))
        for other, number in of.items():
            held[other], held[me], moves = held[other] - number, held[me] + number, moves + number
    assert max(held.values()) - min(held.values()) <= 1
    assert moves == leases - held["b"]


def test_a_worker_takes_up_to_its_share():
    assert wish("b", {"a": 1, "b": 0}, {"a": 9, "b": 9}, Free(3)) == Wish(take=2)


@pytest.mark.parametrize(
    ("free", "take"), [(Free(2), 0), (Free(2, looks=3), 1), (Free(2, very_old=2), 2), (Free(5, very_old=5), 3)]
)
def test_at_its_share_it_takes_only_what_has_been_free_for_long(free, take):
    """Somebody else should, but cannot: its capacity allows three more."""
    held, capacity = {"me": 5, "other": 0}, {"me": 8, "other": 20}
    assert wish("me", held, capacity, free) == Wish(take=take)


def test_what_was_asked_for_counts():
    held, capacity = {"a": 4, "b": 0}, {"a": 9, "b": 9}
    assert wish("b", held, capacity, Free()) == Wish(ask={"a": 2})
    assert wish("b", held, capacity, Free(), asked=2) == Wish()


def test_for_a_difference_of_one_nothing_moves():
    assert wish("a", {"a": 1, "b": 2}, {"a": 9, "b": 9}, Free()) == Wish()


@pytest.mark.parametrize(
    ("held", "capacity", "more", "message"),
    [
        ({"b": 1}, {"b": 1}, {}, r"held=\['b'\]: is not the workers"),
        ({"a": 1}, {"b": 1}, {}, r"held=\['a'\]: is not the workers"),
        ({"a": -1}, {"a": 1}, {}, "a=-1: is negative"),
        ({"a": 1}, {"a": -1}, {}, "a=-1: is negative"),
        ({"a": 1}, {"a": 1}, {"asked": -1}, "asked=-1: is negative"),
    ],
)
def test_what_cannot_be_is_refused_by_name(held, capacity, more, message):
    with pytest.raises(InvalidInputError, match=message):
        wish("a", held, capacity, Free(), **more)


@pytest.mark.parametrize("numbers", [(-1, 0, 1), (1, 2, 1), (1, 0, -1)])
def test_free_leases_that_cannot_be(numbers):
    with pytest.raises(InvalidInputError, match=r"free=.*more very old leases than leases"):
        Free(*numbers)
