"""What is delivered is exact, whatever executors, tasks and copies of tasks do; run by run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from opensearchpy import OpenSearch
from opensearchpy.helpers import scan

from airflow_coordination.acknowledgments import Accounting, SinkCounts
from airflow_coordination.leases import PartitionStatus
from airflow_coordination.sinks import OpenSearchSink, PostgresSink
from airflow_coordination.spark import read_completed
from tests.integration.spark.drivers import Task
from tests.integration.spark_faults.events import Events, logging_events
from tests.integration.spark_faults.test_executors import SPECULATION, cluster

__all__ = ["cluster"]

JOB = str(Path(__file__).parent / "jobs" / "deliver.py")
NUMBERS = [number for number in range(800) if number % 10 != 3]
REFUSED = {each for each in NUMBERS if each % 100 == 50}
"""The table has a constraint that these do not keep."""
MALFORMED = {each for each in NUMBERS if each % 100 == 99}
"""No sink is asked about these."""
TABLE = {each for each in NUMBERS if each % 10 != 1} - MALFORMED
FILES = {each for each in NUMBERS if each % 2 == 0}
CLEAN = {each for each in NUMBERS if each % 5 == 0}
INDEX = {each for each in NUMBERS if each % 4 == 0}
GONE = {each for each in NUMBERS if each % 10 == 1 and each not in FILES | CLEAN | INDEX}
EXACT = Accounting(
    read=800,
    delivered_everywhere=800 - 80 - len(GONE) - len(REFUSED | MALFORMED),
    dropped={"three": 80},
    unrouted=len(GONE),
    dead_lettered=len(REFUSED | MALFORMED),
    sinks={
        "table": SinkCounts(len(TABLE), len(TABLE) - len(REFUSED), len(REFUSED)),
        "files": SinkCounts(len(FILES), len(FILES)),
        "clean": SinkCounts(len(CLEAN), len(CLEAN)),
        "index": SinkCounts(len(INDEX), len(INDEX)),
    },
)
MALFORMED_TOO = {each for each in NUMBERS if each % 10 == 7}
ODD = {each for each in NUMBERS if each % 2 == 1} - MALFORMED_TOO
EXACT_BLOCKS = Accounting(
    read=800,
    delivered_everywhere=len(ODD),
    dropped={"three": 80},
    unrouted=len(NUMBERS) - len(ODD | MALFORMED_TOO),
    dead_lettered=len(MALFORMED_TOO),
    sinks={"odd": SinkCounts(len(ODD), len(ODD))},
)
"""Of the delivery into a block alone, whose tasks meet their faults while it is written and while it is counted."""

KEPT = [number for number in range(800) if number % 10 != 3]
ODDS, FIVES = ({each for each in KEPT if each % 2 == 1}, {each for each in KEPT if each % 5 == 0})
OBSERVED = Accounting(
    read=800,
    delivered_everywhere=len(ODDS | FIVES),
    dropped={"three": 80},
    unrouted=len(KEPT) - len(ODDS | FIVES),
    sinks={"odd": SinkCounts(len(ODDS), len(ODDS)), "fives": SinkCounts(len(FIVES), len(FIVES))},
)
"""Of deliveries into two blocks, whose writes count."""


@pytest.fixture
def database(postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    url = postgres_url.replace("+psycopg", "")
    monkeypatch.setenv("SINK_URL", url)
    monkeypatch.setenv("SINK_DIRECTORY", str(tmp_path / "files"))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "create table records (record text primary key, partition text, number bigint check (number % 100 <> 50))"
        )
        PostgresSink(url, table="records").setup()
        yield connection


@pytest.fixture
def documents(opensearch_node: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    monkeypatch.setenv("SINK_NODE", opensearch_node)
    monkeypatch.setenv("SINK_INDEX", name := f"records-{uuid4().hex}")
    OpenSearchSink(opensearch_node, name).setup()
    with OpenSearch([opensearch_node]) as client:

        def found() -> list[dict[str, Any]]:
            client.indices.refresh(index=name)
            return [hit["_source"] for hit in scan(client, index=name)]

        yield found


@pytest.mark.parametrize("runs", [3, pytest.param(50, marks=[pytest.mark.long, pytest.mark.timeout(8_000)])])
def test_s13_counts_and_sinks_are_exact_whatever_executors_do(
    spark, task: Task, cluster: dict[str, str], database, documents, tmp_path: Path, runs: int
) -> None:
    (log := tmp_path / "events").mkdir()
    task.conf = cluster | SPECULATION | logging_events(log) | {"spark.task.maxFailures": "12"}
    coordinator = task.coordinator()
    keys = [f"run {number:02}" for number in range(runs)]
    coordinator.create_partitions(keys)
    driver = task.start(JOB, coordinator.get_next_partition(), max_leases=None)
    assert driver.process.wait(timeout=60 + 150 * runs) == 0, driver.text()
    assert coordinator.counts()[PartitionStatus.COMPLETED] == runs
    check_faults(Events.of(log), keys)
    for key in keys:
        assert Accounting.from_json((task.signs / f"{key}.accounting").read_text()) == EXACT, key
        assert Accounting.from_json((task.signs / f"{key}.blocks").read_text()) == EXACT_BLOCKS, key
        assert coordinator.partition(key).accounting == EXACT + EXACT_BLOCKS, key
    expected = {(key, number): 1 for key in keys for number in TABLE - REFUSED}
    assert Counter(database.execute("select partition, number from records").fetchall()) == expected
    lines = [json.loads(line) for file in (tmp_path / "files").glob("*.jsonl") for line in file.open()]
    assert Counter((line["partition"], line["number"]) for line in lines) == {(k, n): 1 for k in keys for n in FILES}
    found = Counter((each["partition"], each["number"]) for each in documents())
    assert found == {(key, number): 1 for key in keys for number in INDEX}
    check_published(spark, task, keys)


@pytest.mark.parametrize("runs", [1, pytest.param(10, marks=[pytest.mark.long, pytest.mark.timeout(6_000)])])
def test_s13_what_writes_have_counted_is_exact_or_is_not_believed(
    spark, task: Task, cluster: dict[str, str], tmp_path: Path, runs: int
) -> None:
    """Executors die, copies win, stages are repeated. Below a shuffle numbers are taken twice, and are refused."""
    (log := tmp_path / "events").mkdir()
    task.conf = cluster | SPECULATION | logging_events(log) | {"spark.task.maxFailures": "12"}
    coordinator = task.coordinator()
    kinds = ("no shuffle", "a shuffle below", "a shuffle above")
    keys = [f"{kind} {run:02}" for run in range(runs) for kind in kinds]
    coordinator.create_partitions(keys)
    driver = task.start(str(Path(JOB).with_name("observed.py")), coordinator.get_next_partition(), max_leases=None)
    assert driver.process.wait(timeout=60 + 450 * runs) == 0, driver.text()
    check_faults(events := Events.of(log), keys)
    for key in keys:
        assert (task.signs / f"{key}.problems").read_text() == "", key
        assert Accounting.from_json((task.signs / f"{key}.accounting").read_text()) == OBSERVED, key
        assert coordinator.partition(key).accounting == OBSERVED, key
        assert bool(events.repeated_stages(key)) == ("shuffle" in key and not key.startswith("no ")), key
    counted_again = {each.stem for each in task.signs.glob("*.counted")}
    assert counted_again == {key for key in keys if key.startswith("a shuffle above")}
    for dataset, numbers in (("odd", ODDS), ("fives", FIVES)):
        rows = read_completed(spark, store=task.store, source="flights", dataset=dataset).collect()
        assert Counter((row.partition, row.number) for row in rows) == {(key, n): 1 for key in keys for n in numbers}


def check_published(spark, task: Task, keys: list[str]) -> None:
    """The blocks and the dead letters have each record once."""
    for dataset, numbers in (("clean", CLEAN), ("odd", ODD)):
        rows = read_completed(spark, store=task.store, source="flights", dataset=dataset).collect()
        assert Counter((row.partition, row.number) for row in rows) == {(key, n): 1 for key in keys for n in numbers}
    dead = read_completed(spark, store=task.store, source="flights", dataset="dead").collect()
    by_condition = {(f"{key}-{n}", "dead_letters"): 1 for key in keys for n in MALFORMED}
    refused = {(f"{key}-{n}", "table"): 1 for key in keys for n in REFUSED}
    assert Counter((row.key, row.sink) for row in dead) == refused | by_condition
    assert all("CheckViolation" in row.reason for row in dead if row.sink == "table")
    malformed = read_completed(spark, store=task.store, source="flights", dataset="malformed").collect()
    assert Counter(row.key for row in malformed) == {f"{key}-{n}": 1 for key in keys for n in MALFORMED_TOO}


def check_faults(events: Events, keys: list[str]) -> None:
    """Make sure that it did happen: an executor died in every run, a copy won in most, and tasks failed."""
    for key in keys:
        assert "ExecutorLostFailure" in events.failures(key), key
    assert len(events.lost_executors()) >= len(keys)
    assert any("ExceptionFailure" in events.failures(key) for key in keys)
    assert sum(any(events.speculative(key)) for key in keys) * 2 > len(keys)
