"""Who works on a source: members, their places, and where these must not be seen."""

from datetime import timedelta

import pytest

from airflow_coordination.leases import InvalidInputError, SourceCoordinator
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.names import holds_partitions

TIMEOUT = timedelta(seconds=20)
INTERNAL = "flights|WORKER"


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def store(clock):
    made = InMemoryStore(clock=clock)
    made.setup()
    return made


@pytest.fixture
def worker(store):
    """Make a coordinator in a worker's name."""
    return lambda name: SourceCoordinator(store, "flights", name, ownership_timeout=TIMEOUT)


@pytest.fixture
def join(worker):
    """Let a worker join; all have left in the end."""
    joined = []

    def joins(name, capacity=4):
        joined.append(worker(name).workers.join(capacity))
        return joined[-1]

    yield joins
    for each in joined:
        each.leave()


def seen(worker):
    return [(member.owner, member.capacity) for member in worker("looks").workers.members()]


def test_a_member_is_there_until_it_leaves(join, worker):
    assert seen(worker) == []
    one = join("one")
    join("two", 2)
    assert seen(worker) == [("one", 4), ("two", 2)]
    one.leave()
    assert seen(worker) == [("two", 2)]


def test_a_member_that_does_not_renew_is_dead_by_the_stores_clock(join, worker, clock, monkeypatch):
    monkeypatch.setattr("airflow_coordination.leases.workers.Heartbeat.__enter__", lambda self: self)  # killed at once
    join("one")
    clock.advance(TIMEOUT - timedelta(microseconds=1))
    assert seen(worker) == [("one", 4)]
    clock.advance(timedelta(microseconds=1))
    assert seen(worker) == []


def test_places_are_taken_again_so_that_their_number_does_not_grow(join, worker, store):
    for round_ in range(5):
        pair = [join(f"one {round_}"), join(f"two {round_}")]
        assert seen(worker) == [(f"one {round_}", 4), (f"two {round_}", 4)]
        for each in pair:
            each.leave()
    assert [place.key for place in store.page(INTERNAL, None, None, 100)] == ["worker/1", "worker/2"]


def test_the_place_of_a_dead_one_is_taken_however_often_it_died(join, worker, store, clock, monkeypatch):
    monkeypatch.setattr("airflow_coordination.leases.workers.Heartbeat.__enter__", lambda self: self)
    for number in range(12):  # more than max_lost_leases: a place is never parked
        join(f"worker {number}")
        clock.advance(TIMEOUT)
    join("last")
    assert seen(worker) == [("last", 4)]
    assert [place.key for place in store.page(INTERNAL, None, None, 100)] == ["worker/1"]


def test_the_internal_source_is_in_no_list_and_has_no_history(join, worker, store):
    worker("creates").create_partitions(["a"])
    join("one").leave()
    join("two")
    assert [name for name, _ in store.sources()] == ["flights|PARTITION"]
    assert not holds_partitions(INTERNAL)
    assert list(store.history(INTERNAL, None, 100)) == []
    coordinator = worker("looks")
    assert sum(coordinator.counts().values()) == 1
    assert coordinator.looking.outlook().assigned == 0
    assert [each.key for each in coordinator.partitions()] == ["a"]


def test_members_count_in_no_metric_and_are_there_while_the_source_is_paused(worker):
    coordinator = worker("one")
    coordinator.create_partitions(["a"])
    coordinator.pausing.pause(by="me", why="test")
    before = dict(coordinator.metrics.counts)
    member = coordinator.workers.join(1)
    assert seen(worker) == [("one", 1)]
    member.leave()
    assert dict(coordinator.metrics.counts) == before


@pytest.mark.parametrize("capacity", [0, -1, True, 1.5, "4"])
def test_a_capacity_that_cannot_be(worker, capacity):
    with pytest.raises(InvalidInputError) as refused:
        worker("one").workers.join(capacity)
    assert "capacity" in str(refused.value)
    assert "is not a whole number above zero. Give 1 or more" in str(refused.value)
