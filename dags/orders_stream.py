"""Streams of Kinesis, read shard by shard, each record once.

``discover`` gives every shard of the streams a partition; a shard that was split or merged is read to its end before
its children are begun. ``read`` reads what is there, and publishes it; the next run goes on behind it.

The streams are those that the Airflow variable ``orders_streams`` names, with commas between them (by default
``orders,returns``). Kinesis is reached with boto3's own settings: another address goes into the environment, as
``AWS_ENDPOINT_URL_KINESIS``.
"""

from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG, Variable

from airflow_coordination.operators.create_partitions import CreatePartitionsOperator
from airflow_coordination.operators.spark_submit import LeasedSparkSubmitOperator
from airflow_coordination.sensors.partitions import PartitionsSensor
from airflow_coordination.sources import KinesisShards

DAGS = Path(__file__).resolve().parent


def streams():
    """Return the names of the streams to read."""
    return [name.strip() for name in Variable.get("orders_streams", default="orders,returns").split(",")]


with DAG(
    "orders_stream",
    schedule="*/10 * * * *",
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": timedelta(seconds=10)},
    doc_md=__doc__,
):
    discover = CreatePartitionsOperator(
        task_id="discover",
        source="orders",
        supplier=KinesisShards(streams=streams, initial_position="TRIM_HORIZON"),
        clean_after=timedelta(days=1),  # of shards that were read to their end, and whose children have begun
    )
    ready = PartitionsSensor(task_id="ready", source="orders", max_hints=2)  # so many drivers read side by side
    read = LeasedSparkSubmitOperator.partial(
        task_id="read",
        source="orders",
        application=str(DAGS / "orders_job.py"),
        conn_id="spark_default",
        max_leases=None,
        max_runtime=timedelta(minutes=9),
    ).expand(hint=ready.output)
    # A stream is never completed; this fails when a shard is parked.
    none_parked = PartitionsSensor(
        task_id="none_parked", source="orders", until="completed", wait=False, trigger_rule="none_failed"
    )
    discover >> ready
    read >> none_parked
