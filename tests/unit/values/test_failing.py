"""What is one error to the brake: what it says of one partition alone does not make another of it (B4)."""

from __future__ import annotations

import pytest

from airflow_coordination.delivery.acknowledgment_set import NegativeAcknowledgmentError
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.stores import open_store
from airflow_coordination.systems.objects.storage import OutputError
from airflow_coordination.values.failing import alike
from airflow_coordination.values.names import partition_label

SAID = {
    "a delivery": lambda key: str(NegativeAcknowledgmentError(key, ("sink 't' failed",), "Mend the sink")),
    "an output": lambda key: str(OutputError(f"publish 'd' of {partition_label('s', key)}", "s3://b", "denied", "")),
    "a path": lambda key: f"Path does not exist: s3a://bucket/{key.rpartition('|')[2]}. SQLSTATE: 42K03",
    "long": lambda key: f"cannot read {key!r}: {'x' * 500}",
    "lines": lambda key: f"no table for {key!a}\n{key} again",
}


@pytest.mark.parametrize("said", SAID.values(), ids=SAID)
@pytest.mark.parametrize(
    ("one", "other"), [("bucket|north.csv", "bucket|a/south-west.csv"), ("b|Köln.csv", "b|Ulm.csv")]
)
def test_b4_an_error_that_names_its_partition_is_that_of_all(said, one, other) -> None:
    """B4: each of them began the count anew, and the source was never paused."""
    assert alike(said(one), one) == alike(said(other), other)


def test_b4_other_errors_stay_others() -> None:
    assert alike("KeyError: 'amount'", "north") != alike("KeyError: 'price'", "south")
    assert alike("a table is missing", "a") == alike("a table is missing", "b") == "a table is missing"
    assert alike("cannot read 'a'", "a") == alike("cannot read 'b'", "b") == "cannot read '#'"


def test_b4_a_source_whose_partitions_have_names_is_paused() -> None:
    store = open_store("memory://")
    flights = SourceCoordinator(store, "flights", "me")
    towns = ["Aachen", "Bonn", "Celle", "Dortmund", "Essen", "Fulda", "Gera", "Hof", "Ilmenau", "Jena", "Kiel"]
    flights.create_partitions(towns)
    for _ in range(10):
        lease = flights.get_next_partition()
        flights.fail(lease, f"Not every record of partition {lease.key!a} was delivered: the index is closed")
    assert flights.pausing.current_pause().braked
