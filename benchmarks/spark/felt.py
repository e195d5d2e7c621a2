"""W1 to W9: what a user waits for, beside what they would do instead, in turns within one run.

W1 lists a folder of small files and works them in groups, beside one plain Spark job that reads all. W2 makes each file
a partition, beside a Spark loop (``each_file.py``). W3 works many leases in one Spark job, beside ``partitionBy``
(``together.py``). W4 delivers lines of CSV into a block, each record accounted for, beside ``write.parquet`` of the
same. W5 delivers them into a table of PostgreSQL (``table.py``). W6 reads what many partitions have published
(``published.py``). W7 drains partitions that do nothing, one and four at a time, beside the coordinator alone, which
takes and completes as many. W8 kills a driver (``killed.py``), W9 is somebody's first minute (``quickstart.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

from airflow_coordination import Complete, SourceCoordinator, drain, open_store
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.sources import object_listing, spark_paths
from airflow_coordination.spark import Publish
from benchmarks import killed, quickstart
from benchmarks.goals import Readings
from benchmarks.harness.postgres import database_and_folder
from benchmarks.harness.run import Run
from benchmarks.spark import each_file, published, table, together
from benchmarks.spark.lines import SCHEMA, drain_whole, write_lines, write_small
from benchmarks.spark.rounds import Seconds, in_turn, reading
from benchmarks.spark.session import session

LARGE, SMALL, WARM = 2_000_000, 1_000, 2
FILES, LINES, GROUP = 2_000, 50, 1_000
"""Names of so many files are in a file themselves: a payload of 4 KB takes 340."""
PARTITIONS, PLACES = 500, 4
_ONE_JOB, _GROUPS = "one plain job", f"groups of {GROUP}"
_PLAIN, _OURS = "write.parquet", "a block, counted"
_ALONE, _ONE, _MANY = "the coordinator alone", "one drain", f"one drain, {PLACES} at a time"


def benchmark(run: Run) -> Readings:
    """Measure; there is nothing to count here."""
    if run.quick:
        return run.nothing_to_count()
    spark = session(**table.settings())
    try:
        with database_and_folder() as (url, folder):
            store = open_store(url)
            store.setup()
            grouped = _grouped(run, spark, store, folder, run.scaled(FILES, GROUP), run.scaled(5, 3))
            each = each_file.measured(run, spark, store, folder)
            large = _delivered(run, spark, store, folder, run.scaled(LARGE, SMALL), run.scaled(5, 3))
            small = _delivered(run, spark, store, folder, SMALL, run.scaled(9, 3))
            many = together.measured(run, spark, store, folder)
            tables = table.measured(run, spark, store, url, folder)
            idle = _drained(run, spark, store, run.scaled(PARTITIONS, 50), run.scaled(7, 3))
            store.close()
    finally:
        spark.stop()
    return (
        reading("W1", grouped[_GROUPS], grouped[_ONE_JOB])
        | each
        | reading("W4 large", large[_OURS], large[_PLAIN])
        | reading("W4 small", small[_OURS], small[_PLAIN])
        | many
        | tables
        | published.measured(run)
        | reading("W7 one", idle[_ONE], idle[_ALONE])
        | reading("W7 many", idle[_ONE], idle[_MANY])
        | killed.measured(run)
        | quickstart.measured(run)
    )


def _grouped(run: Run, spark: Any, store: PartitionStore, folder: Path, files: int, rounds: int) -> Seconds:
    """Listing, creation and work: all that somebody waits for."""
    small = folder / "small"
    write_small(small, files, LINES)

    def clean(paths: str | list[str]) -> Any:
        return spark.read.schema(SCHEMA).csv(paths, header=True).where("dep_time is not null")

    def publishing(spark: Any, lease: Any) -> Complete:
        with lease.publish("clean") as block:
            clean(spark_paths(lease.partition.payload)).write.parquet(block.path)
        return Complete()

    def ours(number: int) -> None:
        coordinator = SourceCoordinator(store, source=f"small-{number}", owner="benchmark")
        root = f"{folder}/small-out"
        coordinator.run_supplier(
            object_listing(str(small), scan="once", lateness=timedelta(0), max_objects=GROUP, output_root=root)
        )
        drain_whole(publishing, coordinator, spark, root, sum(coordinator.counts().values()))

    def one_job(number: int) -> None:
        clean(str(small)).write.parquet(f"{folder}/small-{number}")

    return in_turn(run, f"W1, {files:,} files", {_ONE_JOB: one_job, _GROUPS: ours}, rounds, 1)


def _delivered(run: Run, spark: Any, store: PartitionStore, folder: Path, rows: int, rounds: int) -> Seconds:
    lines, numbers = str(folder / f"lines-{rows}"), count()
    write_lines(spark, lines, rows, 4 if rows == LARGE else 1)
    coordinator = SourceCoordinator(store, source=f"lines-{rows}", owner="benchmark")

    def records() -> Any:
        return spark.read.schema(SCHEMA).csv(lines, header=True)

    def plain(_: int) -> None:
        records().where("dep_time is not null").write.parquet(f"{folder}/plain-{rows}-{next(numbers)}")

    def delivering(spark: Any, lease: Any) -> Complete:
        done = lease.deliver(records(), "id", {"clean": Publish("clean")}, drop={"cancelled": "dep_time is null"})
        assert (done.positive, done.accounting.read) == (True, rows), done
        return Complete()

    def ours(_: int) -> None:
        coordinator.create_partitions([str(next(numbers))])
        drain_whole(delivering, coordinator, spark, f"{folder}/out", 1)

    return in_turn(run, f"W4, {rows:,} lines", {_PLAIN: plain, _OURS: ours}, rounds, WARM)


def _drained(run: Run, spark: Any, store: PartitionStore, partitions: int, rounds: int) -> Seconds:
    """Each way has a source of its own, filled beforehand."""

    def filled(name: str) -> SourceCoordinator:
        coordinator = SourceCoordinator(store, source=name, owner="benchmark")
        coordinator.create_partitions(f"{number:07}" for number in range(partitions * (rounds + WARM)))
        return coordinator

    def alone(_: int) -> None:
        lease = by_hand.get_next_partition()
        for _ in range(partitions - 1):
            assert lease is not None
            lease = by_hand.complete_and_get_next(lease)
        assert lease is not None
        by_hand.complete(lease)

    def drained(places: int) -> Callable[[int], None]:
        source = filled(f"{places} at a time").source
        more: dict[str, Any] = {"max_leases": partitions, "concurrent_leases": places}

        def drained(_: int) -> None:
            done = drain(lambda spark, lease: Complete(), store=store, source=source, spark=spark, **more)
            assert done.completed == partitions, done.errors

        return drained

    by_hand = filled("by hand")
    return in_turn(run, "W7", {_ALONE: alone, _ONE: drained(1), _MANY: drained(PLACES)}, rounds, WARM)
