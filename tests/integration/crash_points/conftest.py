"""The stores, each opened for processes that end at a call; on DynamoDB, at a request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest

from airflow_coordination.leases.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.stores.dynamodb import DynamoDBOptions
from airflow_coordination.stores.dynamodb.client import make_client
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from tests.integration.crash_points.scenes import Opens, by_calls, by_requests
from tests.integration.dynamodb.engine import REGION, Engine


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


@pytest.fixture
def dynamodb(dynamodb_local: str, clock: FakeClock) -> Iterator[Opens]:
    """Open a store in DynamoDB Local."""
    table = f"test-{uuid4().hex}"
    with closing(make_client(DynamoDBOptions(table_name=table, region=REGION, endpoint_url=dynamodb_local))) as client:
        engine = Engine(dynamodb_local, client)
        engine.store(table, clock).setup()
        yield by_requests(engine, table, clock)
        engine.delete(table)
