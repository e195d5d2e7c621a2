"""A large source from its supplier to its last partition: eight mapped tasks, and no work but that of leases."""

import os
from pathlib import Path

from airflow.sdk import DAG

from airflow_coordination.operators import CreatePartitionsOperator, LeasedSparkSubmitOperator
from airflow_coordination.sensors import PartitionsSensor

JOB = Path(os.environ["COORDINATION_SYSTEM_TESTS"]) / "jobs" / "nothing.py"
SLOTS = 8


def numbered(state):
    """Yield as many keys as the environment says."""
    yield from (f"p{number:07d}" for number in range(int(os.environ["COORDINATION_SYSTEM_MILLION"])))


with DAG("million", schedule=None):
    create = CreatePartitionsOperator(task_id="create", source="million", supplier=numbered)
    ready = PartitionsSensor(task_id="ready", source="million", max_hints=SLOTS)
    process = LeasedSparkSubmitOperator.partial(
        task_id="process",
        source="million",
        application=str(JOB),
        max_leases=None,
        ownership_timeout=600,
        conf={"spark.ui.enabled": "false"},
    ).expand(hint=ready.output)
    create >> ready
    process >> PartitionsSensor(task_id="completed", source="million", until="completed")
