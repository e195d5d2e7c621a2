"""W2: small files, each a partition of its own, beside a plain Spark loop; and with a function of pyarrow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from airflow_coordination import Complete, SourceCoordinator, drain
from airflow_coordination.protocol.port import PartitionStore
from benchmarks.goals import Reading, Readings
from benchmarks.harness.run import Run
from benchmarks.spark.lines import SCHEMA, write_small
from benchmarks.spark.rounds import in_turn, reading

FILES, LINES, ROUNDS, WARM = 50, 50, 7, 2
_LOOP, _SPARK, _ARROW = "a Spark loop", "a file a partition", "the same, pyarrow"


def measured(run: Run, spark: Any, store: PartitionStore, folder: Path) -> Readings:
    """Return what a partition is beside a turn of the loop, and its milliseconds where no Spark is in it."""
    small, files = folder / "alone", run.scaled(FILES, 10)
    write_small(small, files, LINES)
    names = sorted(path.name for path in small.iterdir())

    def loop(number: int) -> None:
        for name in names:
            _clean(spark, small / name).write.parquet(f"{folder}/alone-loop-{number}/{name}")

    def by_spark(spark: Any, lease: Any) -> Complete:
        with lease.publish("clean") as block:
            _clean(spark, small / lease.partition.key.partition("|")[2]).write.parquet(block.path)
        return Complete()

    def by_arrow(spark: Any, lease: Any) -> Complete:
        rows = pa_csv.read_csv(small / lease.partition.key.partition("|")[2])
        with lease.publish("clean") as block:
            Path(block.path).mkdir(parents=True, exist_ok=True)
            pq.write_table(rows.filter(rows["dep_time"].is_valid()), f"{block.path}/part-0.parquet")
        return Complete()

    def drained(main: Callable[[Any, Any], Complete], spark: Any) -> Callable[[int], None]:
        source = SourceCoordinator(store, source=main.__name__, owner="benchmark")
        source.create_partitions(f"{number}|{name}" for number in range(WARM + ROUNDS) for name in names)

        def drained(_: int) -> None:
            root = f"{folder}/alone-out"
            done = drain(main, store=store, source=source.source, spark=spark, output_root=root, max_leases=files)
            assert done.completed == files, done.errors

        return drained

    ways = {_LOOP: loop, _SPARK: drained(by_spark, spark), _ARROW: drained(by_arrow, None)}
    seconds = in_turn(run, f"W2, {files} files", ways, run.scaled(ROUNDS, 3), WARM)
    one = [1_000 * each / files for each in seconds[_ARROW]]
    shown = f"{median(one):.1f} ({min(one):.1f}–{max(one):.1f})"
    return reading("W2 loop", seconds[_SPARK], seconds[_LOOP]) | {
        "W2 pyarrow": Reading(median(one), shown, f"{median(one):.1f} ms", "")
    }


def _clean(spark: Any, path: Path) -> Any:
    return spark.read.schema(SCHEMA).csv(str(path), header=True).where("dep_time is not null")
