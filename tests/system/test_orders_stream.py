"""The example that reads streams, under a real Airflow: two streams, and a reshard while a run reads them."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.leases import Partition, PartitionStatus, Settings, SourceCoordinator
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.spark import read_completed
from tests.engines.kinesis import connected
from tests.engines.postgres import fresh_database
from tests.house.tree import ROOT
from tests.integration.kinesis.stream import MIDDLE, LocalStream
from tests.integration.spark.conftest import spark
from tests.system.harness import Airflow, environment, wait_for
from tests.system.standalone import running

__all__ = ["spark"]

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(2700)]

DAG = "orders_stream"
LONG = 900


def put(stream: LocalStream, numbers: range) -> None:
    """Send orders, by turns with the smallest hash key and with that of the upper half."""
    for number in numbers:
        stream.put(json.dumps({"id": number, "amount": number / 4}).encode(), hash_key=MIDDLE * (number % 2))


@pytest.fixture
def streams(kinesis_local: str) -> Iterator[tuple[LocalStream, LocalStream]]:
    """Orders, of two shards, and returns, of one."""
    with connected(kinesis_local) as client, LocalStream.new(client, 2) as orders, LocalStream.new(client, 1) as back:
        put(orders, range(100))
        put(back, range(1000, 1030))
        yield orders, back


@pytest.fixture
def environ(
    tmp_path: Path,
    streams: tuple[LocalStream, LocalStream],
    kinesis_local: str,
    postgres_cluster: str,
    store_url: str,
) -> Iterator[dict[str, str]]:
    """The environment of an Airflow that has this example and nothing else, and is told of Kinesis as the page says."""
    dags, home = tmp_path / "dags", tmp_path / "home"
    for folder in (dags, home):
        folder.mkdir()
    for name in ("orders_stream.py", "orders_job.py"):
        shutil.copy(ROOT / "dags" / name, dags)
    (dags / ".airflowignore").write_text("orders_job.py\n")
    with fresh_database(postgres_cluster) as metadata_url:
        yield {
            **environment(home, metadata_url, store_url),
            "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
            "AIRFLOW_VAR_ORDERS_STREAMS": ",".join(stream.name for stream in streams),
            "AWS_ENDPOINT_URL_KINESIS": kinesis_local,
            "AWS_DEFAULT_REGION": "us-east-1",
        }


@pytest.fixture
def airflow(environ: dict[str, str]) -> Iterator[Airflow]:
    """It, running."""
    with running(Path(environ["AIRFLOW_HOME"]), environ, ["orders_stream.py"]) as airflow:
        yield airflow


def all_green(airflow: Airflow) -> None:
    """Wait until all runs are over, and see that nothing in them has failed or was tried again.

    Beside the run that was asked for there may be one by the schedule. The last task of a run fails for what is parked,
    and is skipped otherwise: a stream is never completed.
    """
    path = f"/api/v2/dags/{DAG}/dagRuns"
    runs = wait_for(lambda: _over(airflow.call("GET", path)["dag_runs"]), LONG, "the runs are over")
    for run in runs:
        tasks = airflow.call("GET", f"{path}/{run['dag_run_id']}/taskInstances")["task_instances"]
        states = {(task["task_id"], task["state"]) for task in tasks}
        green = {(name, "success") for name in ("discover", "ready", "read")} | {("none_parked", "skipped")}
        assert (run["state"], states) == ("success", green), airflow.log(DAG, run["dag_run_id"])
        assert {task["try_number"] for task in tasks} == {1}


def _over(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return runs if all(run["state"] in ("success", "failed") for run in runs) else []


def shard(coordinator: SourceCoordinator, stream: LocalStream, number: int) -> Partition | None:
    ending = f"shardId-{number:012}"
    found = [one for one in coordinator.partitions() if f":{stream.name}:" in one.key and one.key.endswith(ending)]
    return found[0] if found else None


def explained(environ: dict[str, str], key: str) -> dict[str, Any]:
    """Return what the command says of a partition."""
    command = ["airflow", "coordination", "explain", "orders", key, "--output", "json"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout[done.stdout.index("[") :])
    return {row["field"]: row["value"] for row in rows}


def test_two_streams_and_a_reshard_during_the_run(
    airflow: Airflow,
    environ: dict[str, str],
    streams: tuple[LocalStream, LocalStream],
    store: PartitionStore,
    spark: Any,
) -> None:
    """Somebody else holds one parent of the merge, so that its child has to wait; the next run goes on with it."""
    orders, _ = streams
    one = SourceCoordinator(store, "orders", "ana/-/-/-/0/1", settings=Settings(ownership_timeout=timedelta(hours=1)))
    airflow.trigger(DAG)
    wait_for(lambda: shard(one, orders, 1), LONG, "the shards have partitions")
    held = one.acquire_partition(shard(one, orders, 1).key)
    assert held is not None, "the run was quicker"
    reading = lambda: shard(one, orders, 0).status is PartitionStatus.ASSIGNED  # noqa: E731
    wait_for(reading, LONG, "the other one is read")
    orders.merge(*(f"shardId-{number:012}" for number in (0, 1)))
    put(orders, range(100, 150))
    all_green(airflow)
    child = shard(one, orders, 2)
    assert shard(one, orders, 0).status is PartitionStatus.COMPLETED
    assert child.parents == (shard(one, orders, 0).key, held.key)
    assert child.waits_for == (held.key,)
    said = explained(environ, child.key)
    assert said["reason"] == "blocked"
    assert f"waits for 1 parent: '{held.key}' is held by" in said["sentence"]
    one.give_up(held)
    airflow.trigger(DAG)
    all_green(airflow)
    assert shard(one, orders, 1).status is PartitionStatus.COMPLETED
    rows = read_completed(spark, store=store, source="orders", dataset="orders").collect()
    assert sorted(row.id for row in rows) == [*range(150), *range(1000, 1030)]
    assert len({(row.streamName, row.shardId, row.sequenceNumber, row.subSequenceNumber) for row in rows}) == 180
