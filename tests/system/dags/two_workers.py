"""Two tasks share a source, each on a worker of its own. What makes a worker is a Java of its own, and nothing else.

``[coordination]`` would wait a minute before the next try of a task that could not begin; here it is a second.
"""

import os
from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG
from airflow.sdk.definitions.retry_policy import RetryDecision

from airflow_coordination.hooks.retries import CoordinationRetryPolicy
from airflow_coordination.leases import DeploymentError
from airflow_coordination.operators import LeasedSparkSubmitOperator
from airflow_coordination.sensors import PartitionsSensor

HOME = Path(os.environ["COORDINATION_SYSTEM_HOME"])
JOB = Path(os.environ["COORDINATION_SYSTEM_TESTS"]) / "jobs" / "two_workers.py"
SECOND_WORKERS_JAVA = HOME / "second-worker-java"


class Soon(CoordinationRetryPolicy):
    """The operators' own policy in a hurry."""

    def evaluate(self, exception, try_number, max_tries, context=None):
        decision = super().evaluate(exception, try_number, max_tries, context)
        return RetryDecision.retry(timedelta(seconds=1)) if isinstance(exception, DeploymentError) else decision


def come_to_a_worker(context):
    """Be on the second worker as the second task, in every try: the process has that worker's environment."""
    if context["ti"].map_index == 1:
        os.environ["JAVA_HOME"] = str(SECOND_WORKERS_JAVA)


with DAG("two_workers", schedule=None):
    ready = PartitionsSensor(task_id="ready", source="two_workers", max_hints=2)
    process = LeasedSparkSubmitOperator.partial(
        task_id="process",
        source="two_workers",
        application=str(JOB),
        max_leases=None,
        max_failures=2,
        max_lost_leases=2,
        retries=100,
        retry_policy=Soon(),
        pre_execute=come_to_a_worker,
        conf={"spark.ui.enabled": "false"},
    ).expand(hint=ready.output)
    process >> PartitionsSensor(
        task_id="done", source="two_workers", until="completed", trigger_rule="all_done_min_one_success"
    )
