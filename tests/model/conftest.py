"""The stores that traces are played on."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_coordination.stores.dynamodb import DynamoDBOptions
from airflow_coordination.stores.dynamodb.client import make_client
from airflow_coordination.testing.clock import FakeClock
from tests.model.stores import StoreSetup, dynamodb, in_memory, sql
from tests.simulation.dynamodb.engine import Engine


@pytest.fixture(scope="module")
def dynamodb_client(dynamodb_local: str) -> object:
    return make_client(DynamoDBOptions(table_name="any", region="us-east-1", endpoint_url=dynamodb_local))


@pytest.fixture(
    params=[
        "in_memory",
        "sqlite",
        "simulated-dynamodb",
        pytest.param("postgresql", marks=[pytest.mark.postgres, pytest.mark.slow]),
        pytest.param("dynamodb", marks=[pytest.mark.dynamodb, pytest.mark.slow]),
    ]
)
def setup(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreSetup]:
    """A real store, its clock, and how partitions vanish from it."""
    clock, asked = FakeClock(), request.getfixturevalue
    if request.param == "in_memory":
        made = in_memory(clock)
    elif request.param == "sqlite":
        made = sql(f"sqlite:///{shutil.copy(asked('empty_sqlite'), tmp_path / 'store.db')}", clock)
    elif request.param == "simulated-dynamodb":
        made = dynamodb(Engine(clock.now), clock)
    elif request.param == "postgresql":
        made = sql(asked("postgres_store_url"), clock)
    else:
        made = dynamodb(asked("dynamodb_client"), clock, endpoint_url=asked("dynamodb_local"))
    made[0].setup()
    yield made
    made[0].close()
