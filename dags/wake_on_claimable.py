"""A DAG without a schedule that starts whenever there is work, also long after its last run has ended.

``meters_arrive`` creates partitions, once. ``wake_on_claimable`` is scheduled on an asset whose watcher looks at the
source from the triggerer: it starts when a partition is new, when a closed one is due again, when a delay after a
failure is over, and when an owner has been lost. Each meter closes itself for a minute, so it starts each minute.

Events queue up while a run goes on, therefore ``max_active_runs=1``; and whatever a run was started for may be taken
already when it looks, therefore its sensor does not wait. Nor does the one at the end: it fails if a meter is parked,
and is skipped otherwise, because such a source is never completed.
"""

from pathlib import Path

from airflow.sdk import DAG, Asset, AssetWatcher

from airflow_coordination.operators import CreatePartitionsOperator, LeasedSparkSubmitOperator
from airflow_coordination.sensors import PartitionsSensor
from airflow_coordination.triggers import ClaimablePartitionsTrigger

CLAIMABLE = Asset(
    "meters_claimable",
    watchers=[AssetWatcher(name="meters", trigger=ClaimablePartitionsTrigger(source="meters"))],
)


def meters(state):
    """Return the keys of all meters."""
    return ["delhi", "lima", "oslo"]


with DAG("meters_arrive", schedule="@once"):
    CreatePartitionsOperator(task_id="create_partitions", source="meters", supplier=meters)

with DAG("wake_on_claimable", schedule=[CLAIMABLE], max_active_runs=1, default_args={"retries": 3}):
    ready = PartitionsSensor(task_id="ready", source="meters", wait=False, max_hints=1)
    process = LeasedSparkSubmitOperator.partial(
        task_id="process",
        source="meters",
        application=str(Path(__file__).with_name("readings_job.py")),
        conn_id="spark_default",
        max_leases=None,
    ).expand(hint=ready.output)
    process >> PartitionsSensor(
        task_id="none_parked", source="meters", until="completed", wait=False, trigger_rule="none_failed"
    )
