"""Why a partition waits that comes after others."""

from dataclasses import replace
from datetime import timedelta

import pytest

from airflow_coordination.leases import PartitionIdentifier, Reason, SourceCoordinator
from airflow_coordination.leases.explaining.facts import MOST_ABOVE
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def flights(clock):
    return SourceCoordinator(InMemoryStore(clock), "flights", "test", max_failures=1, clock=clock)


def family(flights, *parents):
    flights.create_partitions([*parents, PartitionIdentifier("c", parents=parents)])


def test_what_each_parent_does_the_parked_ones_first(flights):
    family(flights, "held", "free", "later", "broken", "closed")
    flights.acquire_partition("held")
    flights.fail(flights.acquire_partition("broken"), "no memory\nat line 3")
    flights.give_up(flights.acquire_partition("later"), retry_after=timedelta(hours=1))
    flights.close(flights.acquire_partition("closed"), reopen_after=timedelta(hours=2))
    said = flights.explain("c")
    assert said.reason is Reason.BLOCKED
    assert said.sentence == (
        "Partition 'c' waits for 5 parents: 'broken' is parked (no memory); 'held' is held by 'test'; 'free' can be "
        "acquired; 'later' waits until 2026-01-01T01:00:00+00:00 (in 1 h); 'closed' waits until "
        "2026-01-01T02:00:00+00:00 (in 2 h)."
    )
    assert said.next == "Nothing happens by itself: reopen what is parked, or finish it, and it counts as completed."
    assert said.command == "airflow coordination reopen flights broken --why '…'"


def test_what_moves_is_followed_to_where_it_begins(flights):
    flights.create_partitions(["a", PartitionIdentifier("b", parents=["a"]), PartitionIdentifier("c", parents=["b"])])
    said = flights.explain("c")
    assert said.sentence == "Partition 'c' waits for 1 parent: 'b' waits for 'a'."
    assert said.next == "The step that completes the last of them makes it claimable."
    assert said.command == "airflow coordination explain flights a"


def test_what_is_parked_farther_up_is_named(flights):
    flights.create_partitions(["a", PartitionIdentifier("b", parents=["a"]), PartitionIdentifier("c", parents=["b"])])
    flights.people.park("a", by="ana", why="broken")
    said = flights.explain("c")
    assert said.sentence == "Partition 'c' waits for 1 parent: 'b' waits for 'a', and above it 'a' is parked."
    assert said.command == "airflow coordination reopen flights a --why '…'"


def test_what_is_parked_is_named_only_below_what_waits_for_it(flights):
    flights.create_partitions(["a", "x", PartitionIdentifier("b", parents=["a"])])
    flights.create_partitions([PartitionIdentifier("c", parents=["b", "x"])])
    flights.fail(flights.acquire_partition("x"), "no memory")
    sentence = "Partition 'c' waits for 2 parents: 'x' is parked (no memory); 'b' waits for 'a'."
    assert flights.explain("c").sentence == sentence


def test_a_lease_that_has_ended(flights, clock):
    family(flights, "p")
    flights.acquire_partition("p")
    clock.advance(timedelta(hours=1))
    assert flights.explain("c").sentence.endswith("'p' was held by 'test', and its lease has ended.")


@pytest.mark.parametrize("tombstone", [False, True])
def test_what_is_not_there_does_not_complete(flights, tombstone):
    """Code that knew no parents has deleted it, or somebody's hand."""
    family(flights, "p")
    partitions = flights.store._source("flights|PARTITION").partitions
    if tombstone:
        partitions["p"] = replace(partitions["p"], deleted=True)
    else:
        del partitions["p"]
    said = flights.explain("c")
    assert said.sentence == "Partition 'c' waits for 1 parent: 'p' is not there."
    assert said.next.startswith("Nothing happens by itself: finish it, or delete it")
    assert said.command == "airflow coordination finish flights c --why '…'"


def test_many_parents_are_not_all_named(flights):
    family(flights, *(f"p{number:02}" for number in range(16)))
    assert flights.explain("c").sentence.endswith("'p04' can be acquired; and 11 more.")


def test_a_long_chain_is_not_read_whole(flights, monkeypatch):
    chain = [
        PartitionIdentifier(f"{number:03}", parents=[f"{number - 1:03}"] if number else ()) for number in range(99)
    ]
    flights.create_partitions(chain)
    read, whole = [], flights.store.get
    monkeypatch.setattr(flights.store, "get", lambda source, key: read.append(key) or whole(source, key))
    said = flights.explain("098")
    assert (said.reason, len(read)) == (Reason.BLOCKED, MOST_ABOVE + 1)
    assert said.command == f"airflow coordination explain flights {98 - MOST_ABOVE:03}"


def test_in_a_paused_source_it_waits_for_its_parents_all_the_same(flights):
    family(flights, "p")
    flights.pausing.pause(by="ana", why="a test")
    assert flights.explain("c").reason is Reason.BLOCKED
