"""Who works on a source, as its store shows it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.spark.balance import look_at
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock


def test_small_x9_an_expired_lease_is_held_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is free, and counted once: a worker that is stuck must not look as if it had its share."""
    monkeypatch.setattr("airflow_coordination.leases.workers.Heartbeat.__enter__", lambda self: self)
    clock = FakeClock()
    store = InMemoryStore(clock=clock)
    store.setup()
    one = SourceCoordinator(store, "flights", "one", ownership_timeout=timedelta(minutes=1))
    one.create_partitions(["a", "b"])
    one.acquire_partition("a")
    clock.advance(timedelta(seconds=61).total_seconds())
    one.workers.join(4)
    one.acquire_partition("b")
    fleet = look_at(one)
    assert (fleet.held, len(fleet.free), fleet.shares) == ({"one": 1}, 1, {"one": 2})
