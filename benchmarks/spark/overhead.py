"""P10 and P11: what a lease and its publication add to a partition, in a running Spark application and in a new one.

Many partitions are drained, each of which publishes one small file; beside it the same files are written by hand. What
is started for one partition is in :mod:`benchmarks.spark.submits`.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from airflow_coordination import Complete, SourceCoordinator, drain, open_store
from benchmarks.goals import Reading, Readings
from benchmarks.harness.postgres import database_and_folder
from benchmarks.harness.run import Run
from benchmarks.spark import submits
from benchmarks.spark.rounds import Seconds, Ways, in_turn
from benchmarks.spark.session import session, write_file

PARTITIONS, ROUNDS, WARM = 64, 15, 2
_SOURCE, _DATASET = "flights", "clean"


def benchmark(run: Run) -> Readings:
    """Measure; there is nothing to count here."""
    if run.quick:
        return run.nothing_to_count()
    spark = session()
    try:
        with database_and_folder() as (url, folder):
            seconds = _measured(run, spark, url, folder)
    finally:
        spark.stop()
    return _reading(run, seconds) | submits.readings(run)


def _measured(run: Run, spark: Any, url: str, folder: Path) -> Seconds:
    store, rounds = open_store(url), run.scaled(ROUNDS, 3)
    store.setup()
    source = SourceCoordinator(store, source=_SOURCE, owner="benchmark")
    source.create_partitions(map(str, range(2 * PARTITIONS * (WARM + rounds))))

    def published(spark: Any, lease: Any) -> Complete:
        with lease.publish(_DATASET) as block:
            write_file(Path(urlsplit(block.path).path), int(lease.partition.key))
        return Complete()

    def unpublished(spark: Any, lease: Any) -> Complete:
        write_file(folder / "unpublished" / lease.partition.key, int(lease.partition.key))
        return Complete()

    def drained(main: Any) -> None:
        out = str(folder / "output")
        done = drain(main, store=store, source=_SOURCE, spark=spark, output_root=out, max_leases=PARTITIONS)
        assert done.completed == PARTITIONS, done.errors

    def by_hand(number: int) -> None:
        for each in range(PARTITIONS):
            write_file(folder / f"by-hand/{number}/{each}", each)

    ways: Ways = {
        "drained": lambda _: drained(published),
        "drained, nothing published": lambda _: drained(unpublished),
        "by hand": by_hand,
    }
    seconds = in_turn(run, "P10", ways, rounds, WARM)
    store.close()
    return seconds


def _reading(run: Run, seconds: Seconds) -> Readings:
    each = {name: [1_000 * one / PARTITIONS for one in taken] for name, taken in seconds.items()}
    table = run.table(f"{PARTITIONS} partitions, {len(each['drained'])} rounds", "way", "ms a partition (median)")
    for name, milliseconds in each.items():
        table.add_row(name, f"{median(milliseconds):.2f}")
    run.console.print(table)
    own = sorted(mine - other for mine, other in zip(each["drained"], each["by hand"], strict=True))
    tenth = (len(own) - 1) // 10
    shown = f"{median(own):.2f} ({own[tenth]:.2f}–{own[-1 - tenth]:.2f})"
    drained, unpublished, by_hand = (f"{median(milliseconds):.2f} ms" for milliseconds in each.values())
    ours = f"{drained}; {unpublished} without publishing"
    return {"P10 overhead": Reading(median(own), shown, ours, by_hand)}
