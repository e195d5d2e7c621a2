"""The stores, each opened for processes that end at a call; on DynamoDB, at a request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_coordination.leases.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from tests.integration.crash_points.scenes import Opens, by_calls


@pytest.fixture
def clock() -> FakeClock:
    """The time of all processes and of the store."""
    return FakeClock()


def _opened(store: PartitionStore) -> Iterator[Opens]:
    store.setup()
    yield by_calls(store)
    store.close()


@pytest.fixture
def in_memory(clock: FakeClock) -> Iterator[Opens]:
    """Open a store in this process."""
    yield from _opened(InMemoryStore(clock=clock))


@pytest.fixture
def sqlite(tmp_path: Path, clock: FakeClock) -> Iterator[Opens]:
    """Open a store in a file."""
    yield from _opened(open_store(f"sqlite:///{tmp_path}/store.db", clock=clock))


@pytest.fixture
def postgresql(postgres_store_url: str, clock: FakeClock) -> Iterator[Opens]:
    """Open a store on a server."""
    yield from _opened(open_store(postgres_store_url, clock=clock))
