"""The stores, each opened for processes that end at a call; on SQL at a statement, on DynamoDB at a request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from airflow_coordination.stores import open_store
from airflow_coordination.stores.dynamodb import DynamoDBOptions, DynamoDBStore, requests
from airflow_coordination.stores.dynamodb.client import make_client
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from tests.integration.crash_points.killable import Opens, by_calls, by_requests, by_statements
from tests.integration.dynamodb.engine import Engine
from tests.simulation.dynamodb.engine import Engine as SimulatedEngine


@pytest.fixture
def clock() -> FakeClock:
    """The time of all processes and of the store."""
    return FakeClock()


@pytest.fixture
def in_memory(clock: FakeClock) -> Opens:
    """Open a store in this process."""
    return by_calls(InMemoryStore(clock=clock))


@pytest.fixture
def sqlite(tmp_path: Path, clock: FakeClock) -> Opens:
    """Open a store in a file."""
    return _on_sql(f"sqlite:///{tmp_path}/store.db", clock)


@pytest.fixture
def postgresql(postgres_store_url: str, clock: FakeClock) -> Opens:
    """Open a store on a server."""
    return _on_sql(postgres_store_url, clock)


def _on_sql(url: str, clock: FakeClock) -> Opens:
    store = open_store(url, clock=clock)
    store.setup()
    store.close()
    return by_statements(url, clock)


@pytest.fixture
def dynamodb(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Opens:
    """Open a store on the engine in this process, one request after the other."""
    monkeypatch.setattr(requests, "PARALLEL", 1)
    return _on_dynamodb(DynamoDBOptions(table_name="any", billing_mode="on_demand"), SimulatedEngine(clock.now), clock)


@pytest.fixture
def dynamodb_itself(dynamodb_local: str, clock: FakeClock) -> Iterator[Opens]:
    """Open a store in DynamoDB Local."""
    table = f"test-{uuid4().hex}"
    options = Engine(dynamodb_local, None).options(table)
    with closing(make_client(options)) as client:
        yield _on_dynamodb(options, client, clock)
        Engine(dynamodb_local, client).delete(table)


def _on_dynamodb(options: DynamoDBOptions, client: Any, clock: FakeClock) -> Opens:
    DynamoDBStore(options, clock, lambda _: client).setup()
    return by_requests(options, client, clock)
