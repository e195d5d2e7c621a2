"""A month computed again aside, looked at, and shown at one instant, while ``dags/flights.py`` goes on beside it.

Trigger it with a month and a reason. ``begin`` lets the partitions of the month run again in a branch: they are
claimable, and ``process`` works on them with the job that always does, or the tasks of another run do. Readers see no
change. ``publish`` looks at the branch first, and refuses it when flights are missing; otherwise readers see all of it
at once, and what is scheduled on the asset ``flights`` starts. It is tried again while a part of it is not done.

Refused, or seen to be wrong later: ``airflow coordination branches roll-back``, and each month has again what it had.
Once for a store, before the first branch: ``airflow coordination store enable branches``.
"""

from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG, Asset, Param

from airflow_coordination.operators.branches import BeginBranchOperator, PublishBranchOperator
from airflow_coordination.operators.spark_submit import LeasedSparkSubmitOperator
from airflow_coordination.sensors.partitions import PartitionsSensor

JOB = {"application": str(Path(__file__).resolve().parent / "flights_job.py"), "conn_id": "spark_default"}


def no_flight_lost(look):
    """Refuse a branch with fewer rows than readers see now."""
    if look.rows_after < look.rows_before:
        raise ValueError(f"{look.rows_before - look.rows_after} of {look.rows_before} rows would be gone")


with DAG(
    "replace_a_month",
    schedule=None,
    params={
        "month": Param("2013-01", type="string", minLength=1, description="Keys that begin so are run again"),
        "why": Param("its clock was an hour late", type="string", minLength=1, description="Kept in the audit"),
    },
    default_args={"source": "flights", "retries": 3, "retry_delay": timedelta(seconds=10)},
    doc_md=__doc__,
):
    begin = BeginBranchOperator(task_id="begin", key_prefix="{{ params.month }}", why="{{ params.why }}")
    ready = PartitionsSensor(task_id="ready", max_hints=2, wait=False, on_parked="ignore")
    process = LeasedSparkSubmitOperator.partial(task_id="process", max_leases=None, **JOB).expand(hint=ready.output)
    publish = PublishBranchOperator(
        task_id="publish",
        branch=begin.output["branch"],
        why="{{ params.why }}",
        check=no_flight_lost,
        outlets=[Asset("flights")],
        trigger_rule="none_failed",  # also where others have done all of it, so that process had nothing to do
    )
    begin >> ready >> process >> publish
