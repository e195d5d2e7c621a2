"""A month's orders by day: one day has no file, one is closed until later, one takes its time, and the rest waits."""

import os
from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG

from airflow_coordination.operators import CreatePartitionsOperator, LeasedSparkSubmitOperator

JOB = {
    "application": str(Path(os.environ["COORDINATION_SYSTEM_TESTS"]) / "jobs" / "at_night.py"),
    "source": "orders",
    "max_failures": 2,
    "conf": {"spark.ui.port": "0"},
}
DAYS = [f"2026-01-{day:02}" for day in range(1, 31)]

with DAG("orders", schedule=None):
    create = CreatePartitionsOperator(task_id="create", source="orders", supplier=lambda state: DAYS)
    (
        create
        >> LeasedSparkSubmitOperator.partial(
            task_id="process",
            retries=1,
            retry_delay=timedelta(seconds=3),  # until then, the partition waits no more
            retry_delay_of_partition=1,
            **JOB,
        ).expand(hint=DAYS[:3])
    )

with DAG("orders_rest", schedule=None):
    LeasedSparkSubmitOperator(task_id="process", max_leases=None, **JOB)
