"""A DAG that is started by claimable work alone, and sensors that wait in the triggerer."""

from datetime import timedelta

from airflow.sdk import DAG, Asset, AssetWatcher, get_current_context, task

from airflow_coordination.hooks.coordination import CoordinationHook
from airflow_coordination.hooks.identity import owner_of
from airflow_coordination.sensors import PartitionsSensor
from airflow_coordination.triggers import ClaimablePartitionsTrigger

WAKES = Asset("wakes", watchers=[AssetWatcher(name="wakes", trigger=ClaimablePartitionsTrigger(source="wakes"))])

with DAG("wakes", schedule=[WAKES], max_active_runs=1, is_paused_upon_creation=False):
    ready = PartitionsSensor(task_id="ready", source="wakes", wait=False)

    @task
    def process(hint):
        """Close the partition for as long as its payload says, and complete it when it comes back."""
        coordinator = CoordinationHook().coordinator("wakes", owner_of(get_current_context()))
        lease = coordinator.get_next_partition(hint=hint)
        if lease.partition.closed_count:
            coordinator.complete(lease)
        else:
            coordinator.close(lease, reopen_after=timedelta(seconds=lease.partition.payload["closes_for"]))

    process.expand(hint=ready.output)

for source in ("waits", "waits_killed", "waits_frozen", "waits_restarted"):
    with DAG(source, schedule=None):
        PartitionsSensor(task_id="process", source=source)
