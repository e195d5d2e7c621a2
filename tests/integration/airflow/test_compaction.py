"""PlanCompactionOperator inside Airflow."""

from __future__ import annotations

import pytest

from airflow_coordination.compaction import CompactionConfig, CompactionSlots
from airflow_coordination.duties.compaction.planner import COMPACT
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.stores import open_store
from airflow_coordination.values.names import DUTIES
from tests.unit.duties.compaction.made import publish, work
from tests.upkeep import SOURCE, Dataset

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
CONFIG = CompactionConfig(
    "clean", granularity="MONTH", skip_offset_from_latest="P0D", target_file_size="256MiB", interval_from_key="%Y-%m-%d"
)


@pytest.fixture
def data(store_url, tmp_path):
    found = Dataset(open_store(store_url), tmp_path / "output")
    publish(found, "2013-01-03", "2013-01-04", "2013-02-01")
    return found


def planned(run_dag, name):
    from airflow.sdk import DAG

    from airflow_coordination.operators import PlanCompactionOperator

    with DAG(name, schedule=None, default_args={"source": "~merged/flights"}) as dag:
        PlanCompactionOperator(task_id="plan", of=SOURCE, configs=[CONFIG], slots=CompactionSlots(max_slots=4))
    [ti] = run_dag(dag).get_task_instances()
    return ti.state, ti.xcom_pull(task_ids="plan")


def test_groups_are_claimable_after_it_and_nothing_is_done_twice(run_dag, data) -> None:
    state, pushed = planned(run_dag, "upkeep")
    assert state == "success"
    assert [key.split("|")[2] for key in pushed["begun"]] == ["2013-02-01T00:00:00Z", "2013-01-01T00:00:00Z"]
    assert (pushed["under_way"], pushed["waiting"], pushed["failed"]) == (0, 0, [])
    facts = dict(data.store.sources())["~merged/flights|PARTITION"]
    assert facts["dag_ids"] == ["upkeep"]
    assert len(work(data)) == 2
    assert planned(run_dag, "upkeep")[1]["percent"] == {"clean": 100.0}
    assert planned(run_dag, "upkeep")[1]["begun"] == []


def test_while_somebody_else_plans_it_says_so_and_succeeds(run_dag, data) -> None:
    other = SourceCoordinator(data.store, DUTIES, "somebody else")
    other.create_partitions([f"{COMPACT}|{SOURCE}"])
    other.acquire_partition(f"{COMPACT}|{SOURCE}")
    state, pushed = planned(run_dag, "rival")
    assert (state, pushed["rival"], pushed["begun"]) == ("success", "somebody else", [])
