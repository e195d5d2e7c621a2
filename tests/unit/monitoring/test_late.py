"""Who is late in a source, and who says so: sensors, lists, the command line."""

from datetime import timedelta

import pytest

from airflow_coordination.duties.standing import observe
from airflow_coordination.leases import Settings, SourceCoordinator
from airflow_coordination.monitoring.late import NOBODY, late_ones
from airflow_coordination.monitoring.owners import owners
from airflow_coordination.monitoring.summaries import summary
from airflow_coordination.testing.crash import FaultyStore
from airflow_coordination.values.names import compose_source

MINUTE = timedelta(minutes=1)
SOURCE = compose_source("flights", None, "PARTITION")
IN_GRACE = "3 partitions in grace, next at 2026-01-01T01:00:00+00:00"


@pytest.fixture
def store(clocked):
    return clocked


@pytest.fixture
def join(store, clock):
    def join(owner, grace=50 * MINUTE, store=store):
        settings = Settings(ownership_timeout=10 * MINUTE, reassign_grace=grace)
        return SourceCoordinator(store, "flights", owner, settings=settings, clock=clock)

    return join


@pytest.fixture
def flights(join, clock):
    """Return a coordinator of a source in which three of four are late."""
    flights = join("me")
    flights.create_partitions(["a", "b", "c", "d", "e"])
    leases = [flights.acquire_partition(key) for key in "abcd"]
    clock.advance(10 * MINUTE)
    flights.renew(leases[3])
    return flights


def test_late_is_what_was_not_renewed_in_time(flights):
    late = late_ones(flights, flights.looking.outlook())
    assert (late.number, str(late), late.exact) == (3, IN_GRACE, True)


def test_a_sensor_says_so_from_look_to_look(flights):
    """A grace longer than a sensor's patience is no hang."""
    seen = observe(flights, 10)
    assert f"Source flights: 4 held ({IN_GRACE}), 0 delayed" in str(seen)
    assert seen.seconds == 50 * 60


def test_nobody_is_late_is_known_without_a_look_at_the_leases(join, store, clock):
    counting = FaultyStore(store)
    flights = join("me", store=counting)
    flights.create_partitions(["a"])
    lease = flights.get_next_partition()
    outlook = flights.looking.outlook()
    counting.calls.clear()
    assert late_ones(flights, outlook) == NOBODY
    assert counting.calls == ["now"]
    clock.advance(59 * MINUTE)
    assert late_ones(flights, flights.looking.outlook()).number == 1
    flights.renew(lease)
    counting.calls.clear()
    assert late_ones(join("me", timedelta(0), counting), outlook) == NOBODY
    assert counting.calls == []
    assert "grace" not in str(observe(flights, 10))


def test_what_has_ended_is_not_in_grace_any_more(flights, clock):
    clock.advance(50 * MINUTE)
    assert late_ones(flights, flights.looking.outlook()).number == 1, "the one that was renewed later"
    clock.advance(10 * MINUTE)
    assert late_ones(flights, flights.looking.outlook()) == NOBODY


def test_who_holds_what_says_who_is_late(flights, store):
    found = owners(store, SOURCE, grace=50 * MINUTE).held
    assert [(each.key, each.late) for each in found] == [("a", True), ("b", True), ("c", True), ("d", False)]
    assert not any(each.late for each in owners(store, SOURCE).held)


def test_a_list_says_who_is_late(flights, clock):
    a, d = flights.partition("a"), flights.partition("d")
    row = summary(a, clock.now(), 50 * MINUTE)
    assert (row["next"], row["next_at"]) == (
        "its owner is late: it is in grace, and then others get it",
        a.ownership_timeout,
    )
    assert summary(d, clock.now(), 50 * MINUTE)["next"] == summary(a, clock.now())["next"] == "its lease ends"
