"""The example DAG with its decorator, mapped over the hints of its sensor, on a real Spark Connect server."""

from __future__ import annotations

import runpy

from airflow_coordination.spark import read_completed
from tests.house.tree import ROOT


def test_the_example_counts_the_primes_of_every_range(connection, store_url, run_dag, session, tmp_path, monkeypatch):
    monkeypatch.setenv("AIRFLOW__COORDINATION__OUTPUT_ROOT", str(tmp_path / "out"))
    dag = runpy.run_path(str(ROOT / "dags" / "spark_connect.py"))["create"].dag
    run = run_dag(dag)
    assert {ti.state for ti in run.get_task_instances()} == {"success"}
    labels = {ti.rendered_map_index for ti in run.get_task_instances() if ti.task_id == "count_primes"}
    found = {
        row.numbers: row.primes
        for row in read_completed(session, store=store_url, source="primes", dataset="primes").collect()
    }
    assert found == {"1000-1999": 135, "2000-2999": 127, "3000-3999": 120}
    assert labels == {f"{numbers}: 1 row" for numbers in found}
