"""The examples that wait and wake, run on the store that serves without any set-up."""

from __future__ import annotations

import pytest

from tests.house.tree import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.fixture
def run(run_dag, monkeypatch):
    """Run a DAG of an example's file; return its run."""
    from airflow.dag_processing.dagbag import DagBag

    spark = '{"conn_type": "spark", "host": "local[1]", "extra": {"deploy-mode": "client"}}'
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", spark)
    monkeypatch.delenv("AIRFLOW_CONN_COORDINATION_DEFAULT", raising=False)

    def run_example(file, dag_id):
        bag = DagBag(ROOT / "dags" / file)
        assert bag.import_errors == {}
        return run_dag(bag.dags[dag_id])

    return run_example


def states(run):
    return {ti.task_id: ti.state for ti in run.get_task_instances()}


def source(name):
    from airflow_coordination.hooks.coordination import CoordinationHook

    return CoordinationHook().coordinator(name, "test")


def test_wake_on_claimable(run):
    """A run works on everything; one that comes too late is skipped instead of waiting."""
    assert states(run("wake_on_claimable.py", "meters_arrive")) == {"create_partitions": "success"}
    worked = {"ready": "success", "process": "success", "none_parked": "skipped"}  # all wait for their time again
    assert states(run("wake_on_claimable.py", "wake_on_claimable")) == worked
    worked_on = source("meters").partitions()
    assert {each.key: (each.closed_count, each.progress_state) for each in worked_on} == {
        key: (1, {"readings": 24}) for key in ("delhi", "lima", "oslo")
    }
    assert states(run("wake_on_claimable.py", "wake_on_claimable")) == dict.fromkeys(worked, "skipped")


@pytest.mark.long
def test_standing_source(run):
    """Its asset event names the partitions it worked on; the report has them from there."""
    from airflow.models.asset import AssetEvent
    from airflow.utils.session import create_session
    from sqlalchemy import select

    done = run("standing_source.py", "standing_source")
    assert states(done) == dict.fromkeys(["create_partitions", "ready", "process"], "success") | {
        "none_parked": "skipped"
    }
    with create_session() as session:
        [event] = session.scalars(select(AssetEvent).where(AssetEvent.source_run_id == done.run_id))
        assert event.asset.name == "readings"
        assert event.extra["partitions"] == ["north", "south"]


@pytest.mark.long
def test_z10_one_lease_each(run):
    """Z10: no example had one mapped Spark task for each partition, which is the plain way."""
    done = run("one_lease_each.py", "one_lease_each")
    instances = sorted((ti.task_id, ti.map_index, ti.state) for ti in done.get_task_instances())
    assert instances == [
        ("create_partitions", -1, "success"),
        ("none_parked", -1, "skipped"),
        ("process", 0, "success"),
        ("process", 1, "success"),
        ("ready", -1, "success"),
    ]
    worked_on = source("sensors").partitions()
    assert {each.key: (each.closed_count, each.progress_state) for each in worked_on} == {
        key: (1, {"readings": 24}) for key in ("east", "west")
    }
