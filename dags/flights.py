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
    process = LeasedSparkSubmitOperator.partial(task_id="process", max_leases=None, **JOB).expand(hint=ready.output)

    # What closed itself meanwhile, also when a month has failed; skipped when there is none.
    anyway = {"source": "flights", "trigger_rule": "all_done_min_one_success"}
    reopened = PartitionsSensor(task_id="reopened", max_hints=2, **anyway)
    again = LeasedSparkSubmitOperator.partial(task_id="process_reopened", max_leases=None, **JOB).expand(
        hint=reopened.output
    )

    finished = PartitionsSensor(task_id="finished", until="completed", poke_interval=5, **anyway)
    create >> ready
    [create, process] >> reopened
    [create, again] >> finished
