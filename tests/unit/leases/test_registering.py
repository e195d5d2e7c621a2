"""Which DAGs a source belongs to."""

from __future__ import annotations

import pytest

from airflow_coordination.leases import PartitionUpdateError, SourceCoordinator
from airflow_coordination.stores import open_store


@pytest.fixture
def flights():
    return SourceCoordinator(open_store("memory://"), "flights", "test")


def facts(coordinator):
    [(_, found)] = coordinator.store.sources()
    return found


def test_a_source_belongs_to_every_dag_that_has_made_its_partitions(flights):
    flights.supplying.register_dag("hourly")
    flights.supplying.register_dag("backfill")
    flights.supplying.register_dag("hourly")
    assert facts(flights) == {"dag_id": "hourly", "dag_ids": ["backfill", "hourly"]}


def test_what_older_code_has_registered_stays(flights):
    flights.supplying.register(dag_id="old", note="kept")
    flights.supplying.register_dag("new")
    assert facts(flights) == {"dag_id": "new", "dag_ids": ["new", "old"], "note": "kept"}


def test_creating_partitions_hides_no_dag(flights):
    flights.supplying.register_dag("hourly")
    SourceCoordinator(flights.store, "flights", "driver").create_partitions(["a"])
    assert facts(flights)["dag_ids"] == ["hourly"]


@pytest.mark.parametrize("damaged", [None, "hourly", 7, {"a": 1}])
def test_facts_that_are_no_list_are_written_anew(flights, damaged):
    flights.supplying.register(dag_ids=damaged)
    flights.supplying.register_dag("hourly")
    assert facts(flights)["dag_ids"] == ["hourly"]


def test_small_x4_a_worker_of_one_source_need_not_write_the_list_of_all(flights, monkeypatch):
    """Its policy does not let it, because the list says whose a source is; what is known already is no work."""
    flights.supplying.register_dag("hourly")
    flights.supplying.register_dag("backfill")
    denied = PartitionUpdateError("register the source", "", "the table denies it")
    monkeypatch.setattr(flights.store, "register", lambda *_: (_ for _ in ()).throw(denied))
    flights.supplying.register_dag("backfill")
    flights.supplying.register_dag("hourly")
    with pytest.raises(PartitionUpdateError):
        flights.supplying.register_dag("foreign")
