"""Files that arrive in a folder, are delivered to several places, and are deleted when all their records are there.

``create_partitions`` makes a partition of every file that is new, and does what drivers that died have left: a file
whose records were delivered is deleted, whoever lives to do it. ``deliver`` reads a file, publishes the flights, writes
those of one carrier as JSON lines beside, and makes dead letters of malformed lines; the file goes only when every
record is accounted for.

It reads the folder that the Airflow variable ``flights_inbox`` names (by default ``data/inbox`` beside the DAGs folder,
or for example ``s3://bucket/inbox``) and publishes below ``[coordination] output_root``.
"""

from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG, Variable

from airflow_coordination.operators.create_partitions import CreatePartitionsOperator
from airflow_coordination.operators.spark_submit import LeasedSparkSubmitOperator
from airflow_coordination.sensors.partitions import PartitionsSensor
from airflow_coordination.sources import object_listing

DAGS = Path(__file__).resolve().parent
EXPORT = DAGS.parent / "data" / "united"


class Inbox:
    """Makes a partition of every CSV file in the inbox that was not there before."""

    @property
    def listing(self):
        """The supplier of the folder, which is known where it runs: parsing this file asks nobody."""
        where = Variable.get("flights_inbox", default=str(DAGS.parent / "data" / "inbox"))
        return object_listing(where, scan=timedelta(0), exclude_suffix=[".part", ".crc"])

    def __call__(self, state):
        """Return the new files."""
        return self.listing(state)

    def supply(self, state, view):
        """Return the new files, and look for what came late by its time of writing."""
        return self.listing.supply(state, view)

    @property
    def follow_up_rights(self):
        """What drivers that died have left may be done: files below the folder are deleted."""
        return self.listing.follow_up_rights


with DAG(
    "deliveries",
    schedule="*/10 * * * *",
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": timedelta(seconds=10)},
    doc_md=__doc__,
):
    create = CreatePartitionsOperator(task_id="create_partitions", source="deliveries", supplier=Inbox())
    ready = PartitionsSensor(task_id="ready", source="deliveries", max_hints=2)
    deliver = LeasedSparkSubmitOperator.partial(
        task_id="deliver",
        source="deliveries",
        application=str(DAGS / "deliveries_job.py"),
        application_args=["{{ var.value.get('flights_export', '" + str(EXPORT) + "') }}"],
        conn_id="spark_default",
        max_leases=None,
    ).expand(hint=ready.output)
    # It fails when a file is parked, because one of its places did not take it.
    delivered = PartitionsSensor(
        task_id="delivered",
        source="deliveries",
        until="completed",
        poke_interval=5,
        trigger_rule="all_done_min_one_success",
    )
    create >> ready
    [create, deliver] >> delivered
