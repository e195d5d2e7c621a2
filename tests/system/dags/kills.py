"""One DAG for each event that can end a task's work early; its one mapped instance has the event's name as its hint."""

import os
from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG

from airflow_coordination.operators import LeasedSparkSubmitOperator
from airflow_coordination.sensors import PartitionsSensor
from tests.system.events import EVENTS, OWNERSHIP_TIMEOUT, WITH_SPARK_UI

JOB = Path(os.environ["COORDINATION_SYSTEM_TESTS"]) / "jobs" / "at_work.py"
EVENT_LOG = Path(os.environ["COORDINATION_SYSTEM_HOME"], "events").as_uri()

for event in EVENTS:
    with DAG(event.name, schedule=None, **event.dag) as globals()[event.name]:
        LeasedSparkSubmitOperator.partial(
            task_id="process",
            source=event.name,
            application=str(JOB),
            ownership_timeout=OWNERSHIP_TIMEOUT,
            retries=1,
            retry_delay=timedelta(seconds=1),
            retry_delay_of_partition=1,
            conf={
                "spark.eventLog.enabled": "true",
                "spark.eventLog.dir": f"{EVENT_LOG}/{event.name}",
                "spark.eventLog.compress": "false",
                "spark.ui.enabled": str(event.name == WITH_SPARK_UI).lower(),
                "spark.ui.port": "0",
            },
            **event.task,
        ).expand(hint=[event.name])

with DAG("sweeps_host_lost", schedule=None):
    PartitionsSensor(task_id="process", source="host_lost", until="completed")
