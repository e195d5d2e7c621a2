"""The suppliers in ``CreatePartitionsOperator``, and in a worker's own loop."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa

from airflow_coordination.sources import object_listing, sql_ranges
from tests.integration.airflow.conftest import airflow_database, run_dag, store_url  # noqa: F401


@pytest.mark.slow
def test_the_operator_runs_them(tmp_path, request, store_url, run_dag):  # noqa: F811
    from airflow.sdk import DAG

    from airflow_coordination.operators import CreatePartitionsOperator

    (tmp_path / "in").mkdir()
    for name in ("1.json", "2.json", "3.csv"):
        (tmp_path / "in" / name).write_text("{}")
    url = f"sqlite:///{tmp_path / 'rows.db'}"
    with sa.create_engine(url).begin() as connection:
        connection.execute(sa.text("CREATE TABLE flights (id INTEGER)"))
        connection.execute(sa.text("INSERT INTO flights VALUES (1), (2), (3)"))
    files = object_listing(tmp_path / "in", scan=timedelta(0), exclude_suffix=".csv")
    with DAG(request.node.name, schedule=None) as dag:
        CreatePartitionsOperator(task_id="files", source="files", supplier=files)
        CreatePartitionsOperator(task_id="rows", source="rows", supplier=sql_ranges(url, "flights", "id", rows=1))
    pushed = {ti.task_id: ti.xcom_pull(task_ids=ti.task_id) for ti in run_dag(dag).get_task_instances()}
    assert {task: result["created"] for task, result in pushed.items()} == {"files": 2, "rows": 3}
