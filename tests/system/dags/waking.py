"""A DAG that is started by claimable work alone, and sensors that wait in the triggerer."""

from datetime import timedelta

from airflow.sdk import DAG, Asset, AssetWatcher, get_current_context, task

from airflow_coordination.hooks.coordination import CoordinationHook
from airflow_coordination.hooks.identity import owner_of
from airflow_coordination.sensors import PartitionsSensor
from airflow_coordination.submission.task_instance import tell_outlets
from airflow_coordination.triggers import ClaimablePartitionsTrigger

WAKES = Asset("wakes", watchers=[AssetWatcher(name="wakes", trigger=ClaimablePartitionsTrigger(source="wakes"))])
WORKED_ON = Asset("worked_on")

BUSY = {"retries": 3, "retry_delay": timedelta(seconds=1)}
"""What a machine that is busy with other tests may make Airflow's own calls run into."""

with DAG("wakes", schedule=[WAKES], max_active_runs=1, default_args=BUSY, is_paused_upon_creation=False):
    ready = PartitionsSensor(task_id="ready", source="wakes", wait=False)

    @task(outlets=[WORKED_ON])
    def process(hint):
        """Close the partition for as long as its payload says, and complete it when it comes back."""
        context = get_current_context()
        coordinator = CoordinationHook().coordinator("wakes", owner_of(context))
        lease = coordinator.get_next_partition(hint=hint)
        tell_outlets(context, [lease.partition.key])
        if lease.partition.closed_count:
            coordinator.complete(lease)
        else:
            coordinator.close(lease, reopen_after=timedelta(seconds=lease.partition.payload["closes_for"]))

    process.expand(hint=ready.output)

with DAG("told", schedule=[WORKED_ON], is_paused_upon_creation=False):

    @task
    def report(triggering_asset_events):
        """Return which partitions this run was started for."""
        return [key for event in triggering_asset_events[WORKED_ON] for key in event.extra["partitions"]]

    report()

for source in ("waits", "waits_killed", "waits_frozen", "waits_restarted"):
    with DAG(source, schedule=None):
        PartitionsSensor(task_id="process", source=source)
