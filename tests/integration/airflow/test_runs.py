"""What several runs of one DAG do with standing and with run-scoped sources."""

from datetime import UTC, datetime

import pytest

from airflow_coordination.leases import PartitionStatus, SourceCoordinator

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

DAYS = [datetime(2026, 11, day, tzinfo=UTC) for day in (1, 2)]


@pytest.fixture
def run_on(tmp_path, process, run_dag, store_url):
    """Run a DAG that creates partitions a and b and processes them, for one day; return its task instances by label."""
    from airflow.sdk import DAG

    from airflow_coordination.operators import CreatePartitionsOperator, LeasedSparkSubmitOperator

    job = tmp_path / "job.py"
    job.write_text("")

    def run(source, day):
        with DAG("runs", schedule=None) as dag:
            create = CreatePartitionsOperator(task_id="create", source=source, supplier=lambda state: ["a", "b"])
            work = LeasedSparkSubmitOperator.partial(
                task_id="process", source=source, application=str(job), conn_id="spark_local", complete_on_success=True
            ).expand(hint=["a", "b"])
            create >> work
        found = run_dag(dag, logical_date=day).get_task_instances()
        return sorted(ti.rendered_map_index for ti in found if ti.task_id == "process" and ti.state == "success")

    return run


def completed(store_url, source):
    from airflow_coordination.stores import open_store

    return SourceCoordinator(open_store(store_url), source, "test").counts()[PartitionStatus.COMPLETED]


def test_a_later_run_on_a_standing_source_has_nothing_to_do_again(run_on, store_url):
    assert run_on("flights", DAYS[0]) == ["a", "b"]
    assert run_on("flights", DAYS[1]) == ["nothing to do", "nothing to do"]
    assert completed(store_url, "flights") == 2


@pytest.mark.long
def test_each_run_of_a_backfill_has_partitions_of_its_own_in_a_run_scoped_source(run_on, store_url):
    assert [run_on("flights-{{ ds }}", day) for day in DAYS] == [["a", "b"], ["a", "b"]]
    assert [completed(store_url, f"flights-{day:%Y-%m-%d}") for day in DAYS] == [2, 2]
