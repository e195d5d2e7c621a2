"""Workers that start when they like share evenly in virtual time, whatever their numbers and capacities are (L10)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta

import pytest

from airflow_coordination.leases import Lease, SourceCoordinator
from airflow_coordination.leases.clock import Randomness
from airflow_coordination.spark.balance import TICK, Balance
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.streams.shares import shares
from airflow_coordination.testing.clock import FakeClock

HEARS = 4
"""Seconds between two renewals."""
LOOKS = 20


class Worker:
    """Takes what it may, and hands over what is wanted as soon as it hears of it."""

    def __init__(self, store: InMemoryStore, clock: FakeClock, name: str, start: int, capacity: int, seed: int) -> None:
        self.name, self.start, self.capacity = name, start, capacity
        self.coordinator = SourceCoordinator(store, "s", name, ownership_timeout=timedelta(days=1))
        self.balance = Balance(self.coordinator, capacity, clock=clock, randomness=Randomness(random.Random(seed)))
        self.leases: list[Lease] = []
        self.moves = 0

    def second(self, now: int) -> None:
        if now < self.start:
            return
        if not self.balance.next_look:
            found = [self.coordinator.get_next_partition() for _ in range(self.balance.room(len(self.leases)))]
            self.leases += [lease for lease in found if lease is not None]
            assert self.balance.overdue() is None
        if (now - self.start) % HEARS == 0:
            self.leases = list(self._kept())

    def _kept(self) -> Iterator[Lease]:
        for lease in self.leases:
            if not self.coordinator.renew(lease).wanted:
                yield lease
                continue
            self.coordinator.hand_over(lease)
            self.moves += 1


@pytest.mark.parametrize("seed", range(25))
def test_l10_within_twenty_looks_after_the_last_start(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airflow_coordination.leases.members.Heartbeat.__enter__", lambda self: self)
    chance, clock = random.Random(seed), FakeClock()
    store = InMemoryStore(clock=clock)
    store.setup()
    leases = chance.randint(1, 48)
    SourceCoordinator(store, "s", "creates").create_partitions([f"{number:02}" for number in range(leases)])
    starts = sorted(chance.choice((0, chance.randint(0, 60))) for _ in range(chance.randint(2, 5)))
    workers = [
        Worker(store, clock, f"w{place}", start, chance.choice((4, 16, 32)), 100 * seed + place)
        for place, start in enumerate(starts)
    ]
    share = shares({worker.name: worker.capacity for worker in workers}, leases)
    last = starts[-1] + int(LOOKS * TICK)
    for now in range(last):
        for worker in workers:
            worker.second(now)
        clock.advance(1)
    held = {worker.name: len(worker.leases) for worker in workers}
    assert sum(held.values()) == sum(share.values())
    assert sorted(held.values()) == sorted(share.values())
    moves = sum(worker.moves for worker in workers)
    for now in range(last, last + 100):
        for worker in workers:
            worker.second(now)
        clock.advance(1)
    assert sum(worker.moves for worker in workers) == moves, "what is even stays as it is"
