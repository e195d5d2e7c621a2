"""Runs tries of one task apart from each other; as a program, the first one in a process that a test may kill."""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.integration.airflow.setup import store_dag

DAG_ID = "one_try"


def _task(arguments: dict[str, Any]) -> Any:
    from airflow.sdk import DAG

    from airflow_coordination.operators import LeasedSparkSubmitOperator

    with DAG(DAG_ID, schedule=None):
        return LeasedSparkSubmitOperator(task_id="process", retries=3, **arguments)


def first_try(arguments: dict[str, Any]) -> None:
    """Run the task in a new DAG run."""
    dag = _task(arguments).dag
    store_dag(dag)
    dag.test()


def next_try(arguments: dict[str, Any]) -> bool:
    """Run the next try of the task that a killed process has left last; return whether it succeeded."""
    from airflow.models.taskinstance import TaskInstance
    from airflow.sdk.definitions.dag import _run_task
    from airflow.utils.session import create_session

    with create_session() as session:
        left = session.query(TaskInstance).filter_by(dag_id=DAG_ID)  # other tests of this process leave theirs, too
        ti = left.order_by(TaskInstance.start_date.desc()).limit(1).one()
        ti.try_number += 1
        session.commit()
        session.expunge(ti)
    _run_task(ti=ti, task=_task(arguments))
    return bool(ti.state == "success")


if __name__ == "__main__":
    first_try(json.loads(sys.argv[1]))
