"""Runs one try of a task in a process of its own, which a test may kill: ``one_try.py ARGUMENTS first|next``."""

from __future__ import annotations

import json
import os
import sys


def main(arguments: dict[str, object], which: str) -> None:
    """Run the first try in a new DAG run, or the next one of the task that a killed process has left."""
    from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
    from airflow.models.dagbundle import DagBundleModel
    from airflow.models.taskinstance import TaskInstance
    from airflow.sdk import DAG
    from airflow.sdk.definitions.dag import _run_task
    from airflow.utils.session import create_session

    from airflow_coordination.operators import LeasedSparkSubmitOperator

    with DAG("one_try", schedule=None) as dag:
        task = LeasedSparkSubmitOperator(task_id="process", retries=3, **arguments)
    if which == "first":
        with create_session() as session:
            session.merge(DagBundleModel(name="testing"))
        bag = DagBag(dag_folder=os.devnull)
        bag.bag_dag(dag)
        sync_bag_to_db(bag, "testing", None)
        dag.test()
        return
    with create_session() as session:
        ti = session.query(TaskInstance).filter_by(dag_id="one_try").one()
        ti.try_number += 1
        session.commit()
        session.expunge(ti)
    _run_task(ti=ti, task=task)
    sys.exit(0 if ti.state == "success" else 1)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2])
