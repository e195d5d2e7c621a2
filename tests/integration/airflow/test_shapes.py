"""A1: no run is green while a partition is parked, whatever the shape of the DAG that the documentation shows."""

from __future__ import annotations

import os

import boto3
import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.outputs.enabling import enabling_of
from tests.docs.pages import PAGES, ROOT, label, steps

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SHAPES = {
    "README.md": ("flights", "flights", "done"),
    "docs/tutorial.md": ("sales", "monthly_sales", "done"),
    "docs/how-to/keep-copies.md": ("copy_flights", "~copies/flights", "none_parked"),
    "docs/how-to/compact.md": ("compact_flights", "~merged/flights", "none_parked"),
    "docs/how-to/drain-many.md": ("events", "events", "done"),
    "docs/how-to/files-to-a-table.md": ("sales", "sales", "done"),
    "docs/how-to/several-at-a-time.md": ("small_events", "events", "done"),
    "docs/how-to/share-evenly.md": ("stream", "events", "none_parked"),
    "docs/how-to/foreign-jobs.md": ("legacy", "legacy", "done"),
    "docs/how-to/from-dynamic-mapping.md": ("sales", "sales", "done"),
    "docs/how-to/spark-connect.md": ("spark_connect", "primes", "finished"),
    "docs/how-to/wake-up.md": ("flights_when_due", "flights", "none_parked"),
    "airflow_coordination/examples/sales.py": ("coordination_quickstart", "quickstart", "done"),
    "airflow_coordination/examples/sales_without_spark.py": ("coordination_quickstart", "quickstart", "done"),
    "dags/compaction.py": ("compact_flights", "~merged/flights", "none_parked"),
    "dags/deliveries.py": ("deliveries", "deliveries", "delivered"),
    "dags/flights.py": ("flights", "flights", "finished"),
    "dags/one_lease_each.py": ("one_lease_each", "sensors", "none_parked"),
    "dags/orders_stream.py": ("orders_stream", "orders", "none_parked"),
    "dags/replace_a_month.py": ("replace_a_month", "flights", "publish"),
    "dags/spark_connect.py": ("spark_connect", "primes", "finished"),
    "dags/standing_source.py": ("standing_source", "pumps", "none_parked"),
    "dags/wake_on_claimable.py": ("wake_on_claimable", "meters", "none_parked"),
}
"""DAG, source, and the task that looks last, of every place that shows how to work on partitions."""


def _code(place):
    """Return the code of a place that makes a DAG."""
    path = ROOT / place
    if path.suffix == ".py":
        return path.read_text()
    return next(step["text"] for step in steps(path) if _works_on_partitions(step["text"]))


def _works_on_partitions(text):
    return "with DAG(" in text and any(word in text for word in ("LeasedSparkSubmitOperator", "leased_pyspark", "Hook"))


def test_a1_no_documented_dag_is_forgotten():
    """A1: another page or example must be tried here, too."""
    pages = {label(page) for page in PAGES if any(_works_on_partitions(step["text"]) for step in steps(page))}
    files = [*(ROOT / "dags").glob("*.py"), *(ROOT / "airflow_coordination" / "examples").glob("*.py")]
    examples = {label(path) for path in files if _works_on_partitions(path.read_text())}
    assert pages | examples == set(SHAPES)


@pytest.fixture
def source(store_url):
    """Return a coordinator of a source in which ``bad`` is parked."""
    from airflow_coordination.stores import open_store

    def park(name):
        coordinator = SourceCoordinator(open_store(store_url), name, "test", max_failures=1)
        coordinator.create_partitions(["bad"])
        coordinator.fail(coordinator.get_next_partition(), "no sale at all")
        return coordinator

    return park


