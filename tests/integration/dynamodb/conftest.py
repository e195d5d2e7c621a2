"""The engines with a client each, and a table of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from uuid import uuid4

import pytest

from airflow_coordination.stores.dynamodb import DynamoDBStore
from airflow_coordination.testing.clock import FakeClock
from tests.integration.dynamodb.engine import Engine, patient_client
from tests.integration.dynamodb.table import SharedTable

TWO_ENGINES = [pytest.param("local", marks=pytest.mark.dynamodb), pytest.param("moto", marks=pytest.mark.long)]


def _engine(endpoint: str) -> Iterator[Engine]:
    with closing(patient_client(endpoint)) as client:
        yield Engine(endpoint, client)


@pytest.fixture(scope="session")
def local(dynamodb_local: str) -> Iterator[Engine]:
    """DynamoDB Local alone."""
    yield from _engine(dynamodb_local)


@pytest.fixture(scope="session")
def moto(moto_server: str) -> Iterator[Engine]:
    """Moto alone."""
    yield from _engine(moto_server)


@pytest.fixture(params=TWO_ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    """DynamoDB Local, then moto."""
    engine: Engine = request.getfixturevalue(request.param)
    return engine


@pytest.fixture
def table() -> str:
    """Name of a table that nobody has made yet."""
    return f"test-{uuid4().hex}"


@pytest.fixture
def local_table(local: Engine, table: str) -> Iterator[str]:
    """Name of a table that the test makes in DynamoDB Local."""
    yield table
    local.delete(table)


@pytest.fixture
def store(engine: Engine, table: str) -> Iterator[DynamoDBStore]:
    """A store that is set up in a new table, on each engine."""
    yield from _set_up(engine, table)


@pytest.fixture
def local_store(local: Engine, table: str) -> Iterator[DynamoDBStore]:
    """A store that is set up in a new table of DynamoDB Local."""
    yield from _set_up(local, table)


def _set_up(engine: Engine, table: str) -> Iterator[DynamoDBStore]:
    store = engine.store(table)
    store.setup()
    yield store
    store.close()
    engine.delete(table)


@pytest.fixture
def clock() -> FakeClock:
    """The time that a test moves."""
    return FakeClock()


@pytest.fixture
def shared(local: Engine, table: str, clock: FakeClock) -> SharedTable:
    """A new table of DynamoDB Local for several owners, in the test's time."""
    return SharedTable(local, table, clock)
