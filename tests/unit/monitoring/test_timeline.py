"""What happened to one partition."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.monitoring.timeline import timeline
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.blocks import Block
from airflow_coordination.values.input_errors import InvalidKeyError

BLOCK = Block("clean", "file:///out/manifest", "digest", rows=3, bytes=9)
SECOND = timedelta(seconds=1)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def flights(clock: FakeClock) -> SourceCoordinator:
    coordinator = SourceCoordinator(InMemoryStore(clock), "flights", "host/dag/run/task/0/1", clock=clock)
    coordinator.describe_owner(application="app-1", url="http://spark:4040")
    coordinator.create_partitions(["k"])
    clock.advance(SECOND)
    return coordinator


def told(coordinator: SourceCoordinator) -> list[str]:
    return [event.what for event in timeline(coordinator, "k").events]


def test_everything_in_its_order(flights: SourceCoordinator, clock: FakeClock) -> None:
    flights.fail(flights.get_next_partition(), "no such column: delay", retry_after=timedelta(0))
    clock.advance(SECOND)
    flights.get_next_partition()
    clock.advance(SECOND)
    flights.people.release("k", by="ana", why="it hangs")
    clock.advance(SECOND)
    flights.complete(flights.get_next_partition(), [BLOCK])
    assert told(flights) == ["created", "failed", "released", "release", "completed"]
    _, failed, released, by_ana, done = timeline(flights, "k").events
    assert (failed.why, failed.who) == ("no such column: delay", "host/dag/run/task/0/1")
    assert (by_ana.who, by_ana.why, by_ana.at) == ("ana", "it hangs", released.at)
    assert released.since == released.at - SECOND
    assert done.tenure is not None
    assert (done.tenure.rows, done.tenure.bytes, done.tenure.fence.token) == (3, 9, 4)
    assert {*done.owner_facts} == {"application", "url", "lease_ms", "renewal_ms"}
    assert done.owner_facts["url"] == "http://spark:4040"


def test_what_runs_stands_last(flights: SourceCoordinator, clock: FakeClock) -> None:
    began = clock.now()
    flights.get_next_partition()
    clock.advance(SECOND)
    held = timeline(flights, "k").events[-1]
    assert (held.what, held.at, held.since, held.who) == ("held", None, began, "host/dag/run/task/0/1")
    assert dict(held.owner_facts)["application"] == "app-1"


def test_a_deleted_one_still_has_its_history(flights: SourceCoordinator) -> None:
    flights.complete(flights.get_next_partition())
    flights.people.delete("k", by="ana", why="a mistake")
    assert told(flights) == ["completed", "delete"]


def test_nothing_happened_to_what_is_not_there(flights: SourceCoordinator) -> None:
    assert timeline(flights, "other").events == ()
    with pytest.raises(InvalidKeyError, match="key"):
        timeline(flights, "")


def test_what_ends_meanwhile_is_not_held_as_well(flights: SourceCoordinator) -> None:
    from airflow_coordination.testing.forwarding import ForwardingStore

    lease = flights.get_next_partition()

    class Ending(ForwardingStore):
        def history(self, source, key=None, limit=1000):  # type: ignore[no-untyped-def]
            flights.give_up(lease)
            return super().history(source, key, limit)

    assert told(SourceCoordinator(Ending(flights.store), "flights", "who")) == ["created", "given up"]


def test_it_asks_four_times(flights: SourceCoordinator) -> None:
    from airflow_coordination.testing.forwarding import ForwardingStore

    asked = []

    class Counting(ForwardingStore):
        def forward(self, name, call):  # type: ignore[no-untyped-def]
            asked.append(name)
            return call()

    timeline(SourceCoordinator(Counting(flights.store), "flights", "who"), "k")
    assert sorted(asked) == ["audit", "get", "get", "history"]
