"""Suppliers on a store, killed at every call (promise S11)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.leases import Checkpoint, SourceCoordinator, Supplier
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.sources import object_listing
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.systems.objects import scan
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import Crash, Fault, FaultyStore
from tests.unit.systems.storage import Storage

ROOT = Path(__file__).resolve().parents[3]
GROUPED = {"max_objects": 3}


def coordinator(store: PartitionStore, clock: FakeClock, owner: str = "host/dag/run/task/0/1") -> SourceCoordinator:
    return SourceCoordinator(store, "objects", owner, clock=clock)


def partitions(c: SourceCoordinator) -> dict[str, dict[str, Any]]:
    return {partition.key: partition.payload for partition in c.partitions()}


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> Storage:
    """Twenty objects, with a checkpoint every four, or every two groups."""
    monkeypatch.setattr(scan, "LISTED_PER_CHECKPOINT", 4)
    monkeypatch.setattr(scan, "GROUPS_PER_CHECKPOINT", 2)
    storage = Storage()
    for number in range(20):
        storage.put(f"{number:02}")
    storage.clock.advance(timedelta(hours=1))
    return storage


@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER], ids=["before", "after"])
@pytest.mark.parametrize("grouping", [{}, GROUPED], ids=["alone", "groups"])
def test_s11_killed_at_every_single_store_call(storage: Storage, fault: Fault, grouping: dict[str, int]) -> None:
    supplier: Supplier = object_listing(storage, scan="once", **grouping)  # type: ignore[arg-type]
    undisturbed = FaultyStore(InMemoryStore(clock=storage.clock))
    coordinator(undisturbed, storage.clock).run_supplier(supplier)
    expected = partitions(coordinator(undisturbed.store, storage.clock))
    assert len(expected) == (7 if grouping else 20)
    assert len(undisturbed.calls) > 10
    for call in range(1, len(undisturbed.calls) + 1):
        store = FaultyStore(InMemoryStore(clock=storage.clock), {call: fault})
        with pytest.raises(Crash):
            coordinator(store, storage.clock).run_supplier(supplier)
        storage.clock.advance(timedelta(minutes=11))
        survivor = coordinator(store.store, storage.clock, "other")
        assert survivor.run_supplier(supplier).ran
        assert partitions(survivor) == expected, f"after a crash at call {call}"
        assert survivor.supplying.global_state()["SCAN_COUNT"] == 1


@pytest.mark.parametrize("grouping", [{}, GROUPED], ids=["alone", "groups"])
def test_a_supplier_that_was_replaced_creates_nothing_of_its_own(storage: Storage, grouping: dict[str, int]) -> None:
    """A zombie that goes on with an older listing: its next plan is refused before any of its groups exists."""
    store = InMemoryStore(clock=storage.clock)
    zombie = object_listing(storage, scan="once", **grouping)({})  # type: ignore[arg-type]
    seen = [next(zombie) for _ in range(4)]
    del storage.objects_by_key["15"]
    c = coordinator(store, storage.clock)
    c.run_supplier(object_listing(storage, scan="once", **grouping))  # type: ignore[arg-type]
    before = set(partitions(c))
    c.create_partitions([item for item in seen if not isinstance(item, Checkpoint)])
    assert set(partitions(c)) == before
