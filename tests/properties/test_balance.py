"""Workers that start when they like share evenly in virtual time, whatever their numbers and capacities are (L10).

Also where answers come late, or never, and workers leave meanwhile.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from airflow_coordination.leases import Lease, PartitionNotOwnedError, SourceCoordinator
from airflow_coordination.planning.shares import shares
from airflow_coordination.spark.balance import Balance
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.settings import BALANCE_INTERVAL, Balancing
from airflow_coordination.values.times import Randomness

NEVER = 10**9
HEARS = 4
"""Seconds between two renewals."""
LOOKS = 20
TICK = BALANCE_INTERVAL.total_seconds()


class Worker:
    """Takes what it may, and hands over what is wanted: as soon as it hears of it, or seconds later."""

    def __init__(
        self, store: InMemoryStore, clock: FakeClock, name: str, start: int, capacity: int, seed: int, **options: Any
    ) -> None:
        self.name, self.start, self.capacity = name, start, capacity
        self.coordinator = SourceCoordinator(store, "s", name, ownership_timeout=timedelta(days=1))
        self.balance = Balance(
            self.coordinator, capacity, Balancing(**options), clock=clock, randomness=Randomness(random.Random(seed))
        )
        self.leases: list[Lease] = []
        self.moves, self.thinks, self.end = 0, 0, NEVER
        self._heard: dict[str, int] = {}

    def second(self, now: int) -> None:
        if not self.start <= now < self.end:
            self._end()
            return
        if not self.balance.next_look:
            found = [self.coordinator.get_next_partition() for _ in range(self.balance.room(len(self.leases)))]
            self.leases += [lease for lease in found if lease is not None]
            while (lease := self.balance.overdue()) is not None:
                self.leases.append(lease)
                self.moves += 1
        if (now - self.start) % HEARS == 0:
            self.leases = list(self._kept(now))

    def _kept(self, now: int) -> Iterator[Lease]:
        for lease in self.leases:
            try:
                self.coordinator.renew(lease)
            except PartitionNotOwnedError:  # stolen
                continue
            asker = lease.chain.wanted_by
            if asker is None or not self.balance.heeds(asker, lease.key):
                self._heard.pop(lease.key, None)
                yield lease
            elif now - self._heard.setdefault(lease.key, now) < self.thinks:
                yield lease
            else:
                del self._heard[lease.key]
                self.coordinator.workers.hand_over(lease)
                self.moves += 1

    def _end(self) -> None:
        for lease in self.leases:
            with suppress(PartitionNotOwnedError):
                self.coordinator.give_up(lease)
        self.leases = []
        self.balance.leave()


@pytest.mark.parametrize("seed", range(25))
def test_l10_within_twenty_looks_after_the_last_start(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airflow_coordination.leases.workers.Heartbeat.__enter__", lambda self: self)
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


def alive(workers: list[Worker], now: int) -> list[Worker]:
    return [worker for worker in workers if worker.start <= now < worker.end]


@pytest.mark.parametrize("seed", range(25))
def test_z1_l10_also_where_answers_come_late_and_workers_leave(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Z1: who had its share meanwhile took at the deadline what it had asked for: 12/12 became 20/4."""
    monkeypatch.setattr("airflow_coordination.leases.workers.Heartbeat.__enter__", lambda self: self)
    chance, clock = random.Random(1_000 + seed), FakeClock()
    store = InMemoryStore(clock=clock)
    store.setup()
    leases, patience = chance.randint(2, 32), chance.choice((30, 90))
    SourceCoordinator(store, "s", "creates").create_partitions([f"{number:02}" for number in range(leases)])
    workers = [
        Worker(
            store, clock, f"w{place}", chance.randint(0, 100), chance.choice((4, 16, 32)), 100 * seed + place,
            hand_over_timeout=timedelta(seconds=patience),
        )
        for place in range(chance.randint(3, 5))
    ]  # fmt: skip
    for worker in workers:
        worker.thinks = chance.choice((0, patience // 2, NEVER))
    for worker in workers[2:]:
        worker.end = chance.choice((NEVER, chance.randint(worker.start + 20, 200)))
    last = 200 + int(LOOKS * TICK) + 6 * patience
    for now in range(last):
        before = {worker.name: len(worker.leases) for worker in workers}
        stolen = sum(worker.moves for worker in workers)
        for worker in workers:
            worker.second(now)
        there = alive(workers, now)
        share = shares({worker.name: worker.capacity for worker in there}, leases)
        for worker in there if sum(worker.moves for worker in workers) > stolen else ():
            grown = len(worker.leases) > before[worker.name]
            assert not grown or len(worker.leases) <= max(share.values()), f"{worker.name} takes above every share"
        clock.advance(1)
    held = {worker.name: len(worker.leases) for worker in alive(workers, last)}
    share = shares({worker.name: worker.capacity for worker in alive(workers, last)}, leases)
    assert sorted(held.values()) == sorted(share.values())
    moves = sum(worker.moves for worker in workers)
    for now in range(last, last + 100 + patience):
        for worker in workers:
            worker.second(now)
        clock.advance(1)
    assert sum(worker.moves for worker in workers) == moves, "what is even stays as it is"
