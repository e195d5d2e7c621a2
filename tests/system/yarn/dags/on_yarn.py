"""One DAG for each event on YARN; its one mapped instance has the event's name as its hint."""

import os
from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG

from airflow_coordination.operators import LeasedSparkSubmitOperator
from tests.system.yarn.events import CLIENT, DEPLOY_MODES, LATE_DRIVER, OWNERSHIP_TIMEOUT

JOB = Path(os.environ["COORDINATION_SYSTEM_TESTS"]) / "yarn" / "until_told.py"

for name, deploy_mode in DEPLOY_MODES.items():
    with DAG(name, schedule=None) as globals()[name]:
        LeasedSparkSubmitOperator.partial(
            task_id="process",
            source=name,
            application=str(JOB),
            conn_id=f"yarn_{deploy_mode}",
            yarn_track_via_rm_api=deploy_mode == "cluster",
            ownership_timeout=OWNERSHIP_TIMEOUT,
            retries=0 if name == LATE_DRIVER else 1,
            retry_delay=timedelta(seconds=1),
            retry_delay_of_partition=1,
            conf={"spark.ui.enabled": str(name == CLIENT).lower()},
        ).expand(hint=[name])
