"""This package: partitions that publish under leases, and the landed worker that merges what they have published."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from airflow_coordination import Complete, SourceCoordinator, drain, open_store, read_completed
from airflow_coordination.compaction import CompactionConfig
from airflow_coordination.leases import PartitionIdentifier
from airflow_coordination.outputs import published_manifests
from airflow_coordination.outputs.merging import group_key
from airflow_coordination.outputs.overlays import merged_source
from airflow_coordination.planning.compaction.groups import GroupWork
from airflow_coordination.planning.intervals import parse_interval
from airflow_coordination.spark.upkeep import compact
from benchmarks.spark.session import session

_DATASET, _BY = "clean", "benchmark"
_CONFIG = CompactionConfig(_DATASET, granularity="MONTH")
_CHUNK = parse_interval("chunk", "2013-01/P1M")
_GROUP = group_key(1, _DATASET, "2013-01-01T00:00:00Z", 0)


class Leased:
    """A source for each table, with the month's partitions.

    :param month: folder with a directory for each partition.
    :param folder: where output goes.
    :param url: of a store that has its tables.
    """

    def __init__(self, month: str, folder: str, url: str) -> None:
        self._month, self._folder, self._store = Path(month), folder, open_store(url)
        self._spark = session()
        self._editions: dict[tuple[str, str], int] = {}

    def fill(self, table: str) -> None:
        """Take the month in, a file for each of its files."""
        keys = [path.name for path in self._month.iterdir()]
        self._coordinator(table).create_partitions(keys)

        def main(spark: Any, lease: Any) -> Complete:
            with lease.publish(_DATASET) as block:
                shutil.copytree(self._month / lease.partition.key, urlsplit(block.path).path, dirs_exist_ok=True)
            return _complete(lease)

        self._drain(main, table, len(keys), max_leases=None)

    def read(self, table: str) -> int:
        """Read all columns of all rows; return how many rows."""
        self._frame(table).write.format("noop").mode("overwrite").save()
        return int(self._frame(table).count())

    def compact(self, table: str) -> None:
        """Merge small files: the month's group is made claimable, as the planner does, and a worker takes it."""
        source = merged_source(table)
        work = GroupWork(config=_CONFIG, chunk=_CHUNK)
        groups = self._coordinator(source)
        if groups.create_partitions([PartitionIdentifier(_GROUP, work.to_payload())]).existing:
            groups.people.reset(_GROUP, by=_BY, why="new blocks")
        self._drain(compact, source, 1)

    def files(self, table: str) -> tuple[int, int]:
        """Return how many files readers open, and their bytes."""
        found = {
            (manifest.directory, file.path): file.size
            for manifest in published_manifests(self._store, table, _DATASET)
            for file in manifest.files
        }
        return len(found), sum(found.values())

    def editions(self, table: str) -> dict[int, int]:
        """Return how many rows there are of each edition."""
        counted = self._frame(table).groupBy("edition").count().collect()
        return {row["edition"]: row["count"] for row in counted}

    def write(self, table: str, key: str, edition: int) -> None:
        """Replace the rows of a partition by edition 1, or add those of edition 2 to it."""
        if self._editions.get((table, key)) != edition:
            self._editions[table, key] = edition
            self._coordinator(table).people.reset(key, by=_BY, why="new rows")

        def main(spark: Any, lease: Any) -> Complete:
            from pyspark.sql.functions import lit

            key = lease.partition.key
            edition = self._editions[table, key]
            with lease.publish(_DATASET, "replace" if edition == 1 else "append") as block:
                frame = spark.read.parquet(str(self._month / key)).withColumn("edition", lit(edition))
                frame.write.parquet(block.path)
            return _complete(lease)

        self._drain(main, table, 1)

    def close(self) -> None:
        """End its Spark, and its connections."""
        self._spark.stop()
        self._store.close()

    def _frame(self, table: str) -> Any:
        return read_completed(self._spark, store=self._store, source=table, dataset=_DATASET)

    def _coordinator(self, source: str) -> SourceCoordinator:
        return SourceCoordinator(self._store, source, _BY)

    def _drain(self, main: Any, source: str, wanted: int, max_leases: int | None = 1) -> None:
        done = drain(
            main, store=self._store, source=source, spark=self._spark, output_root=self._folder, max_leases=max_leases
        )
        if done.completed != wanted:
            raise RuntimeError(f"{done.completed} of {wanted} completed: {done.errors}")


def _complete(lease: Any) -> Complete:
    """Say of which time the rows are, as the key tells it: of a half of its day."""
    day, _, half = lease.partition.key.split("_")
    return Complete(interval=f"{day}T00/PT12H" if half == "am" else f"{day}T12/PT12H")
