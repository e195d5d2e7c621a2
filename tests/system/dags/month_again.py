"""A month that is replaced in a branch by plain Python, and a DAG that starts when it shows."""

import json
from datetime import timedelta

from airflow.sdk import DAG, Asset, get_current_context, task

from airflow_coordination.hooks.coordination import CoordinationHook
from airflow_coordination.hooks.identity import owner_of
from airflow_coordination.operators import BeginBranchOperator, PublishBranchOperator
from airflow_coordination.outputs import Attempt
from airflow_coordination.sensors import PartitionsSensor
from airflow_coordination.systems.objects.storage import join, write_bytes

REPLACED = Asset("month_again")
GIVEN = {"source": "flights", "retries": 5, "retry_delay": timedelta(seconds=2)}


@task(retries=3, retry_delay=timedelta(seconds=1))
def process(hint):
    """Publish one row for each partition; what is late has come meanwhile, and is in no branch."""
    coordinator = CoordinationHook().coordinator("flights", owner_of(get_current_context()))
    while (lease := coordinator.get_next_partition(hint=hint)) is not None:
        root = CoordinationHook().output_root(None)
        attempt = Attempt(root, lease.partition.source, lease.key, lease.fence, coordinator.store.store_id)
        opened = attempt.open("clean")
        row = lease.key if lease.key.startswith("late") else f"{lease.key} new"
        write_bytes(join(opened.path, f"part-{lease.fence}.json"), json.dumps({"row": row}).encode() + b"\n")
        block = attempt.finish(opened, file_format="json", measure=None)
        interval = None if row == lease.key else f"{lease.key}/P1D"
        coordinator.complete(lease, [block], interval=interval)


with DAG("month_again", schedule=None, default_args=GIVEN):
    begin = BeginBranchOperator(task_id="begin", interval="2013-01/P1M", why="the clock was late")
    ready = PartitionsSensor(task_id="ready", max_hints=2, wait=False)
    publish = PublishBranchOperator(
        task_id="publish",
        branch=begin.output["branch"],
        why="looks right",
        outlets=[REPLACED],
        trigger_rule="none_failed",
    )
    begin >> ready
    process.expand(hint=ready.output) >> publish

with DAG("month_told", schedule=[REPLACED], is_paused_upon_creation=False):

    @task
    def report(triggering_asset_events):
        """Return what the event says."""
        return [event.extra for event in triggering_asset_events[REPLACED]]

    report()
