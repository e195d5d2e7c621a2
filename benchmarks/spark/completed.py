"""P13: `read_completed` of many files, beside a list of the same files by hand at the same discovery parallelism.

Both count all rows in one Spark, in turn. The files are published by a drain and written by pyarrow. Five times as many
are then planned only, and what the driver keeps of them is looked at: the heap of its JVM after a collection, and the
memory of its Python.
"""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from airflow_coordination import Complete, SourceCoordinator, drain, open_store, read_completed
from airflow_coordination.protocol.port import PartitionStore
from benchmarks.goals import Reading, Readings
from benchmarks.harness.figures import of_pairs
from benchmarks.harness.run import Run
from benchmarks.spark.rounds import Seconds, in_turn
from benchmarks.spark.session import session, write_file

PARTITIONS, FILES = 100, 100
"""Partitions, and files of each."""
PLANNED, EACH = 50, 1_000
"""The same of what is only planned."""
ROUNDS, WARM = 5, 1
PARALLELISM = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
_SOURCE, _DATASET = "flights", "clean"


def benchmark(run: Run) -> Readings:
    """Measure; there is nothing to count here."""
    if run.quick:
        return run.nothing_to_count()
    partitions, rounds = run.scaled(PARTITIONS, 3), run.scaled(ROUNDS, 2)
    spark = session()
    try:
        with tempfile.TemporaryDirectory() as folder:
            store = open_store(f"sqlite:///{folder}/coordination.db")
            paths = _published(spark, store, Path(folder), partitions)
            seconds = _measured(run, spark, store, paths, rounds)
            planned = _planned(spark, store, Path(folder), run.scaled(PLANNED, 2))
            store.close()
    finally:
        spark.stop()
    return _reading(run, seconds, len(paths)) | planned


def _published(spark: Any, store: PartitionStore, folder: Path, partitions: int) -> list[str]:
    """Publish small files, and return where they are."""
    store.setup()
    SourceCoordinator(store, source=_SOURCE, owner="benchmark").create_partitions(map(str, range(partitions)))

    def write(spark: Any, lease: Any) -> Complete:
        first = int(lease.partition.key) * FILES
        with lease.publish(_DATASET) as block:
            for number in range(first, first + FILES):
                write_file(Path(urlsplit(block.path).path), number)
        return Complete()

    out = folder / "output"
    done = drain(write, store=store, source=_SOURCE, spark=spark, output_root=str(out), max_leases=None)
    assert done.completed == partitions, done.errors
    paths = sorted(str(path) for path in out.rglob("part-*.parquet"))
    assert len(paths) == partitions * FILES
    return paths


def _measured(run: Run, spark: Any, store: PartitionStore, paths: list[str], rounds: int) -> Seconds:
    def by_hand() -> int:
        before = spark.conf.get(PARALLELISM)
        spark.conf.set(PARALLELISM, "8")
        try:
            return int(spark.read.parquet(*paths).count())
        finally:
            spark.conf.set(PARALLELISM, before)

    def ours() -> int:
        return int(read_completed(spark, store=store, source=_SOURCE, dataset=_DATASET).count())

    def counted(read: Callable[[], int]) -> Callable[[int], None]:
        def count(_: int) -> None:
            assert read() == len(paths)

        return count

    ways = {"read_completed": counted(ours), "by hand": counted(by_hand)}
    return in_turn(run, "P13", ways, rounds, WARM)


def _planned(spark: Any, store: PartitionStore, folder: Path, partitions: int) -> Readings:
    """Plan a scan of many files, and tell what the driver keeps for it."""
    source, dataset = "planned", "linked"
    SourceCoordinator(store, source=source, owner="benchmark").create_partitions(map(str, range(partitions)))
    write_file(folder / "one", 0)
    [one] = (folder / "one").iterdir()

    def link(spark: Any, lease: Any) -> Complete:
        with lease.publish(dataset) as block:
            place = Path(urlsplit(block.path).path)
            place.mkdir(parents=True, exist_ok=True)
            for number in range(EACH):
                os.link(one, place / f"part-{number:05}.parquet")
        return Complete()

    out = str(folder / "planned")
    done = drain(link, store=store, source=source, spark=spark, output_root=out, max_leases=None)
    assert done.completed == partitions, done.errors
    before = _kept(spark)
    frame = read_completed(spark, store=store, source=source, dataset=dataset)
    files = len(frame._jdf.queryExecution().executedPlan().toString()) and len(frame.inputFiles())
    assert files == partitions * EACH
    heap, python = (now - then for now, then in zip(_kept(spark), before, strict=True))
    shown = f"{heap + python:.0f}"
    return {"P13 memory": Reading(heap + python, shown, f"{files:,} files: heap {heap:.0f}, Python {python:.0f} MiB")}


def _kept(spark: Any) -> tuple[float, float]:
    """Return MiB of the JVM's heap that is in use after a collection, and of this process's memory."""
    gc.collect()
    runtime = spark._jvm.java.lang.Runtime.getRuntime()
    spark._jvm.java.lang.System.gc()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return (runtime.totalMemory() - runtime.freeMemory()) / 2**20, pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _reading(run: Run, seconds: Seconds, files: int) -> Readings:
    ours, theirs = seconds["read_completed"], seconds["by hand"]
    found = of_pairs([mine / other for mine, other in zip(ours, theirs, strict=True)])
    table = run.table(f"{files:,} files read and counted, {len(ours)} rounds", "way", "seconds (median)")
    for name, each in seconds.items():
        table.add_row(name, f"{median(each):.2f}")
    run.console.print(table)
    return {"P13": Reading(found.middle, str(found), f"{median(ours):.2f} s", f"{median(theirs):.2f} s")}
