"""Requests that the real store sends: recorded while it does whatever it can do, at random and often too late."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple

import pytest

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.writes import Action
from airflow_coordination.stores.dynamodb import DynamoDBOptions, DynamoDBStore, requests
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.conformance.fixtures import Workbench, block, head, owner
from airflow_coordination.values.input_errors import CoordinationError
from airflow_coordination.values.status import PartitionStatus
from airflow_coordination.values.times import Randomness
from tests.simulation.dynamodb.engine import Engine

KEYS = ["a", "b", "c", "é", "k/5", "\U0001f600", "long" * 300]
REQUESTS = ("get_item", "put_item", "update_item", "transact_write_items", "batch_get_item", "query", "scan")


class Sent(NamedTuple):
    """A request.

    :param name: the client's method.
    """

    name: str
    arguments: dict[str, Any]


class Recorder:
    """A client that notes what is asked of an engine's items."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.sent: list[Sent] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._engine, name)
        if name not in REQUESTS:
            return method

        def send(**arguments: Any) -> Any:
            self.sent.append(Sent(name, arguments))
            return method(**arguments)

        return send


class Workload:
    """Work on one source of a store.

    :param table: the name of its table.
    :param seed: decides everything.
    """

    def __init__(self, table: str, seed: int) -> None:
        self._random, self._clock = random.Random(seed), FakeClock()
        self._engine = Engine(self._clock.now)
        self._client = Recorder(self._engine)
        options = DynamoDBOptions(table_name=table, billing_mode="on_demand", ttl=timedelta(days=1))
        self._store = DynamoDBStore(options, self._clock, lambda _: self._client, Randomness(random.Random(seed)))
        self._bench = Workbench(self._store, self._clock)
        self._held: list[Partition] = []
        self._store.setup()

    @property
    def layout(self) -> dict[str, Any]:
        """The table as the store has asked for it."""
        return self._engine.tables[self._store.table.name].described

    def recorded(self, steps: int) -> list[Sent]:
        """Do so many things, and return the requests that were sent."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(requests, "PARALLEL", 1)
            for _ in range(steps):
                self._clock.advance(self._random.choice([0.001, 0.01, 1.5, 59.0, 700.0]))
                self._step(self._random.choice(_DOINGS))
            self._store.close()
        return self._client.sent

    def _step(self, do: Callable[[Workload], object]) -> None:
        try:
            do(self)
        except CoordinationError:
            return

    def _key(self) -> str:
        return self._random.choice(KEYS)

    def _some(self) -> list[Partition]:
        """Return one of the partitions that were acquired, mostly the newest; it may be somebody else's by now."""
        held = self._held[-1:] if self._random.random() < 0.7 else self._held
        return self._random.sample(held, min(1, len(held)))

    def create(self) -> None:
        self._bench.create(*self._random.sample(KEYS, 3))

    def acquire(self) -> None:
        key = self._random.choice([None, None, self._key()])
        found = self._bench.next(key, new_first=self._random.random() < 0.3, max_lost_leases=3)
        self._held += [found] if found else []

    def hinted(self) -> None:
        for key, token in self._store.claimable(self._bench.source, 3):
            answer = self._bench.hinted(key, token - self._random.randrange(2))
            self._held += [answer.partition] if answer.applied and answer.partition else []

    def retake(self) -> None:
        for held in self._some():
            answer = self._bench.retake(held, same_try=True)
            self._held += [answer.partition] if answer.applied and answer.partition else []

    def hold(self) -> None:
        for held in self._some():
            timeout = timedelta(minutes=self._random.choice([1, 10, 20]))
            self._bench.adopt(held, owner(try_number=self._random.randrange(1, 3)))
            self._bench.renew(held, timeout)
            answer = self._bench.begin(held, timeout=timeout)
            self._held += [answer.partition] if answer.applied and answer.partition else []

    def save(self) -> None:
        for held in self._some():
            save = self._bench.saving(held, "x" * self._random.choice([1, 2000]), block(self._bench.op()))
            if self._store.write(save).applied:
                self._held.append(self._bench.get(held.key))

    def complete(self) -> None:
        for held in self._some():
            heads = [head(held, block("b"), dataset=name) for name in self._random.sample(["one", "two"], 2)]
            self._bench.complete(held, *heads[: self._random.randrange(3)])

    def close(self) -> None:
        for held in self._some():
            self._bench.close(held, self._random.choice([None, timedelta(0), timedelta(minutes=2)]), "later")

    def fail(self) -> None:
        for held in self._some():
            self._bench.fail(held, self._random.choice([None, timedelta(0), timedelta(minutes=2)]))

    def give_up(self) -> None:
        for held in self._some():
            self._bench.give_up(held)

    def sweep(self) -> None:
        self._bench.sweep(max_lost_leases=3)

    def act(self) -> None:
        key = self._key()
        seen = self._store.get(self._bench.source, key)
        if seen is not None:
            self._store.act(self._bench.acting(self._random.choice(list(Action)), seen))

    def look(self) -> None:
        source, store = self._bench.source, self._store
        self._random.choice(
            [
                lambda: store.page(source, self._random.choice([None, *PartitionStatus]), self._key(), 3),
                lambda: store.counts(source),
                lambda: store.outlook(source),
                lambda: store.heads(source, self._random.choice([None, "one"]), after=self._key()),
                lambda: store.heads(source, key=self._key()),
                lambda: store.audit(source, self._key()),
                lambda: store.find_task(source, owner().task),
                lambda: store.find_nonce(source, self._bench.op()),
                lambda: store.register(source, {"facts": self._key()}),
                lambda: store.sources(),
            ]
        )()


_DOINGS: list[Callable[[Workload], object]] = [
    *[Workload.create] * 2,
    *[Workload.acquire] * 5,
    Workload.hinted,
    Workload.retake,
    *[Workload.hold] * 2,
    *[Workload.save] * 3,
    *[Workload.complete] * 2,
    Workload.close,
    Workload.fail,
    Workload.give_up,
    *[Workload.sweep] * 2,
    *[Workload.act] * 2,
    *[Workload.look] * 3,
]
