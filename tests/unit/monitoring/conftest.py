"""A store whose clock moves only when a test says so, and a source whose partitions have failed for two reasons."""

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.stores import open_store
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock

KEYS = [f"2014-{number:02}" for number in range(1, 13)]


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite"])
def clocked(request, clock, tmp_path):
    store = open_store({"memory": "memory://", "sqlite": f"sqlite:///{tmp_path}/c.db"}[request.param], clock=clock)
    store.setup()
    yield store
    store.close()


@pytest.fixture
def parked():
    """Twelve months, of which every other one lacked memory; all are parked."""
    flights = SourceCoordinator(InMemoryStore(), "flights", "test", max_failures=1)
    flights.create_partitions(KEYS)
    for number, key in enumerate(KEYS):
        flights.fail(flights.acquire_partition(key), "OutOfMemory in stage 3" if number % 2 else "no such file")
    return flights
