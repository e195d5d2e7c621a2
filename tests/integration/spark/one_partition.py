"""A source with one partition in a store of its own, and what runs a function on it; a test imports the fixtures."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_coordination.leases import Settings, SourceCoordinator
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.spark import drain
from airflow_coordination.stores import open_store

FAST = Settings(ownership_timeout=timedelta(seconds=10), retry_delay=timedelta(hours=1))


@pytest.fixture
def store() -> PartitionStore:
    return open_store("memory://")


@pytest.fixture
def coordinator(store: PartitionStore) -> SourceCoordinator:
    coordinator = SourceCoordinator(store, source="s", owner="a person", settings=FAST)
    coordinator.create_partitions(["p"])
    return coordinator


@pytest.fixture
def run(spark, store: PartitionStore, coordinator: SourceCoordinator, output_root: str):
    """Run a function on what is claimable, and return what became of it."""

    def run(main, **more: object):
        return drain(main, store=store, source="s", spark=spark, output_root=output_root, settings=FAST, **more)

    return run
