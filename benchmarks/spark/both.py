"""What today's package does in Spark and what it did before: written with names that both versions have.

Each is a :class:`benchmarks.harness.child.System`; a cycle is one round.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from airflow_coordination import Complete, SourceCoordinator, drain, open_store, read_completed
from airflow_coordination.leases import HandOver
from airflow_coordination.leases.handover import HANDOVER_VARIABLE, STORE_VARIABLE
from benchmarks.spark.session import SETTINGS, session, write_file
from scripts.spark_archive import java_options

PARTITIONS = 64
READ, FILES = 100, 100
"""Partitions that are read, and files of each."""
_SOURCE, _DATASET, _OWNER = "flights", "clean", "benchmark/dag/run/task/0/1"


class _Source:
    """A source of a new store.

    :param url: of an empty database.
    :param folder: for what is written.
    :param root: where the package is that is imported; it is another one in each process.
    """

    def __init__(self, url: str, folder: str, root: str) -> None:
        import airflow_coordination

        assert Path(airflow_coordination.__file__).is_relative_to(root), "the other version was imported"
        self.url, self.folder, self.root = url, Path(folder), root
        self.store = open_store(url)
        self.store.setup()
        self.source = SourceCoordinator(self.store, source=_SOURCE, owner=_OWNER)
        self._made = 0

    def create(self, number: int) -> None:
        """Create so many partitions more."""
        self.source.create_partitions(map(str, range(self._made, self._made + number)))
        self._made += number

    def publish(self, spark: Any, files: int, leases: int) -> None:
        """Drain, and publish so many files of each partition."""

        def main(spark: Any, lease: Any) -> Complete:
            first = int(lease.partition.key) * files
            with lease.publish(_DATASET) as block:
                for number in range(first, first + files):
                    write_file(Path(urlsplit(block.path).path), number)
            return Complete()

        out = str(self.folder / "output")
        done = drain(main, store=self.store, source=_SOURCE, spark=spark, output_root=out, max_leases=leases)
        assert done.completed == leases, done.errors


class Drained:
    """Drains partitions, each of which publishes one small file."""

    def __init__(self, url: str, folder: str, root: str) -> None:
        self._source, self._spark = _Source(url, folder, root), session()

    def cycles(self, count: int) -> None:
        """Drain so many times 64 partitions."""
        for _ in range(count):
            self._source.create(PARTITIONS)
            self._source.publish(self._spark, 1, PARTITIONS)

    def close(self) -> None:
        """End Spark."""
        self._spark.stop()


class Read:
    """Reads what a hundred partitions have published in a hundred files each."""

    def __init__(self, url: str, folder: str, root: str) -> None:
        self._source, self._spark = _Source(url, folder, root), session()
        self._source.create(READ)
        self._source.publish(self._spark, FILES, READ)

    def cycles(self, count: int) -> None:
        """Count all of them so many times."""
        for _ in range(count):
            frame = read_completed(self._spark, store=self._source.store, source=_SOURCE, dataset=_DATASET)
            assert frame.count() == READ * FILES

    def close(self) -> None:
        """End Spark."""
        self._spark.stop()


class Submit:
    """Submits a decorated script for one partition after the other, as an Airflow task hands its tenure over."""

    def __init__(self, url: str, folder: str, root: str) -> None:
        self._source = _Source(url, folder, root)

    def cycles(self, count: int) -> None:
        """Submit so many."""
        for _ in range(count):
            self._source.create(1)
            lease = self._source.source.get_next_partition()
            assert lease is not None
            self._submit(lease)
            left = {str(status): number for status, number in self._source.source.counts().items()}
            assert not any(number for status, number in left.items() if status != "COMPLETED"), left

    def _submit(self, lease: Any) -> None:
        source, root = self._source, self._source.root
        handover = HandOver(
            source=_SOURCE,
            partition_prefix=None,
            key=lease.key,
            fence=lease.fence,
            owner=_OWNER,
            settings=source.source.settings,
            store_id=source.store.store_id,
            output_root=str(source.folder / "output"),
        )
        conf = [f"--conf={name}={value}" for name, value in SETTINGS.items()]
        script = f"{root}/benchmarks/spark/jobs/leased.py"
        environment = os.environ | {
            HANDOVER_VARIABLE: handover.to_json(),
            STORE_VARIABLE: source.url,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": root,
            "PYSPARK_PYTHON": sys.executable,
            "JDK_JAVA_OPTIONS": java_options(),
        }
        command = ["spark-submit", "--master", "local[2]", *conf, script]
        done = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"spark-submit exits with {done.returncode}:\n{done.stdout}\n{done.stderr[-4000:]}")

    def close(self) -> None:
        """Nothing is kept open."""
