"""What became of what people did, from partitions as they are now."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.monitoring.became import Became, became, spoken
from airflow_coordination.monitoring.deeds import Deed, deeds, newest
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.writes import Action
from airflow_coordination.testing.clock import FakeClock

SOURCE = "flights|PARTITION"
KEYS = [f"k{number}" for number in range(9)]


@pytest.fixture
def flights(clocked: PartitionStore, clock: FakeClock) -> SourceCoordinator:
    flights = SourceCoordinator(clocked, "flights", "test", clock=clock)
    flights.create_partitions(KEYS)
    return flights


@pytest.fixture
def act(flights: SourceCoordinator, clock: FakeClock) -> Callable[..., None]:
    """Do something to some at once, a second after what was before."""

    def act(action: str, *keys: str, batch: str | None = None) -> None:
        clock.advance(1)
        for key in keys:
            flights.people.act(Action(action), key, "ana", "because", flights.partition(key), batch=batch)
        clock.advance(1)

    return act


def told(flights: SourceCoordinator, limit: int = 100) -> list[str | None]:
    """Return what became of each deed, the newest first."""
    done = deeds(SOURCE, newest(flights.store, SOURCE))
    found = became(flights.store, done, flights.store.now(), limit)
    return [spoken(deed, each) if each else None for deed, each in zip(done, found, strict=True)]


def fail(flights: SourceCoordinator, key: str, retry_after: timedelta | None = timedelta(0)) -> None:
    flights.fail(flights.acquire_partition(key), "no such file", retry_after=retry_after)


LATER = {
    "completed since": lambda one: one.complete(one.acquire_partition("k0")),
    "held now": lambda one: one.acquire_partition("k0"),
    "not taken yet": lambda one: None,
    "failed again, claimable now": lambda one: fail(one, "k0"),
    "failed again, delayed now": lambda one: fail(one, "k0", timedelta(hours=1)),
    "failed again, held now": lambda one: (fail(one, "k0"), one.acquire_partition("k0")),
    "parked now": lambda one: one.people.park("k0", "bo", "no"),
    "deleted since": lambda one: one.people.delete("k0", "bo", "no"),
}


@pytest.mark.parametrize("said", LATER)
def test_of_what_was_reset_it_is_told_what_happened_since(flights, act, said):
    fail(flights, "k0")  # and what happened before is not
    act("reset", "k0")
    LATER[said](flights)
    assert told(flights)[-1] == said


def test_what_failed_so_often_that_it_is_parked_says_so(flights, act, clock):
    act("reset", "k0")
    once = SourceCoordinator(flights.store, "flights", "other", clock=clock, max_failures=1)
    once.fail(once.acquire_partition("k0"), "no such file")
    assert told(flights) == ["failed again, parked now"]


def test_a_lease_that_was_lost_since_is_a_failure(flights, act, clock):
    act("reopen", "k0") if flights.partition("k0").parked else act("reset", "k0")
    flights.acquire_partition("k0")
    clock.advance(100_000)
    assert told(flights) == ["expired now"]
    flights.sweep()
    assert told(flights) == ["failed again, claimable now"]


STAYS = {
    ("park",): ["still parked"],
    ("park", "reopen"): ["not taken yet", "not parked any more: claimable"],
    ("park", "reset", "park"): ["still parked", "parked now", "parked now"],
    ("finish",): ["still completed"],
    ("finish", "reset"): ["not taken yet", "begun again: claimable"],
    ("finish", "retract"): ["not completed since", "completed now"],
    ("delete",): ["still gone"],
}


@pytest.mark.parametrize("actions", STAYS)
def test_what_stays_as_somebody_left_it_says_still(flights, act, actions):
    for action in actions:
        act(action, "k0")
    assert told(flights) == STAYS[actions]


def test_what_was_deleted_and_came_again_says_so(flights, act):
    act("delete", "k0")
    flights.create_partitions(["k0"])
    assert told(flights) == ["created again: claimable"]


def test_of_many_it_is_said_how_many_and_of_the_first_ones_where_not_all_are_read(flights, act, monkeypatch):
    act("park", "k8")
    act("reset", *KEYS[:7], batch="b")
    for key in KEYS[:4]:
        flights.complete(flights.acquire_partition(key))
    flights.acquire_partition("k4")
    assert told(flights)[0] == "4 completed since, 2 not taken yet, 1 held now"
    read = []
    kind = type(flights.store)
    get = kind.get
    monkeypatch.setattr(kind, "get", lambda store, source, key: read.append(key) or get(store, source, key))
    assert told(flights, limit=5) == ["4 completed since (of the first 4)", "still parked"]
    assert sorted(read) == [*KEYS[:4], "k8"]
    assert told(flights, limit=1) == [None, "still parked"]


def test_a_pause_says_whether_it_lasts(flights, clock):
    flights.pausing.pause("ana", "rain", None)
    assert told(flights) == ["still paused"]
    clock.advance(1)
    flights.pausing.resume("bo", "sun")
    assert told(flights) == ["goes on since", "resumed since"]
    clock.advance(1)
    flights.pausing.pause("ana", "rain", lasts=timedelta(minutes=5))
    assert told(flights) == ["still paused", "paused again since", "paused anew since"]
    clock.advance(600)
    assert told(flights) == ["ended by itself", "goes on", "resumed since"]


def test_of_what_nobody_can_know_nothing_is_said(flights):
    at = flights.store.now()
    named = {"since": at, "at": at, "by": "ana", "why": "w"}
    other = Deed(source=SOURCE, action="forget", keys=("k0",), number=1, each=(("k0", at),), **named)
    of_source = Deed(source=SOURCE, action="else", keys=(), number=0, **named)
    assert became(flights.store, [other, of_source], at) == [None, None]
    assert spoken(other, Became((("held now", 1),), 1)) == "held now"
