"""The history of one partition: rows, the ring where there are none, and starts that cannot be."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.protocol.beside.parts import StoreParts, parts_of
from airflow_coordination.protocol.past_tenure import with_ring
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.fence import MAX_BYTES, details_of, facts_of
from airflow_coordination.values.input_errors import InvalidInputError, InvalidKeyError
from airflow_coordination.values.scrubbing import know
from airflow_coordination.values.status import Outcome

SECOND = timedelta(seconds=1)


@pytest.fixture
def flights() -> SourceCoordinator:
    """A source whose one partition was held nine times, a second each."""
    clock = FakeClock()
    coordinator = SourceCoordinator(InMemoryStore(clock), "flights", "o", clock=clock)
    coordinator.create_partitions(["k"])
    for _ in range(9):
        lease = coordinator.get_next_partition()
        clock.advance(SECOND)
        coordinator.give_up(lease)
    return coordinator


def test_newest_last_and_so_many_of_the_newest(flights):
    assert [past.fence.token for past in flights.history("k")] == list(range(1, 10))
    assert [past.token for past in flights.history("k", limit=2)] == [8, 9]
    assert {past.lasted for past in flights.history("k")} == {SECOND}
    assert [past.token for past in flights.looking.past_tenures(limit=3)] == [9, 8, 7]


def test_the_ring_says_what_no_row_does(flights):
    """Older code ends a tenure without a row; DynamoDB has none."""
    rows, partition = flights.history("k"), flights.partition("k")
    known = with_ring([past for past in rows if past.token not in (4, 9)], partition)
    assert [past.token for past in known] == list(range(1, 10))
    assert [past.owner for past in known] == ["o"] * 3 + [None] + ["o"] * 4 + [None]
    assert (known[3].outcome, known[3].ended_at, known[3].lasted) == (Outcome.GIVEN_UP, rows[3].ended_at, None)
    assert [past.token for past in with_ring([], partition)] == list(range(2, 10))
    assert with_ring([], None) == []


def test_the_ring_is_right_about_an_ending(flights):
    """On PostgreSQL an acquirer that waited for older code to end an expired lease takes it for lost."""
    rows = flights.history("k")
    wrong = replace(rows[4], outcome=Outcome.LOST, op="of the acquirer", ended_at=rows[5].ended_at)
    assert with_ring([*rows[:4], wrong, *rows[5:]], flights.partition("k")) == rows


def test_a_start_before_the_ending_before_it_is_unknown(flights):
    """Older code acquires without writing the time, and leaves that of the tenure before."""
    rows = flights.history("k")
    stale = replace(rows[5], acquired_at=rows[3].acquired_at, owner_details='{"application":"of another"}')
    known = with_ring([*rows[:5], stale, *rows[6:]], flights.partition("k"))
    assert known[5].owner_facts == {}
    assert [past.acquired_at is None for past in known] == [False] * 5 + [True] + [False] * 3


def test_a_start_a_moment_before_the_ending_before_it_is_one(flights):
    """An acquisition that waited for the ending is as old as its arrival; in 2 of 1,200 tenures under contention."""
    rows = flights.history("k")
    waited = replace(rows[5], acquired_at=rows[4].ended_at - SECOND / 2)
    known = with_ring([*rows[:5], waited, *rows[6:]], flights.partition("k"))
    assert known[5].lasted == SECOND * 1.5


def test_what_older_code_has_left_where_nobody_holds_it(flights):
    """It ends a tenure, and clears neither its start nor what its driver has said."""
    now = flights.partition("k")
    left = replace(now, acquired_at=now.updated_at, owner_details='{"application":"of another"}')
    assert (left.owner, left.held_since, left.owner_facts) == (None, None, {})


def test_bad_input(flights):
    with pytest.raises(InvalidKeyError, match="key"):
        flights.history("")
    with pytest.raises(InvalidInputError, match="limit"):
        flights.history("k", limit=0)
    with pytest.raises(InvalidInputError, match="limit"):
        flights.looking.past_tenures(limit=True)
    assert flights.history("never") == []


def test_a_store_from_elsewhere_that_knows_of_no_history(flights):
    class Older:
        """Has what a store needed before."""

        def __getattr__(self, name):
            if name in ("history", "parts"):
                raise AttributeError(name)
            return getattr(flights.store, name)

    older = SourceCoordinator(Older(), "flights", "o")
    assert [past.token for past in older.history("k")] == list(range(2, 10))
    assert older.looking.past_tenures() == ()
    assert parts_of(older.store) == StoreParts()
    assert parts_of(flights.store).history is flights.store


def test_an_owners_words_fit_or_are_left_out():
    assert details_of({"application": "a", "url": None, "process": 7}) == '{"application":"a","process":7}'
    assert details_of({}) is None
    assert details_of({"url": "u" * MAX_BYTES}) is None
    assert facts_of(details_of({"application": "a", "url": "u" * MAX_BYTES})) == {"application": "a"}
    longest = details_of({"url": "ü" * 80})
    assert longest is not None
    assert len(longest.encode()) <= MAX_BYTES


@pytest.mark.parametrize("value", [b"bytes", object(), float("nan"), ["list"], {"a": 1}])
def test_an_owners_word_that_cannot_be_stored_is_left_out(value):
    """What a SparkContext says is not ours, and a driver must not fail for it."""
    assert details_of({"application": value, "process": 7}) == '{"process":7}'


def test_x4_an_owners_words_hold_no_known_secret():
    know(["s3cr3t-of-the-proxy"])
    assert facts_of(details_of({"url": "http://ana:s3cr3t-of-the-proxy@host"})) == {"url": "http://ana:***@host"}


def test_half_a_character_is_none():
    assert facts_of(details_of({"application": "a\ud800"})) == {"application": "a?"}


@pytest.mark.parametrize("stored", [None, "", "no JSON", "[1]", "1", "[" * 100_000, '{"url":["x"],"application":NaN}'])
def test_what_else_is_stored_there_says_nothing(stored):
    assert facts_of(stored) == {}
