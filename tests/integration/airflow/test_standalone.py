"""A real Spark standalone cluster: our programs in client mode, and any other program in cluster mode."""

import json
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from airflow_coordination.leases import Outcome, PartitionIdentifier, PartitionStatus, SourceCoordinator
from tests.engines.ports import free_ports
from tests.integration.airflow.one_try import next_try
from tests.integration.airflow.standalone import HOME, HOST, standalone_cluster
from tests.integration.spark.drivers import eventually
from tests.system.harness import marked

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(600)]

JOB = """
    from airflow_coordination.spark import Complete, partition_application

    @partition_application
    def main(spark, lease):
        assert spark.sparkContext.master.startswith("spark://")
        with lease.publish("squares") as block:
            spark.range(10, numPartitions=1).selectExpr("id * id as n").write.parquet(block.path)
        return Complete()
"""
SMALL = {"spark.ui.enabled": "false", "spark.driver.host": HOST, "spark.driver.bindAddress": HOST}
START_UP = 240.0
"""Seconds that a process which runs a task may take to load Airflow and to submit, on a busy machine."""
[PY4J] = Path(HOME, "jars").glob("py4j-*.jar")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with standalone_cluster(tmp_path_factory.mktemp("standalone")) as cluster:
        yield cluster


@pytest.fixture
def flights(store_url, monkeypatch, cluster):
    from airflow_coordination.stores import open_store

    monkeypatch.setenv("SPARK_LOCAL_IP", HOST)
    for mode in ("client", "cluster"):
        monkeypatch.setenv(f"AIRFLOW_CONN_SPARK_{mode.upper()}", cluster.connection(mode))
    coordinator = SourceCoordinator(open_store(store_url), "flights", "test")
    coordinator.create_partitions([PartitionIdentifier("a")])
    return coordinator


def test_our_program_runs_in_client_mode(cluster, flights, run_dag, tmp_path):
    from airflow.sdk import DAG

    from airflow_coordination.operators import LeasedSparkSubmitOperator

    job = tmp_path / "job.py"
    job.write_text(textwrap.dedent(JOB))
    with DAG("standalone_client", schedule=None) as dag:
        LeasedSparkSubmitOperator(
            task_id="process",
            source="flights",
            application=str(job),
            conn_id="spark_client",
            output_root=str(tmp_path / "out"),
            executor_memory="512m",
            conf=SMALL,
        )
    [ti] = run_dag(dag).get_task_instances()
    assert ti.state == "success"
    partition = flights.partition("a")
    assert (partition.status, partition.token) == (PartitionStatus.COMPLETED, 1)
    [head] = flights.store.heads(partition.source, dataset="squares", key="a")
    assert sum(block.rows for block in head.blocks) == 10
    assert cluster.drivers == []


def test_l2_a_driver_on_the_cluster_outlives_its_killed_task_and_the_next_try_goes_on_with_it(
    cluster, flights, tmp_path
):
    """The program is py4j's server, which runs until it is told to stop."""
    from py4j.java_gateway import GatewayParameters, JavaGateway

    [port] = free_ports(1)
    arguments = {
        "source": "flights",
        "application": str(PY4J),
        "java_class": "py4j.GatewayServer",
        "application_args": [str(port)],
        "conn_id": "spark_cluster",
        "driver_memory": "512m",
        "complete_on_success": True,
        "ownership_timeout": 60,
    }

    log = tmp_path / "first.log"
    command = [sys.executable, "-m", "tests.integration.airflow.one_try", json.dumps(arguments)]
    with log.open("w") as stream:
        first = subprocess.Popen(command, stdout=stream, stderr=stream, cwd=Path(__file__).parents[3])
    try:
        eventually(lambda: "Polling driver" in log.read_text() or first.poll() is not None, START_UP)
        assert first.poll() is None, log.read_text()
    finally:
        first.kill()
        first.wait()
    [driver] = cluster.drivers
    assert cluster.state(driver) == "RUNNING"
    [process] = [
        one
        for one in marked("SPARK_WORKER_DIR", str(cluster.folder))
        if "py4j.GatewayServer" in (one.info["cmdline"] or [])
    ]
    sent = process.environ()  # Spark sends the environment of spark-submit
    assert "COORDINATION_HANDOVER" in sent
    assert [name for name in sent if name.startswith(("AIRFLOW_CONN_", "COORDINATION_STORE")) and sent[name]] == []
    seen = []

    def end_once_adopted():
        eventually(lambda: flights.partition("a").owner.endswith("/2"))
        seen.append(cluster.state(driver))
        JavaGateway(gateway_parameters=GatewayParameters(port=port)).shutdown()

    ending = threading.Thread(target=end_once_adopted)
    ending.start()
    assert next_try(arguments)
    ending.join()
    assert seen == ["RUNNING"]
    assert (cluster.drivers, cluster.state(driver)) == ([driver], "FINISHED")
    partition = flights.partition("a")
    assert (partition.status, partition.token) == (PartitionStatus.COMPLETED, 1)
    assert [ending.outcome for ending in partition.endings] == [Outcome.COMPLETED]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"application": "job.py"}, "where Spark runs no Python programs. Use deploy_mode='client'"),
        ({"env_vars": {"A": "b"}}, "env_vars='A': cannot reach a driver on a standalone cluster."),
    ],
    ids=["python", "environment"],
)
def test_what_cannot_run_on_the_cluster_is_refused_first(cluster, flights, run_dag, capsys, arguments, message):
    from airflow.sdk import DAG

    from airflow_coordination.operators import LeasedSparkSubmitOperator

    before = cluster.drivers
    with DAG(f"standalone_{next(iter(arguments))}", schedule=None) as dag:
        own = {"application": str(PY4J), "conn_id": "spark_cluster", "source": "flights"}
        LeasedSparkSubmitOperator(task_id="process", **own | arguments)
    [ti] = run_dag(dag).get_task_instances()
    assert ti.state == "failed"
    assert message in capsys.readouterr().out
    assert (flights.partition("a").token, cluster.drivers) == (0, before)
