"""What ``read_completed`` says to somebody who has misspelt a name."""

from __future__ import annotations

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.outputs import Block, OutputError
from airflow_coordination.spark import read_completed
from airflow_coordination.stores import open_store


@pytest.mark.parametrize(
    ("source", "dataset", "question"),
    [
        ("flights", "claen", "Did you mean the dataset 'clean'?"),
        ("fligths", "clean", "Did you mean the source 'flights'?"),
    ],
)
def test_a10_it_asks_whether_the_nearest_name_was_meant(source, dataset, question):
    """A10."""
    store = open_store("memory://")
    flights = SourceCoordinator(store, "flights", "test")
    flights.create_partitions(["a"])
    flights.complete(flights.get_next_partition(), blocks=[Block("clean", "file:///out/m.json", "0" * 64, 1, 1)])
    with pytest.raises(OutputError) as told:
        read_completed(None, store=store, source=source, dataset=dataset)
    assert question in str(told.value)
    flights.people.retract("a", by="ana", why="wrong tariff")
    with pytest.raises(OutputError, match=r"has no published output of it \(published datasets: none\)") as told:
        read_completed(None, store=store, source="flights", dataset="clean")
    assert "Did you mean" not in str(told.value)
