"""The thin slice in real Airflow and real Spark: create, wait, process every partition, on SQLite."""

import textwrap

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.long]

JOB = """
    from airflow_coordination.spark import Complete, partition_application

    @partition_application
    def main(spark, lease):
        with lease.publish("squares") as block:
            spark.range(10).selectExpr(f"id + {lease.partition.payload['from']} as n").write.parquet(block.path)
        return Complete()
"""


def supplier(state):
    state["last"] = 2
    from airflow_coordination.leases import PartitionIdentifier

    return [PartitionIdentifier(f"part-{i}", payload={"from": 10 * i}) for i in range(2)]


@pytest.mark.timeout(600)
def test_partitions_go_from_supplier_to_published_rows(tmp_path, store_url, run_dag):
    from airflow.sdk import DAG

    from airflow_coordination.leases import PartitionStatus, SourceCoordinator
    from airflow_coordination.operators import CreatePartitionsOperator, LeasedSparkSubmitOperator
    from airflow_coordination.sensors import PartitionsSensor
    from airflow_coordination.stores import open_store

    job = tmp_path / "job.py"
    job.write_text(textwrap.dedent(JOB))
    with DAG("slice", schedule=None) as dag:
        create = CreatePartitionsOperator(task_id="create", source="numbers", supplier=supplier)
        ready = PartitionsSensor(task_id="ready", source="numbers")
        process = LeasedSparkSubmitOperator.partial(
            task_id="process",
            source="numbers",
            application=str(job),
            conn_id="spark_local",
            output_root=str(tmp_path / "out"),
            conf={"spark.ui.enabled": "false"},
        ).expand(hint=ready.output)
        done = PartitionsSensor(task_id="done", source="numbers", until="completed", trigger_rule="none_failed")
        create >> ready
        process >> done

    run = run_dag(dag)

    states = {(ti.task_id, ti.map_index): ti.state for ti in run.get_task_instances()}
    assert set(states.values()) == {"success"}, states
    coordinator = SourceCoordinator(open_store(store_url), source="numbers", owner="test")
    assert coordinator.counts()[PartitionStatus.COMPLETED] == 2
    labels = {ti.map_index: ti.rendered_map_index for ti in run.get_task_instances() if ti.task_id == "process"}
    assert labels == {0: "part-0: 10 rows", 1: "part-1: 10 rows"}
