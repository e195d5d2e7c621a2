"""``reset --run`` in a real Airflow: the run is in its database, and a task of it takes the partition first."""

from __future__ import annotations

import pytest

from airflow_coordination.hooks.runs import AirflowRuns
from airflow_coordination.leases import PartitionStatus, SourceCoordinator
from airflow_coordination.stores import open_store
from airflow_coordination.values.asking import asking_for
from airflow_coordination.values.input_errors import SettingsError
from tests.integration.airflow.setup import store_dag

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_a_task_of_a_run_that_was_triggered_for_a_partition_takes_it_first(process, store_url):
    flights = SourceCoordinator(open_store(store_url), "flights", "test")
    flights.create_partitions(["a", "b", "c"])
    ti = process("print('hello')", complete_on_success=True, run_conf=asking_for("flights|PARTITION", "b"))
    assert (ti.state, ti.rendered_map_index) == ("success", "b")
    assert flights.partition("b").status is PartitionStatus.COMPLETED
    assert flights.partition("a").status is PartitionStatus.UNASSIGNED


def test_a_dag_that_is_not_there_is_named():
    with pytest.raises(SettingsError, match="is no DAG of this Airflow"):
        AirflowRuns().is_paused("no such dag")


def test_a_run_is_triggered_with_what_it_is_for_and_in_whose_name():
    from airflow.models import DagRun
    from airflow.sdk import DAG
    from airflow.utils.session import create_session

    with DAG("again", schedule=None) as dag:
        pass
    store_dag(dag)
    conf = asking_for("flights|PARTITION", "b")
    found = AirflowRuns().trigger("again", conf, "ana")
    with create_session() as session:
        run = session.query(DagRun).filter(DagRun.run_id == found, DagRun.dag_id == "again").one()
        assert (run.conf, run.triggering_user_name, run.state) == (conf, "ana", "queued")
