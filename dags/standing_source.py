"""One source for ever, and what it tells other DAGs: each completion is an asset event with the partition's key.

Each run of ``standing_source`` lists what is new, waits in the triggerer, without a worker slot, until something can be
worked on, and works on it. ``readings_report`` starts after each task that has ended well, and reads in the event which
partitions it worked on. A source for ever is never completed: the last sensor looks once, fails if a pump is parked,
and is skipped otherwise.
"""

from pathlib import Path

from airflow.sdk import DAG, Asset, task

from airflow_coordination.operators import CreatePartitionsOperator, LeasedSparkSubmitOperator
from airflow_coordination.sensors import PartitionsSensor

READINGS = Asset("readings")


def pumps(state):
    """Return the keys of all pumps."""
    return ["north", "south"]


with DAG("standing_source", schedule="@hourly", catchup=False, max_active_runs=1):
    create = CreatePartitionsOperator(task_id="create_partitions", source="pumps", supplier=pumps)
    ready = PartitionsSensor(task_id="ready", source="pumps", max_hints=1)
    process = LeasedSparkSubmitOperator.partial(
        task_id="process",
        source="pumps",
        application=str(Path(__file__).with_name("readings_job.py")),
        conn_id="spark_default",
        max_leases=None,
        outlets=[READINGS],
    ).expand(hint=ready.output)
    none_parked = PartitionsSensor(
        task_id="none_parked", source="pumps", until="completed", wait=False, trigger_rule="none_failed"
    )
    create >> ready
    process >> none_parked

with DAG("readings_report", schedule=[READINGS]):

    @task
    def report(triggering_asset_events):
        """Name the partitions that have new readings."""
        keys = {key for event in triggering_asset_events[READINGS] for key in event.extra["partitions"]}
        print(f"New readings of {', '.join(sorted(keys))}")
        return sorted(keys)

    report()
