"""One odd record among a hundred, for every sink there is: 99 are delivered in one run, and the odd one is named."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from uuid import uuid4

import psycopg
import pytest

import airflow_coordination.sinks
import airflow_coordination.spark
from airflow_coordination.leases import PartitionStatus
from airflow_coordination.spark import (
    Complete,
    DataPrepperDeadLetters,
    DeadLetters,
    FileSink,
    HttpSink,
    OpenSearchSink,
    PostgresSink,
    Publish,
    read_completed,
)
from tests.integration.spark.one_partition import coordinator, run, store
from tests.unit.systems.http.test_http import Server

__all__ = ["coordinator", "run", "store"]

ODD = "odd"
DEAD = DeadLetters("dead")
BEYOND = "timestamp_micros(253402300800000000)"
"""The year 10000, which Python has not."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Takes no record whose value is "bad"."""
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def given(tmp_path, server, postgres_url, opensearch_node, name):
    """Return the sink of a name, where its refusals go, and the column of which one record has an odd value."""
    return MADE[name](str(tmp_path), server.url, postgres_url.replace("+psycopg", ""), opensearch_node)


def _table(path, url, database, node):
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("create table hundred (k bigint primary key, value smallint)")
    (sink := PostgresSink(database, table="hundred")).setup()
    return sink, DEAD, ("100000", "1")


def _index(path, url, database, node):
    (sink := OpenSearchSink(node, f"hundred-{uuid4().hex}")).setup()
    with sink.client() as client:
        client.indices.put_mapping(index=sink.index, body={"properties": {"value": {"type": "date"}}})
    return sink, DEAD, ("'no day'", "'2026-01-01'")


MADE = {
    "Publish": lambda path, *_: (Publish("clean"), DeadLetters("dead", where="value = 'odd'"), ("'odd'", "'v'")),
    "DeadLetters": lambda path, *_: (FileSink(f"{path}/x"), DEAD, ("double('NaN')", "1d")),
    "DataPrepperDeadLetters": lambda path, *_: (
        FileSink(f"{path}/x"),
        DataPrepperDeadLetters(f"{path}/dead"),
        ("double('NaN')", "1d"),
    ),
    "FileSink": lambda path, *_: (FileSink(f"{path}/x"), DEAD, (BEYOND, "timestamp'2026-01-01'")),
    "FileSink parquet": lambda path, *_: (
        FileSink(f"{path}/x", format="parquet"),
        DEAD,
        (BEYOND, "timestamp'2026-01-01'"),
    ),
    "HttpSink": lambda path, url, *_: (HttpSink(url), DEAD, ("'bad'", "'v'")),
    "PostgresSink": _table,
    "OpenSearchSink": _index,
}
"""A sink that is new has its place here: see the test below."""


@pytest.mark.parametrize("name", MADE)
def test_d7_one_odd_among_a_hundred_is_the_only_one_that_stays(run, spark, store, coordinator, tmp_path, name, given):
    sink, letters, (odd, value) = given
    found = {}

    def main(spark, lease):
        records = spark.range(100, numPartitions=2).selectExpr("id as k", f"if(id = 42, {odd}, {value}) as value")
        found["done"] = lease.deliver(records, "k", {"it": sink}, dead_letters=letters)
        return Complete()

    run(main)
    counts = found["done"].accounting
    assert (found["done"].positive, counts.delivered["it"], counts.dead_lettered) == (True, 99, 1), found[
        "done"
    ].problems
    assert coordinator.partition("p").status is PartitionStatus.COMPLETED
    assert _keys(spark, store, tmp_path, letters) == ["42"]


def _keys(spark, store, tmp_path, letters) -> list[str]:
    if isinstance(letters, DeadLetters):
        return [row.key for row in read_completed(spark, store=store, source="s", dataset="dead").collect()]
    files = [json.loads(file.read_text()) for file in (tmp_path / "dead").rglob("dlq-*.json")]
    return [letter["failedData"]["indexId"] for file in files for letter in file["dlqObjects"]]


def test_every_sink_is_among_them() -> None:
    """Whatever is public and has a condition of its own is a sink, or a place for what sinks refuse."""
    public = {**vars(airflow_coordination.sinks), **vars(airflow_coordination.spark)}
    sinks = {
        name for name, each in public.items() if isinstance(each, type) and is_dataclass(each) and _has_where(each)
    }
    assert sinks == {name.split()[0] for name in MADE}


def _has_where(sink: type) -> bool:
    return "where" in {field.name for field in fields(sink)}
