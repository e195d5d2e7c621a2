"""``lease.deliver`` on Spark Connect, whose Python workers have no copy of this package but the one that is brought."""

from __future__ import annotations

import json
import sys
import time
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from airflow_coordination.leases import SettingsError, SourceCoordinator
from airflow_coordination.spark import Complete, DeadLetters, FileSink, PostgresSink, Publish, drain, read_completed
from airflow_coordination.stores import open_store
from airflow_coordination.systems.spark import archive
from airflow_coordination.systems.spark.connect import connect_session
from tests.integration.spark_connect.server import connect_server

ROOT = str(Path(__file__).parents[3])
HIDING = f"""
import sys
sys.path[:] = [place for place in sys.path if place != {ROOT!r}]
sys.meta_path[:] = [each for each in sys.meta_path if "editable" not in repr(each).lower()]
"""
"""Takes the editable installation out of a Python worker, which is this environment's otherwise."""


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory):
    """A Python that finds everything of this environment but our package."""
    folder = tmp_path_factory.mktemp("bare")
    (folder / "sitecustomize.py").write_text(HIDING)
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={folder}:$PYTHONPATH exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return python


@pytest.fixture(scope="module")
def bare_server(bare_python, tmp_path_factory):
    """A server whose Python workers do not have our package."""
    with connect_server(tmp_path_factory.mktemp("bare-connect"), python=str(bare_python)) as server:
        yield server


@pytest.fixture
def bare(bare_server):
    with connect_session(bare_server.url, {}) as session:
        yield session


@pytest.fixture
def run(bare, tmp_path):
    """Run a function on a partition, and return what it delivered, how it ended, and how to read a dataset."""
    store = open_store("memory://")
    store.setup()
    SourceCoordinator(store, source="s", owner="a person").create_partitions(["p"])

    def run(main):
        return drain(main, store=store, source="s", spark=bare, output_root=tmp_path / "out", max_leases=1)

    run.read = lambda dataset: read_completed(bare, store=store, source="s", dataset=dataset)
    return run


def test_its_workers_do_not_have_the_package(bare):
    def look(batches):
        import importlib.util

        import pyarrow as pa

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"found": [str(importlib.util.find_spec("airflow_coordination"))]})

    assert [row.found for row in bare.range(1).mapInArrow(look, "found string").collect()] == ["None"]


def test_s13_every_record_reaches_its_sinks_and_is_counted(run, tmp_path, postgres_url):
    url = postgres_url.replace("+psycopg", "")
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE numbers (k bigint PRIMARY KEY, v text)")
    PostgresSink(url, "numbers").setup()
    sinks = {
        "clean": Publish("clean", where="k % 2 = 0"),
        "files": FileSink(str(tmp_path / "files"), where="k < 50"),
        "table": PostgresSink(url, "numbers", where="k >= 90"),
    }
    found = []

    def main(spark, lease):
        records = spark.range(100).selectExpr("id as k", "if(id = 95, null, 'v') as v").repartition(3)
        dead = DeadLetters("dead", where="k = 60")
        found.append(lease.deliver(records, "k", sinks, drop={"seven": "k = 7"}, dead_letters=dead))
        return Complete()

    drained = run(main)
    assert (drained.completed, drained.errors) == (1, ())
    [done] = found
    assert done.positive
    assert (done.accounting.read, done.accounting.dropped, done.accounting.dead_lettered) == (100, {"seven": 1}, 1)
    assert [(row.key, row.sink) for row in run.read("dead").collect()] == [("60", "dead_letters")]
    assert {name: counts.delivered for name, counts in done.accounting.sinks.items()} == {
        "clean": 49,
        "files": 49,
        "table": 10,
    }
    assert sorted(row.k for row in run.read("clean").collect()) == [k for k in range(0, 100, 2) if k != 60]
    lines = [json.loads(line) for file in (tmp_path / "files").rglob("*.jsonl") for line in file.open()]
    assert sorted(line["k"] for line in lines) == [k for k in range(50) if k != 7]
    with psycopg.connect(url) as connection:
        assert [k for (k,) in connection.execute("SELECT k FROM numbers ORDER BY k")] == list(range(90, 100))


def test_s13_a_delivery_that_takes_too_long_is_cancelled_and_negative(run, tmp_path):
    found = []

    def main(spark, lease):
        slow = spark.range(4).selectExpr("id as k", "java_method('java.lang.Thread', 'sleep', 600000L) as v")
        began = time.monotonic()
        sinks = {"files": FileSink(str(tmp_path / "files"))}
        found.append(lease.deliver(slow, "k", sinks, check_keys=False, acknowledgment_timeout=timedelta(seconds=3)))
        found.append(time.monotonic() - began)
        return Complete()

    drained = run(main)
    done, took = found
    assert (done.positive, done.expired) == (False, True)
    assert took < 300
    assert drained.failed == 1
    assert "acknowledgment_timeout" in drained.errors[0][1]


def test_a_server_that_takes_no_artifact_is_said(bare, monkeypatch):
    def refuses(*_, **__):
        raise RuntimeError("artifacts are off")

    monkeypatch.setattr(bare, "addArtifacts", refuses)
    with pytest.raises(SettingsError, match=r"is not taken by the Spark Connect server: .*artifacts are off"):
        archive.bring(bare)
