"""A bucket of its own for each test, and a runner that is a real coordinator on a store in memory."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from airflow_coordination.leases import SourceCoordinator, Supplier, SupplierRun
from airflow_coordination.stores.in_memory import InMemoryStore


@pytest.fixture
def s3(moto_server: str) -> Any:
    import boto3

    return boto3.client("s3", endpoint_url=moto_server, region_name="us-east-1")


@pytest.fixture
def bucket(s3: Any) -> Iterator[str]:
    name = f"listing-{uuid.uuid4().hex[:12]}"
    s3.create_bucket(Bucket=name)
    return name


@pytest.fixture
def coordinator() -> SourceCoordinator:
    return SourceCoordinator(InMemoryStore(), "objects", "host/dag/run/task/0/1")


@pytest.fixture
def supplied(coordinator: SourceCoordinator) -> Callable[[Supplier], tuple[SupplierRun, dict[str, dict[str, Any]]]]:
    """Run a supplier; return the run, and every partition's payload by key."""

    def run(supplier: Supplier) -> tuple[SupplierRun, dict[str, dict[str, Any]]]:
        done = coordinator.run_supplier(supplier)
        return done, {partition.key: partition.payload for partition in coordinator.partitions()}

    return run
