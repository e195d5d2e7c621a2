"""What mutants showed that no other test looked at."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.stores.dynamodb import DynamoDBOptions, DynamoDBStore
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.times import Randomness
from tests.simulation.dynamodb.engine import Engine


def test_s9_now_and_then_an_acquisition_starts_at_the_new_ones() -> None:
    """However many wait in front: the coordinator asks for "new first" about once in eight times."""
    clock = FakeClock()
    one = SourceCoordinator(InMemoryStore(clock), "flights", "o", clock=clock, randomness=Randomness(random.Random(7)))
    one.create_partitions([f"before {number}" for number in range(200)])
    while (lease := one.get_next_partition()) is not None:
        one.close(lease, timedelta(seconds=1))
    clock.advance(2)
    one.create_partitions([f"new {number}" for number in range(200)])
    first = [one.get_next_partition() for _ in range(100)]
    new = sum(lease is not None and lease.key.startswith("new") for lease in first)
    assert 3 <= new <= 30


def coordinator(client: Any, clock: FakeClock) -> SourceCoordinator:
    """Return a coordinator whose store sends its requests to this client."""
    store = DynamoDBStore(DynamoDBOptions(table_name="coordination"), clock, client=lambda _: client)
    return SourceCoordinator(store, "flights", "o", clock=clock)


class Overtaken:
    """A client before whose second put somebody else does something."""

    def __init__(self, engine: Engine, rival: Callable[[], object]) -> None:
        self._engine, self._rival, self._puts = engine, rival, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def put_item(self, **arguments: Any) -> Any:
        """The first put is refused by a tombstone, the second takes its place."""
        self._puts += 1
        if self._puts == 2:
            self._rival()
        return self._engine.put_item(**arguments)


def test_s3_a_creation_in_a_tombstones_place_does_not_reset_what_lives_again() -> None:
    clock = FakeClock()
    engine = Engine(clock.now)

    def live_again() -> None:
        rival.create_partitions(["a"])
        lease = rival.acquire_partition("a")
        assert lease is not None
        rival.complete(lease)

    rival = coordinator(engine, clock)
    rival.store.setup()
    rival.create_partitions(["a"])
    rival.people.delete("a", "ana", "to create it anew")
    created = coordinator(Overtaken(engine, live_again), clock).create_partitions(["a"])
    found = rival.partition("a")
    assert found is not None
    assert (created.created, created.existing, str(found.status)) == (0, 1, "COMPLETED")


class Slept:
    """A client whose process sleeps after it has first read a partition, while somebody else acts."""

    def __init__(self, engine: Engine, meanwhile: Callable[[], object]) -> None:
        self._engine, self._meanwhile, self._slept = engine, meanwhile, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def get_item(self, **arguments: Any) -> Any:
        """What it finds first is old when it is heard."""
        found = self._engine.get_item(**arguments)
        if it.TOKEN in found.get("Item", {}) and not self._slept:
            self._slept = True
            self._meanwhile()
        return found


def test_s1_a_takeover_by_what_was_seen_long_ago_gives_no_token_twice() -> None:
    clock = FakeClock()
    engine = Engine(clock.now)

    def lose() -> None:
        lease = rival.acquire_partition("a")
        assert lease is not None
        tokens.append(lease.fence.token)
        clock.advance(3600)

    tokens = list[int]()
    rival = coordinator(engine, clock)
    rival.store.setup()
    rival.create_partitions(["a"])
    lose()
    late = coordinator(Slept(engine, lose), clock).get_next_partition()
    assert tokens == [1, 2]
    assert late is None or late.fence.token == 3


class Acted:
    """A client before whose first transaction somebody else does something."""

    def __init__(self, engine: Engine, rival: Callable[[], object]) -> None:
        self._engine, self._rival, self._acted = engine, rival, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def transact_write_items(self, **arguments: Any) -> Any:
        """What was read for it has changed when it is sent."""
        if not self._acted:
            self._acted = True
            self._rival()
        return self._engine.transact_write_items(**arguments)


def test_s5_an_action_undoes_nothing_that_was_written_after_its_look() -> None:
    clock = FakeClock()
    engine = Engine(clock.now)

    rival = coordinator(engine, clock)
    rival.store.setup()
    rival.create_partitions(["a"])
    late = coordinator(Acted(engine, lambda: rival.acquire_partition("a")), clock)
    with pytest.raises(PartitionUpdateError):
        late.people.delete("a", "ana", "nobody needs it")
    found = rival.partition("a")
    assert found is not None
    assert str(found.status) == "ASSIGNED"
