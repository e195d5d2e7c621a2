"""A whole source, from files to published tables: every monthly file of flights becomes a partition.

``create_partitions`` lists the files that are new, ``ready`` waits until some can be worked on, and each instance of
``process`` runs one Spark application that works on one month after the other, always under a lease. A month that
closed itself, because it may still grow, is taken up again as soon as it reopens.

It reads the files below the Airflow variable ``flights_data`` (by default ``data/flights`` beside the DAGs folder; in
an object store for example ``s3a://aws_default@bucket/flights``, with the Airflow connection before the ``@``) and
publishes below ``[coordination] output_root``. ``make demo`` runs it.
"""

from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG, ObjectStoragePath, Variable

from airflow_coordination import Checkpoint, PartitionIdentifier
from airflow_coordination.operators.create_partitions import CreatePartitionsOperator
from airflow_coordination.operators.spark_submit import LeasedSparkSubmitOperator
from airflow_coordination.sensors.partitions import PartitionsSensor

DAGS = Path(__file__).resolve().parent
JOB = {"source": "flights", "application": str(DAGS / "flights_job.py"), "conn_id": "spark_default"}


def monthly_files(state):
    """Yield the files that are newer than the last one seen, then remember the new last one."""
    folder = ObjectStoragePath(Variable.get("flights_data", default=str(DAGS.parent / "data" / "flights")))
    if not folder.is_dir():
        raise FileNotFoundError(
            f"There is no folder {folder}: set the Airflow variable flights_data to one with the files"
        )
    files = [path for path in sorted(folder.glob("????-??.csv")) if path.stem > state.get("last", "")]
    for path in files:
        yield PartitionIdentifier(path.stem, payload={"path": for_spark(path), "newest": path == files[-1]})
    if files:
        yield Checkpoint({"last": files[-1].stem})


def for_spark(path):
    """Return a path as Spark opens it, which knows nothing of Airflow's connections."""
    return f"{path.protocol}://{path.path}" if path.protocol else path.path


with DAG(
    "flights",
    schedule="@hourly",
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": timedelta(seconds=10)},
    doc_md=__doc__,
):
    create = CreatePartitionsOperator(task_id="create_partitions", source="flights", supplier=monthly_files)

    # Two Spark applications share the months: starting one takes longer than working on a month does.
    ready = PartitionsSensor(task_id="ready", source="flights", max_hints=2)
    process = LeasedSparkSubmitOperator.partial(task_id="process", max_leases=12, **JOB).expand(hint=ready.output)

    # What closed itself meanwhile: one application for each month that reopens; skipped when there is none.
    reopened = PartitionsSensor(task_id="reopened", source="flights")
    again = LeasedSparkSubmitOperator.partial(task_id="process_reopened", **JOB).expand(hint=reopened.output)

    finished = PartitionsSensor(
        task_id="finished", source="flights", until="completed", trigger_rule="none_failed", poke_interval=5
    )
    create >> ready
    process >> reopened
    again >> finished
