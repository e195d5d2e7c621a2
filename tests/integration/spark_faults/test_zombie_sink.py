"""A driver that is stopped in the middle of a delivery, overtaken, and wakes up with a bulk in its hand."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from opensearchpy import OpenSearch

from airflow_coordination.leases import Outcome, PartitionStatus
from airflow_coordination.sinks import OpenSearchSink, PostgresSink, Sink
from airflow_coordination.spark import Complete
from airflow_coordination.spark.tenure import DriverContext, run_tenure
from tests.integration.spark.drivers import Task, eventually
from tests.integration.spark_faults.processes import signal_session, stop_between_writes

JOB = str(Path(__file__).parent / "jobs" / "zombie.py")
WAITS, TOLD = "between two bulks", "the zombie was told"
"""What the job says of itself."""
RECORDS, BEFORE = 100, 40
"""Records, and how many of them the job delivers before it waits."""


Written = Callable[[], dict[tuple[str, int], int]]
"""How many records each writer has, under which token."""


@pytest.fixture
def table(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Written]:
    url = postgres_url.replace("+psycopg", "")
    monkeypatch.setenv("SINK_URL", url)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("create table records (number bigint primary key, writer text)")
        PostgresSink(url, table="records").setup()

        def written() -> dict[tuple[str, int], int]:
            rows = connection.execute("select writer, lease_fence, count(*) from records group by 1, 2").fetchall()
            return {(writer, token): count for writer, token, count in rows}

        yield written


@pytest.fixture
def index(opensearch_node: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Written]:
    monkeypatch.setenv("SINK_URL", opensearch_node)
    monkeypatch.setenv("SINK_INDEX", name := f"records-{uuid4().hex}")
    OpenSearchSink(opensearch_node, name).setup()
    with OpenSearch([opensearch_node]) as client:

        def written() -> dict[tuple[str, int], int]:
            client.indices.refresh(index=name)
            hits = client.search(index=name, size=10 * RECORDS)["hits"]["hits"]
            return dict(Counter((hit["_source"]["writer"], hit["_source"]["lease_fence"]) for hit in hits))

        yield written


@pytest.fixture(params=["table", "index"])
def written(request: pytest.FixtureRequest) -> Written:
    return request.getfixturevalue(request.param)


def test_s13_nothing_goes_back_to_a_zombie_s_version(spark, task: Task, written: Written) -> None:
    task.ownership_timeout = timedelta(seconds=3)
    (hold := task.signs / f"{WAITS}.hold").touch()
    coordinator = task.coordinator()
    coordinator.create_partitions(["p"])
    with coordinator.heartbeat(lease := coordinator.get_next_partition()):
        zombie = task.start(JOB, lease)
        eventually(lambda: zombie.reports("began") or zombie.process.poll() is not None)
    zombie.reached(WAITS)
    stop_between_writes(zombie.process.pid, task.store_url)
    assert written() == {("zombie", 1): BEFORE}

    successor = task.coordinator("the successor")
    driver = DriverContext(spark=spark, coordinator=successor, output_root=task.output_root)
    lease = eventually(lambda: successor.acquire_partition("p"))
    ended = run_tenure(deliver, lease, driver)
    assert ended.outcome is Outcome.COMPLETED, ended
    assert written() == {("successor", 2): RECORDS}

    hold.unlink()
    os.kill(int((task.signs / f"{WAITS}.worker").read_text()), signal.SIGCONT)  # its task, before its driver learns it
    eventually((task.signs / TOLD).exists)
    told = (task.signs / TOLD).read_text()
    assert told == "failed: a later owner of this partition has written this record already"
    signal_session(zombie.process.pid, signal.SIGCONT)
    assert zombie.wait() == 3, zombie.text()
    assert written() == {("successor", 2): RECORDS}
    assert successor.partition("p").status is PartitionStatus.COMPLETED


def sink_of(url: str) -> Sink:
    """Return the sink at an address."""
    if url.startswith("http"):
        return OpenSearchSink(url, os.environ["SINK_INDEX"])
    return PostgresSink(url, table="records")


def deliver(spark, lease):
    """Do the same work as the job, under another name."""
    records = spark.range(0, RECORDS, 1, 1).selectExpr("id as number", "'successor' as writer")
    lease.deliver(records, "number", {"sink": sink_of(os.environ["SINK_URL"])})
    return Complete()
