"""W5: lines of CSV into a table of PostgreSQL, beside what somebody writes who wants it once whatever is repeated.

That is Spark's own writer of JDBC into a staging table, with the driver's batches, and one upsert out of it by hand.
Keys are looked at as by default; what that costs is seen beside ``check_keys=False``.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from airflow_coordination import Complete, SourceCoordinator
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.spark import PostgresSink
from benchmarks.goals import Readings
from benchmarks.harness.figures import of_pairs
from benchmarks.harness.run import Run
from benchmarks.spark.lines import SCHEMA, drain_whole, write_lines
from benchmarks.spark.rounds import Seconds, in_turn, reading
from scripts.java_packages import jars

LARGE, SMALL, WARM = 100_000, 1_000, 2
_STAGED, _OURS, _WITHOUT = "a staging table and an upsert", "a table, counted", "without the look at keys"
_COLUMNS = ("id", "day", "dep_time", "carrier", "delay")
_TABLE = "id bigint primary key, day int, dep_time int, carrier text, delay double precision"
_CHANGES = ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[1:])
_UPSERT = f"insert into staged select * from stage on conflict (id) do update set {_CHANGES}"
_DRIVER = "org.postgresql.Driver"


def settings() -> dict[str, str]:
    """Return what the session needs to write by JDBC."""
    return {"spark.jars": ",".join(map(str, jars("postgres-jdbc").glob("*.jar")))}


def measured(run: Run, spark: Any, store: PartitionStore, url: str, folder: Path) -> Readings:
    """Measure both sizes.

    :param url: of the database that has the tables.
    """
    database = url.replace("+psycopg", "")
    large = _delivered(run, spark, store, database, folder, run.scaled(LARGE, 2 * SMALL), run.scaled(7, 3))
    small = _delivered(run, spark, store, database, folder, SMALL, run.scaled(9, 3))
    return reading("W5 large", large[_OURS], large[_STAGED]) | reading("W5 small", small[_OURS], small[_STAGED])


def _delivered(
    run: Run, spark: Any, store: PartitionStore, database: str, folder: Path, rows: int, rounds: int
) -> Seconds:
    lines, numbers, owed = str(folder / f"table-{rows}"), count(), rows - (rows + 49) // 50
    write_lines(spark, lines, rows, 1)
    coordinator = SourceCoordinator(store, source=f"table-{rows}", owner="benchmark")
    table = PostgresSink(database, table="delivered", columns=_COLUMNS)

    def records() -> Any:
        return spark.read.schema(SCHEMA).csv(lines, header=True)

    def emptied(name: str, more: str = "") -> None:
        with psycopg.connect(database) as connection:
            connection.execute(f"drop table if exists {name}")
            connection.execute(f"create table {name} ({_TABLE}{more})")

    def staged(_: int) -> None:
        emptied("staged")
        kept, place = records().where("dep_time is not null"), f"{_jdbc(database)}&reWriteBatchedInserts=true"
        kept.write.jdbc(place, "stage", mode="overwrite", properties={"driver": _DRIVER})
        with psycopg.connect(database) as connection:
            assert connection.execute(_UPSERT).rowcount == owed

    def ours(_: int, **more: Any) -> None:
        def delivering(spark: Any, lease: Any) -> Complete:
            done = lease.deliver(records(), "id", {"table": table}, drop={"cancelled": "dep_time is null"}, **more)
            assert (done.positive, done.accounting.delivered) == (True, {"table": owed}), done
            return Complete()

        emptied("delivered", ", lease_partition text, lease_fence bigint")
        coordinator.create_partitions([str(next(numbers))])
        drain_whole(delivering, coordinator, spark, f"{folder}/out", 1)

    ways = {_STAGED: staged, _OURS: ours, _WITHOUT: lambda number: ours(number, check_keys=False)}
    seconds = in_turn(run, f"W5, {rows:,} lines", ways, rounds, WARM)
    _show(run, seconds, rows)
    return seconds


def _jdbc(database: str) -> str:
    found = conninfo_to_dict(database)
    return f"jdbc:postgresql://{found['host']}:{found['port']}/{found['dbname']}?user={found['user']}"


def _show(run: Run, seconds: Seconds, rows: int) -> None:
    table = run.table(f"W5, {rows:,} lines", "way", "seconds (median)", f"beside {_STAGED}")
    for name, each in seconds.items():
        ratio = of_pairs([mine / other for mine, other in zip(each, seconds[_STAGED], strict=True)])
        table.add_row(name, f"{median(each):.2f}", str(ratio))
    run.console.print(table)
