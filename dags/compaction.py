"""Small files merged beside ingest: the months that ``dags/flights.py`` publishes, a quarter in one file.

``plan`` finds what has been published since its last run and makes groups claimable, the newest first, and each
instance of ``merge`` runs one Spark application that merges one group after the other, always under a lease. Nobody
waits for it: flights go on being published, and readers find the same rows before, while and after it runs. Where there
is nothing to merge, ``merge`` is skipped.

A group that cannot be merged is tried again later. Until then the run is red, and ``airflow coordination compaction
status`` says why.
"""

from datetime import timedelta

from airflow.sdk import DAG

from airflow_coordination.compaction import CompactionConfig, CompactionSlots
from airflow_coordination.operators.plan_compaction import PlanCompactionOperator
from airflow_coordination.operators.spark_submit import LeasedSparkSubmitOperator
from airflow_coordination.sensors.partitions import PartitionsSensor
from airflow_coordination.spark import upkeep


def compaction(source, *configs, at_once=2):
    """Return a DAG that keeps the datasets of a source merged, by ``at_once`` Spark applications at most."""
    with DAG(
        f"compact_{source}",
        schedule="*/30 * * * *",
        catchup=False,
        max_active_runs=1,
        default_args={"source": f"~merged/{source}", "retries": 1, "retry_delay": timedelta(seconds=30)},
        doc_md=__doc__,
    ) as dag:
        plan = PlanCompactionOperator(task_id="plan", of=source, configs=configs, slots=CompactionSlots(max_slots=24))
        ready = PartitionsSensor(task_id="ready", max_hints=at_once, wait=False, on_parked="ignore")
        merge = LeasedSparkSubmitOperator.partial(
            task_id="merge", application=upkeep.__file__, conn_id="spark_default", max_leases=None
        ).expand(hint=ready.output)
        # Red as long as a group has failed for good, as everywhere; what waits for a slot is the next run's.
        parked = PartitionsSensor(task_id="none_parked", until="completed", wait=False, trigger_rule="none_failed")
        plan >> ready >> merge >> parked
    return dag


flights = compaction(
    "flights",
    # The key of a month tells its time; the newest quarter, which still grows, is left alone.
    CompactionConfig("flights", granularity="QUARTER", interval_from_key="%Y-%m", target_file_size="256MiB"),
)
