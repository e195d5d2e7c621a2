"""The sources of a store."""

import pytest

from airflow_coordination.leases import PartitionStatus, SourceCoordinator
from airflow_coordination.monitoring.summaries import sources
from airflow_coordination.stores import open_store


@pytest.fixture
def store():
    return open_store("memory://")


def make(store, source, prefix=None, dags=()):
    coordinator = SourceCoordinator(store, source, "test", prefix, max_failures=1)
    coordinator.create_partitions(["a", "b", "c"])
    for dag in dags:
        coordinator.supplying.register_dag(dag)
    return coordinator


def test_an_empty_store_has_none(store):
    assert list(sources(store)) == []


def test_each_by_name_with_its_numbers_and_dags(store):
    flights = make(store, "flights", dags=["b", "a"])
    make(store, "air|port", "eu")
    flights.complete(flights.get_next_partition())
    flights.fail(flights.get_next_partition(), "boom")
    airport, found = sources(store)
    assert (airport.identifier, airport.name, airport.prefix) == ("eu|air%7Cport|PARTITION", "air|port", "eu")
    assert (airport.dags, airport.total, airport.outlook.claimable) == ((), 3, 3)
    assert (found.name, found.prefix, found.dags, found.total) == ("flights", None, ("a", "b"), 3)
    assert found.counts[PartitionStatus.COMPLETED] == 1
    assert (found.outlook.parked, found.outlook.claimable) == (1, 1)


def test_only_the_named_are_looked_at(store, monkeypatch):
    make(store, "flights")
    make(store, "sales")
    counted = []
    counts = store.counts
    monkeypatch.setattr(store, "counts", lambda source: (counted.append(source), counts(source))[1])
    assert [each.name for each in sources(store, {"sales|PARTITION"})] == ["sales"]
    assert counted == ["sales|PARTITION"]
