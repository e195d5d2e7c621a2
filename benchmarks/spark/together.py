"""W3: many leases in one Spark job, beside Spark's own ``partitionBy`` of the same rows, in turns within one run.

Each lease is a file of some lines, and has its own block, its own ending and its own answer. Both ways read the same
files, and write a directory for each; ours acquires, renews and ends a lease for each beside it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow_coordination import Complete, PartitionIdentifier, SourceCoordinator, drain
from airflow_coordination.protocol.port import PartitionStore
from benchmarks.goals import Readings
from benchmarks.harness.run import Run
from benchmarks.spark.lines import SCHEMA, write_small
from benchmarks.spark.rounds import in_turn, reading

LEASES, LINES, WARM = 200, 50, 2
_PLAIN, _OURS = "partitionBy", f"{LEASES} leases together"


def measured(run: Run, spark: Any, store: PartitionStore, folder: Path) -> Readings:
    """Measure, with partitions that are there beforehand."""
    from pyspark.sql import functions as fn

    rounds, small = run.scaled(7, 3), folder / "each"
    write_small(small, LEASES, LINES)
    for number in range(WARM + rounds):
        _filled(store, number, small)

    def plain(number: int) -> None:
        rows = spark.read.schema(SCHEMA).csv(str(small), header=True)
        named = rows.withColumn("file", fn.element_at(fn.split(fn.input_file_name(), "/"), -1))
        named.write.partitionBy("file").parquet(f"{folder}/each-{number}")

    def publishing(spark: Any, leases: Any) -> Complete:
        rows = spark.read.schema(SCHEMA).csv(leases.paths, header=True)
        counts = leases.publish("clean", leases.with_keys(rows, "file"), by="file")
        assert list(counts.values()) == [LINES] * LEASES, counts
        return Complete()

    def ours(number: int) -> None:
        more: dict[str, Any] = {"max_leases": LEASES, "together": LEASES, "output_root": f"{folder}/each-out"}
        done = drain(publishing, store=store, source=f"each-{number}", spark=spark, **more)
        assert done.completed == LEASES, done.errors

    seconds = in_turn(run, f"W3, {LEASES} leases", {_PLAIN: plain, _OURS: ours}, rounds, WARM)
    return reading("W3", seconds[_OURS], seconds[_PLAIN])


def _filled(store: PartitionStore, number: int, small: Path) -> None:
    coordinator = SourceCoordinator(store, source=f"each-{number}", owner="benchmark")
    files = sorted(small.iterdir())
    coordinator.create_partitions(PartitionIdentifier(file.name, {"path": str(file)}) for file in files)
