"""KinesisShards on streams that are resharded while they are read: killed at any call, with leases lost and reset."""

from __future__ import annotations

import random
from contextlib import suppress
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_coordination.leases import PartitionStatus, SourceCoordinator
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.sources import KinesisShards
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.systems.kinesis import supplier as module
from airflow_coordination.systems.kinesis.shard_end import create_children
from airflow_coordination.systems.kinesis.shards import ShardLease
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import Crash, Fault, FaultyStore
from airflow_coordination.values.errors import PartitionUpdateError
from tests.unit.systems.kinesis.service import Service


class Run:
    """One stream, read to its end by real suppliers and real endings of shards.

    :param seed: everything that is left to chance follows from it.
    :param monkeypatch: puts the service into the supplier's hands.
    """

    def __init__(self, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.chance, self.service, self.clock = random.Random(seed), Service(), FakeClock()
        monkeypatch.setattr(module, "connect", lambda *_: self.service)
        self.store = InMemoryStore(clock=self.clock)
        self.stream = self.service.create("orders", self.chance.randint(1, 7))
        begun = self.service.now
        self.reshard(self.chance.randint(0, 4))
        moment = max(begun, self.service.now - timedelta(seconds=self.chance.randint(0, 8)))
        self.position: Any = self.chance.choice(["TRIM_HORIZON", "LATEST", "LATEST", moment])
        self.tells = self.chance.random() < 0.7  # not every engine names children
        self.loses = self.chance.random() < 0.5
        self.lost, self.ever = False, dict[str, ShardLease]()

    def go(self) -> None:
        """Discover, read, reshard, lose; then until nothing moves any more."""
        for _ in range(self.chance.randint(4, 12)):
            self.supply(killed=self.chance.random() < 0.5)
            self.reshard(self.chance.randint(0, 2))
            for _ in range(self.chance.randint(0, 3)):
                self.end_one()
            if self.loses and self.chance.random() < 0.4:
                self.lose()
        for _ in range(100):
            before = self.standing()
            self.supply()
            while self.end_one():
                pass
            if self.standing() == before:
                return self.look_back()
        raise AssertionError("it never comes to rest")

    def reshard(self, times: int) -> None:
        """Split a shard, or merge two that lie side by side."""
        for _ in range(times):
            row = sorted((each[1], name) for name, each in self.stream.shards.items() if each[4] is None)
            at = self.chance.randrange(len(row))
            if at + 1 < len(row) and self.chance.random() < 0.5:
                self.service.merge(self.stream, row[at][1], row[at + 1][1])
            else:
                self.service.split(self.stream, row[at][1])

    def coordinator(self, store: Any = None) -> SourceCoordinator:
        """Return one of a new owner."""
        return SourceCoordinator(store or self.store, "orders", f"owner {self.chance.random()}")

    def supply(self, *, killed: bool = False) -> None:
        """Run the supplier, perhaps to some call only; whoever comes next comes when its lease is over."""
        at = self.chance.randint(1, 14)
        fault = self.chance.choice([Fault.CRASH_BEFORE, Fault.CRASH_AFTER])
        store = FaultyStore(self.store, {at: fault} if killed else {})
        interval = timedelta(0) if not killed or self.chance.random() < 0.7 else timedelta(hours=1)
        before = self.leased()
        supplier = KinesisShards(streams=["orders"], initial_position=self.position, full_sync_interval=interval)
        with suppress(Crash):
            assert self.coordinator(store).run_supplier(supplier).ran
        self.clock.advance(timedelta(minutes=11))
        self.check_created(before)

    def leased(self) -> dict[str, Partition]:
        """Return all leases by their shards."""
        return {one.key.rpartition(":")[2]: one for one in self.coordinator().partitions()}

    def standing(self) -> list[tuple[str, PartitionStatus]]:
        """Return what there is, to see whether anything moves."""
        return [(name, one.status) for name, one in self.leased().items()]

    def check_created(self, before: dict[str, Partition]) -> None:
        """Nothing that lies before a leased shard has been created."""
        for name, one in self.leased().items():
            if name not in before:
                again = {each for each in before if name in self.above(each)}
                assert not again, f"restarts {name}, which lies before {again}"
                self.ever.setdefault(name, ShardLease.of(one.key, one.payload or {}))

    def above(self, name: str) -> set[str]:
        """Return a shard's ancestors."""
        parents = self.stream.shards[name][0]
        return {*parents, *(far for parent in parents for far in self.above(parent))}

    def end_one(self) -> bool:
        """Read a closed shard to its end, as a driver does; it may be killed before it completes."""
        ready = [
            one
            for name, one in self.leased().items()
            if one.status is PartitionStatus.UNASSIGNED and not one.waits_for and self.stream.shards[name][4]
        ]
        if not ready:
            return False
        c, before = self.coordinator(), self.leased()
        lease = c.acquire_partition(self.chance.choice(ready).key)
        assert lease is not None
        shard = ShardLease.of(lease.key, lease.partition.payload or {})
        standing_in: Any = SimpleNamespace(coordinator=c, create_partitions=c.create_partitions)
        create_children(standing_in, shard, self.children(shard.shard) if self.tells else [])
        self.check_created(before)
        if self.chance.random() < 0.2:
            c.give_up(lease)
        else:
            c.complete(lease)
        return True

    def children(self, name: str) -> list[dict[str, Any]]:
        """Return what Kinesis says at a shard's end."""
        return [
            {
                "ShardId": child,
                "ParentShards": parents,
                "HashKeyRange": {"StartingHashKey": str(first), "EndingHashKey": str(last)},
            }
            for child, (parents, first, last, _, _) in self.stream.shards.items()
            if name in parents
        ]

    def lose(self) -> None:
        """Let somebody delete leases, where nobody waits for them, and have finished ones read again.

        Not two in one line: a driver sees only whether the next one is there.
        """
        c = self.coordinator()
        for one in c.partitions():
            if self.chance.random() < 0.2 and not self.missing_beside(one.key.rpartition(":")[2]):
                self.lost = True
                with suppress(PartitionUpdateError):
                    c.people.delete(one.key, by="ana", why="test")
            elif one.status is PartitionStatus.COMPLETED and self.chance.random() < 0.3:
                c.people.reset(one.key, by="ana", why="test")

    def missing_beside(self, name: str) -> set[str]:
        """Return those before and behind a shard that had a lease and have none."""
        line = self.above(name) | {each for each in self.stream.shards if name in self.above(each)}
        return line & self.ever.keys() - self.leased().keys()

    def look_back(self) -> None:
        """Every open shard has a lease that can be read, none is stuck, and nothing was skipped or read too early."""
        leased = self.leased()
        for name, (_, _, _, _, closed) in self.stream.shards.items():
            if closed is None:
                assert name in leased, f"open shard {name} has no lease"
                assert not leased[name].waits_for, f"open shard {name} waits for ever"
            elif name in leased:
                assert leased[name].status is PartitionStatus.COMPLETED, f"{name} cannot end"
        begin = self.begin()
        for name, (_, _, _, opened, closed) in self.stream.shards.items():
            lease = self.ever.get(name)
            since = None if lease is None else lease.position.since
            if not self.lost and (begin is None or closed is None or closed > begin):
                assert lease is not None, f"skips {name}"
                assert since is None or since <= max(opened, begin or opened), f"skips the beginning of {name}"
            if lease is not None and begin is not None and opened < begin:
                assert since is not None, f"reads {name} from before the position"
                assert since >= begin, f"reads {name} from before the position"

    def begin(self) -> datetime | None:
        """Return the instant at which reading begins; ``None`` is the oldest record."""
        if self.position == "TRIM_HORIZON":
            return None
        if self.position != "LATEST":
            assert isinstance(self.position, datetime)
            return self.position
        [known] = self.coordinator().supplying.global_state()["KINESIS"].values()
        return datetime.fromisoformat(known["since"])


def test_s11_s19_streams_are_resharded_while_suppliers_are_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """300 streams show each rule that is taken out: tests/mutants/broken/kinesis.py does."""
    monkeypatch.setattr("airflow_coordination.leases.supply.CREATE_PAGE", 2)
    broken = []
    for seed in range(300):
        try:
            Run(seed, monkeypatch).go()
        except AssertionError as error:
            broken.append(f"seed {seed}: {error}")
    assert broken == []
