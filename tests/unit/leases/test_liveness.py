"""How fast work goes on beside a partition that kills its workers, and after an outage (L5, L6), in virtual time."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

import pytest

from airflow_coordination.leases import SourceCoordinator, StoreUnavailableError
from airflow_coordination.leases.confirm import LONGEST_PAUSE
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.forwarding import ForwardingStore
from airflow_coordination.values.times import Randomness

T = TypeVar("T")
MINUTE = timedelta(minutes=1)
WORKERS = 4


def minutes_for(healthy: list[str], poison: list[str]) -> int:
    """Return how long four workers take for the healthy partitions, each of which is a minute's work.

    A poison one kills its worker, which is back a minute later.
    """
    clock = FakeClock()
    store = InMemoryStore(clock=clock)
    one = SourceCoordinator(store, "flights", "one", clock=clock, ownership_timeout=5 * MINUTE)
    one.create_partitions([*poison, *healthy])
    left, minutes = len(healthy), 0
    back_at = [0] * WORKERS
    while left:
        minutes += 1
        one.sweep()
        for worker in range(WORKERS):
            lease = one.get_next_partition() if back_at[worker] < minutes else None
            if lease is None:
                continue
            if lease.key in poison:
                one.save_progress_state(lease, "begun")
                back_at[worker] = minutes + 1
            else:
                one.complete(lease)
                left -= 1
        clock.advance(MINUTE)
    assert [one.partition(key).parked for key in poison] == [True] * len(poison)  # type: ignore[union-attr]
    return minutes


def test_l5_beside_a_poison_partition_the_others_lose_less_than_five_percent() -> None:
    healthy = [f"k{number:03}" for number in range(400)]
    undisturbed = minutes_for(healthy, [])
    assert undisturbed == 100
    assert undisturbed < minutes_for(healthy, ["poison"]) < 1.05 * undisturbed


class Outage(ForwardingStore):
    """A store that is not reached until ``end``."""

    def __init__(self, store: PartitionStore, clock: FakeClock, end: float) -> None:
        super().__init__(store)
        self._clock, self._end = clock, end

    def forward(self, name: str, call: Callable[[], T]) -> T:
        if self._clock.monotonic() < self._end:
            raise StoreUnavailableError(name, "connection refused")
        return call()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("seconds", [1.0, 10.0, 25.0])
def test_l6_seconds_after_an_outage_work_goes_on_at_full_speed(seed: int, seconds: float) -> None:
    clock = FakeClock()
    store = InMemoryStore(clock=clock)
    SourceCoordinator(store, "flights", "one", clock=clock).create_partitions(f"k{number}" for number in range(20))
    chance = Randomness(random.Random(seed))
    one = SourceCoordinator(Outage(store, clock, seconds), "flights", "one", clock=clock, randomness=chance)
    lease = one.get_next_partition()
    back_at = clock.monotonic()
    assert seconds <= back_at <= seconds + 1.5 * LONGEST_PAUSE
    while lease is not None:
        one.complete(lease)
        lease = one.get_next_partition()
    assert clock.monotonic() == back_at, "somebody still waited when the store was back"


def test_l6_those_who_wait_come_back_at_different_times() -> None:
    came_back = set()
    for seed in range(8):
        clock = FakeClock()
        store = Outage(InMemoryStore(clock=clock), clock, 10.0)
        chance = Randomness(random.Random(seed))
        SourceCoordinator(store, "flights", "one", clock=clock, randomness=chance).sweep()
        came_back.add(round(clock.monotonic(), 1))
    assert len(came_back) >= 6