@pytest.fixture
def streams(moto_server, monkeypatch):
    """Two streams of Kinesis, where boto3 finds them by itself."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_KINESIS", moto_server)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    client = boto3.client("kinesis")
    for name in ("orders", "returns"):
        client.create_stream(StreamName=name, ShardCount=1)
    yield
    for name in ("orders", "returns"):
        client.delete_stream(StreamName=name)


@pytest.fixture
def documented(tmp_path, monkeypatch, store_url, streams):
    """Return the DAG of a place, on a worker where its tasks cannot work: there is no Java, nor a Spark server."""
    (tmp_path / "dags").mkdir()
    (tmp_path / "landing").mkdir()
    monkeypatch.setenv("AIRFLOW_VAR_FLIGHTS_DATA", str(tmp_path / "dags"))
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", '{"conn_type": "spark", "host": "local[1]"}')
    monkeypatch.setenv("AIRFLOW_CONN_COORDINATION_QUICKSTART_SPARK", '{"conn_type": "spark", "host": "local[1]"}')
    monkeypatch.setenv("AIRFLOW_CONN_COORDINATION_QUICKSTART", os.environ["AIRFLOW_CONN_COORDINATION_DEFAULT"])
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "no-java"))

    def load(place):
        from airflow.dag_processing.dagbag import DagBag

        file = tmp_path / "dags" / "documented.py"
        file.write_text(_code(place))
        bag = DagBag(dag_folder=str(file))
        assert bag.import_errors == {}
        dag = bag.dags[SHAPES[place][0]]
        for task in dag.tasks:
            task.retries = 0
        return dag

    return load


@pytest.mark.parametrize("place", sorted(SHAPES))
def test_a1_a_documented_dag_is_red_while_a_partition_is_parked(place, source, documented, run_dag):
    """A1: also when the task that works has failed."""
    _, name, last = SHAPES[place]
    coordinator = source(name)
    coordinator.create_partitions(["waits"])
    if place == "dags/replace_a_month.py":
        enabling_of(coordinator.store).enable_branches()
        coordinator.create_partitions(["2013-01"])
        coordinator.complete(coordinator.acquire_partition("2013-01"))
    if name.startswith("~merged/"):  # what is merged is there
        source(name.removeprefix("~merged/"))
    dag = documented(place)
    run = run_dag(dag)
    states = {ti.task_id: ti.state for ti in run.get_task_instances()}
    assert run.state == "failed"
    assert states["ready"] == "success"
    standing = dag.get_task(last).trigger_rule == "none_failed"
    assert states[last] == ("upstream_failed" if standing else "failed")


def test_a1_a_task_that_finds_nothing_does_not_silence_the_last_sensor(
    run_dag, store_url, spark_submit_stand_in, tmp_path
):
    """A1: one instance fails its partition, which is parked, and the other finds nothing: it was skipped, and the run
    was green, because Airflow's ``all_done_min_one_success`` skips with any task that was skipped."""
    from airflow.sdk import DAG

    from airflow_coordination.operators import CreatePartitionsOperator, LeasedSparkSubmitOperator
    from airflow_coordination.sensors import PartitionsSensor

    job = tmp_path / "job.py"
    job.write_text("raise SystemExit('no sale at all')")
    foreign = {"application": str(job), "conn_id": "spark_local", "complete_on_success": True}
    with DAG("skipping", schedule=None, default_args={"source": "flights"}) as dag:
        create = CreatePartitionsOperator(task_id="create", supplier=lambda state: ["bad"])
        process = LeasedSparkSubmitOperator.partial(
            task_id="process", on_empty="skip", max_failures=1, max_leases=None, **foreign
        ).expand(hint=["bad", "bad"])
        done = PartitionsSensor(task_id="done", until="completed", trigger_rule="all_done_min_one_success")
        create >> process
        [create, process] >> done
    run = run_dag(dag)
    states = sorted((ti.task_id, ti.state) for ti in run.get_task_instances())
    assert states == [("create", "success"), ("done", "failed"), ("process", "failed"), ("process", "success")]
    assert run.state == "failed"
