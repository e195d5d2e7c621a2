"""A schedule in virtual time runs in one thread: the store must make none of its own there."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from airflow_coordination.protocol.writes import Sweep
from airflow_coordination.stores.dynamodb import DynamoDBOptions, DynamoDBStore, requests
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.conformance.fixtures import MINUTE, Workbench
from tests.simulation.dynamodb.engine import Engine


class Watched:
    """A client that notes which threads use it."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self.threads, self._turn = engine, set[int](), threading.Lock()

    def __getattr__(self, name: str) -> Any:
        def send(*names: str, **arguments: Any) -> Any:
            self.threads.add(threading.get_ident())
            with self._turn:
                return getattr(self._engine, name)(*names, **arguments)

        return send


def work(partitions: int) -> set[int]:
    """Create a page and sweep as many lost leases; return the threads that sent a request."""
    clock = FakeClock()
    client = Watched(Engine(clock.now))
    store = DynamoDBStore(DynamoDBOptions(table_name="coordination"), clock, client=lambda _: client)
    store.setup()
    bench = Workbench(store, clock)
    bench.create(*(f"k{number}" for number in range(partitions)))
    held = [bench.renew(bench.acquire()) for _ in range(partitions)]
    clock.advance(60 * MINUTE)
    assert store.sweep(Sweep(source=bench.source, op=bench.op(), limit=100, max_lost_leases=5)).reclaimed == len(held)
    store.close()
    return client.threads


def test_one_request_at_a_time_stays_in_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "PARALLEL", 1)
    assert work(20) == {threading.get_ident()}


def test_one_partition_needs_no_other_thread() -> None:
    assert work(1) == {threading.get_ident()}


def test_otherwise_some_are_under_way_at_a_time() -> None:
    assert len(work(20)) > 1
