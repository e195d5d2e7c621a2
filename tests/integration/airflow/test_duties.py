"""Groups of duties inside Airflow: a DAG for each, and what its task says and leaves."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.duties.configuring import set_config
from airflow_coordination.duties.groups.running import GroupRunner
from airflow_coordination.duties.retention.ruled import set_rules
from airflow_coordination.group_duties import Ran, Round
from airflow_coordination.stores import open_store
from tests.backfills import Month
from tests.upkeep import DATASET

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
WHO = ("ana", "why")
MANAGEMENT = "HistoricalManagementDuties"
AT_ONCE = {"druid.coordinator.startDelay": "PT0S"}
HIDE_ONE = '[{"type": "dropByInterval", "interval": "2013-01-01/P1D"}, {"type": "loadForever"}]'
OWN = {
    "druid.coordinator.startDelay": "PT0S",
    "druid.coordinator.dutyGroups": ["mine"],
    "druid.coordinator.mine.duties": ["greets", "counts"],
    "druid.coordinator.mine.period": "PT10M",
    "druid.coordinator.mine.duty.greets.whom": "you",
}


class Greets:
    """A duty of a user's own."""

    name = "greets"

    def __init__(self, does: Callable[[Round], Ran]) -> None:
        self.run = does


class Counts(Greets):
    """Another one."""

    name = "counts"


@pytest.fixture
def month(store_url: str, tmp_path: Path) -> Month:
    found = Month(open_store(store_url), tmp_path / "output")
    found.c.supplying.register_dag("ingest")
    found.filled(1, 2, 3)
    return found


def outcome(run: Any) -> tuple[str, dict[str, Any]]:
    """Return the state of the one task of a run, and what it has pushed."""
    [ti] = run.get_task_instances()
    return ti.state, ti.xcom_pull(task_ids=ti.task_id) or {}


def test_a_dag_for_each_group_with_its_period_and_one_run_at_a_time(store_url):
    from airflow_coordination.operators.duties import duty_dags

    found = duty_dags(properties=OWN, duties=[each(lambda _: Ran(said="hello")) for each in (Greets, Counts)])
    assert f"coordination__{MANAGEMENT}" in found
    dag = found["coordination__mine"]
    assert (dag.schedule, dag.catchup, dag.max_active_runs) == (timedelta(minutes=10), False, 1)
    assert dag.task_ids == ["mine"]


def test_rules_are_applied_by_their_dag_and_its_second_run_is_not_due(run_dag, month):
    from airflow_coordination.operators.duties import duty_dags

    set_rules(
        month.c, DATASET, '[{"type": "dropByInterval", "interval": "2013-01-01/P1D"}, {"type": "loadForever"}]', *WHO
    )
    dag = duty_dags("first", properties=AT_ONCE)[f"first__{MANAGEMENT}"]
    state, said = outcome(run_dag(dag))
    assert state == "success"
    assert said["duties"]["runRules"]["counts"]["segment/hidden/count"] == 1
    assert set(month.read()) == {"2013-01-02 old", "2013-01-03 old"}
    state, said = outcome(run_dag(dag))
    assert (state, said["ran"]) == ("success", False)
    assert said["waits_until"]


def test_a_duty_that_raises_makes_the_task_red_when_the_others_have_run(run_dag, month):
    from airflow_coordination.operators.duties import duty_dags

    def raises(round: Round) -> Ran:
        raise ValueError(f"no greeting for {round.arguments['whom']}")

    ran: list[Round] = []

    def counts(round: Round) -> Ran:
        ran.append(round)
        return Ran(said="counted")

    dags = duty_dags("second", properties=OWN, duties=[Greets(raises), Counts(counts)])
    state, _ = outcome(run_dag(dags["second__mine"]))
    assert state == "failed"
    assert len(ran) == 1
    [(_, group)] = GroupRunner(month.store, "a test").states().values()
    assert group.of("greets").error == "ValueError: no greeting for you"
    assert group.of("counts").said == "counted"


@pytest.mark.long
def test_while_another_scheduler_leads_the_task_says_who_and_succeeds(run_dag, month):
    from airflow.sdk import DAG

    from airflow_coordination.operators.duties import RunDutiesOperator

    other = GroupRunner(month.store, "the other one").duties
    other.create_partitions([f"group|{MANAGEMENT}"])
    other.acquire_partition(f"group|{MANAGEMENT}")
    with DAG("rival", schedule=None) as dag:
        RunDutiesOperator(task_id="run", group=MANAGEMENT, properties=AT_ONCE)
    state, said = outcome(run_dag(dag))
    assert (state, said["ran"], said["rival"]) == ("success", False, "the other one")


@pytest.mark.long
def test_a_pause_of_all_duties_is_said_and_succeeds(run_dag, month):
    from airflow_coordination.operators.duties import duty_dags

    set_config(month.c, {"pauseCoordination": True}, *WHO)
    dag = duty_dags("paused", properties=AT_ONCE)[f"paused__{MANAGEMENT}"]
    state, said = outcome(run_dag(dag))
    assert (state, said["paused"], said["ran"]) == ("success", True, False)


@pytest.mark.long
def test_a_group_that_there_is_not_is_named_with_its_nearest(run_dag, store_url):
    from airflow.sdk import DAG

    from airflow_coordination.operators.duties import RunDutiesOperator

    with DAG("mistyped", schedule=None) as dag:
        RunDutiesOperator(task_id="run", group="HistoricalManagementDutys", properties=AT_ONCE)
    state, _ = outcome(run_dag(dag))
    assert state == "failed"
