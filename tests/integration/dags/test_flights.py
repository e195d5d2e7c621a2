"""The example DAG as Airflow's DAG processor sees it, and its supplier."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import boto3
import pytest

from tests.house.tree import ROOT

LOAD = """
import json, sys
from airflow.dag_processing.dagbag import DagBag
bag = DagBag(sys.argv[1])
tasks = {task.task_id: [type(task).__name__ if not task.is_mapped else task.operator_class.__name__, task.is_mapped,
                        sorted(task.downstream_task_ids)] for task in bag.dags["flights"].tasks}
print(json.dumps({"errors": bag.import_errors, "dags": sorted(bag.dags), "tasks": tasks}))
"""
SUPPLY = """
import json, runpy, sys
supplier = runpy.run_path(sys.argv[1])["monthly_files"]
items = list(supplier(json.loads(sys.argv[2])))
print(json.dumps([dict(item.state) if hasattr(item, "state") else [item.key, item.payload] for item in items]))
"""


@pytest.fixture
def airflow(tmp_path):
    """Return a function that runs a snippet with an Airflow of its own and returns the JSON of its last line."""

    def run(snippet, *arguments, **variables):
        environment = {**os.environ, "AIRFLOW_HOME": str(tmp_path / "home"), **variables}
        environment["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
        command = [sys.executable, "-c", snippet, *map(str, arguments)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.mark.slow
def test_the_folder_loads_without_errors_and_with_the_expected_tasks(airflow):
    """Every task is a room's own operator, and the end waits for everything."""
    found = airflow(LOAD, ROOT / "dags")
    assert found["errors"] == {}
    assert found["dags"] == [
        "compact_flights",
        "coordination__HistoricalManagementDuties",
        "coordination__IndexingServiceDuties",
        "coordination__MetadataStoreManagementDuties",
        "coordination__counting",
        "coordination__watching",
        "deliveries",
        "flights",
        "meters_arrive",
        "one_lease_each",
        "orders_stream",
        "readings_report",
        "replace_a_month",
        "spark_connect",
        "standing_source",
        "wake_on_claimable",
    ]
    assert found["tasks"] == {
        "create_partitions": ["CreatePartitionsOperator", False, ["finished", "ready", "reopened"]],
        "ready": ["PartitionsSensor", False, ["process"]],
        "process": ["LeasedSparkSubmitOperator", True, ["reopened"]],
        "reopened": ["PartitionsSensor", False, ["process_reopened"]],
        "process_reopened": ["LeasedSparkSubmitOperator", True, ["finished"]],
        "finished": ["PartitionsSensor", False, []],
    }


@pytest.mark.slow
def test_the_supplier_lists_new_files_and_remembers_the_last(airflow, tmp_path):
    """By the folder that an Airflow variable names; only the last one is the newest."""
    folder = tmp_path / "files"
    folder.mkdir()
    for name in ("2013-03.csv", "2013-01.csv", "2013-02.csv", "notes.txt", "2013-04.unfinished"):
        (folder / name).touch()
    found = airflow(SUPPLY, ROOT / "dags" / "flights.py", '{"last": "2013-01"}', AIRFLOW_VAR_FLIGHTS_DATA=str(folder))
    assert found == [
        ["2013-02", {"path": str(folder / "2013-02.csv"), "newest": False}],
        ["2013-03", {"path": str(folder / "2013-03.csv"), "newest": True}],
        {"last": "2013-03"},
    ]
    seen_all = '{"last": "2013-03"}'
    assert airflow(SUPPLY, ROOT / "dags" / "flights.py", seen_all, AIRFLOW_VAR_FLIGHTS_DATA=str(folder)) == []


@pytest.mark.slow
def test_the_supplier_lists_an_object_store_by_an_airflow_connection(airflow, moto_server):
    """And gives Spark addresses that have no connection in them."""
    client = boto3.client("s3", endpoint_url=moto_server, region_name="us-east-1")
    client.create_bucket(Bucket="example-dag")
    for name in ("2013-01.csv", "2013-02.csv", "notes.txt"):
        client.put_object(Bucket="example-dag", Key=f"data/{name}", Body=b"")
    services = {"s3": {"endpoint_url": moto_server}}
    amazon = {"conn_type": "aws", "login": "key", "password": "secret-key", "extra": {"service_config": services}}
    found = airflow(
        SUPPLY,
        ROOT / "dags" / "flights.py",
        "{}",
        AIRFLOW_VAR_FLIGHTS_DATA="s3a://amazon@example-dag/data",
        AIRFLOW_CONN_AMAZON=json.dumps(amazon),
    )
    assert found == [
        ["2013-01", {"path": "s3a://example-dag/data/2013-01.csv", "newest": False}],
        ["2013-02", {"path": "s3a://example-dag/data/2013-02.csv", "newest": True}],
        {"last": "2013-02"},
    ]
