"""A source in memory, whose partitions have failed for two reasons."""

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.stores.in_memory import InMemoryStore

KEYS = [f"2014-{number:02}" for number in range(1, 13)]


@pytest.fixture
def parked():
    """Twelve months, of which every other one lacked memory; all are parked."""
    flights = SourceCoordinator(InMemoryStore(), "flights", "test", max_failures=1)
    flights.create_partitions(KEYS)
    for number, key in enumerate(KEYS):
        flights.fail(flights.acquire_partition(key), "OutOfMemory in stage 3" if number % 2 else "no such file")
    return flights
