"""Few slots for a large source: mapped tasks, each of which drains it in one Spark application."""

import os
from pathlib import Path

from airflow.sdk import DAG

from airflow_coordination.operators import LeasedSparkSubmitOperator
from airflow_coordination.sensors import PartitionsSensor

JOB = Path(os.environ["COORDINATION_SYSTEM_TESTS"]) / "jobs" / "count.py"
SLOTS = 3

with DAG("drain", schedule=None):
    ready = PartitionsSensor(task_id="ready", source="drain", max_hints=SLOTS)
    process = LeasedSparkSubmitOperator.partial(
        task_id="process",
        source="drain",
        application=str(JOB),
        max_leases=None,
        ownership_timeout=120,  # on no machine a lease runs out: what is done twice is the killed driver's
        retries=1,
        conf={"spark.ui.enabled": "false"},
    ).expand(hint=ready.output)
    process >> PartitionsSensor(task_id="completed", source="drain", until="completed")
