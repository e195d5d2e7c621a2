"""W6: 2,000 published partitions of one file each, counted, one row by its id, and all of all rows, beside Delta.

Each system has a Spark of its own, and has read its table before: Delta's log is cached, our index is written.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_coordination import Complete, SourceCoordinator, drain, open_store, read_completed
from airflow_coordination.outputs import index_outputs
from airflow_coordination.spark import count_completed
from benchmarks.compaction.beside import Process
from benchmarks.compaction.delta import Delta
from benchmarks.goals import Readings
from benchmarks.harness.postgres import plain
from benchmarks.harness.run import Run
from benchmarks.spark.rounds import reading
from benchmarks.spark.session import session
from scripts.java_packages import jars
from tests.engines.postgres import fresh_database, private_postgres

FILES, LINES, ROUNDS, WARM = 2_000, 50, 7, 2
_SOURCE, _DATASET, _TABLE = "flights", "clean", "published"
_STEPS = ("counted", "by_id", "scanned")


class Ours:
    """A source whose partitions have published a file each.

    :param month: folder with a directory for each partition.
    :param folder: where output goes.
    :param url: of an empty database.
    """

    def __init__(self, month: str, folder: str, url: str) -> None:
        self._store, self._spark = open_store(url), session()
        self._store.setup()
        self._publish(Path(month), folder)
        index_outputs(self._store, _SOURCE, _DATASET)

    def _publish(self, month: Path, folder: str) -> None:
        keys = [path.name for path in month.iterdir()]
        SourceCoordinator(self._store, source=_SOURCE, owner="benchmark").create_partitions(keys)

        def main(spark: Any, lease: Any) -> Complete:
            with lease.publish(_DATASET) as block:
                shutil.copytree(month / lease.partition.key, urlsplit(block.path).path, dirs_exist_ok=True)
            return Complete()

        done = drain(main, store=self._store, source=_SOURCE, spark=None, output_root=folder, max_leases=None)
        assert done.completed == len(keys), done.errors

    def counted(self) -> int:
        """Count all rows."""
        return count_completed(store=self._store, source=_SOURCE, dataset=_DATASET)

    def by_id(self, number: int) -> int:
        """Look for one row; return how many there are."""
        return int(self._frame().where(f"id = {number}").count())

    def scanned(self) -> None:
        """Read all columns of all rows."""
        self._frame().write.format("noop").mode("overwrite").save()

    def close(self) -> None:
        """End its Spark, and its connections."""
        self._spark.stop()
        self._store.close()

    def _frame(self) -> Any:
        return read_completed(self._spark, store=self._store, source=_SOURCE, dataset=_DATASET)


class InDelta(Delta):
    """A Delta table of as many files."""

    def __init__(self, month: str, folder: str, jars: str) -> None:
        super().__init__(month, folder, jars)
        self.fill(_TABLE)

    def counted(self) -> int:
        """Count all rows."""
        return int(self._frame().count())

    def by_id(self, number: int) -> int:
        """Look for one row; return how many there are."""
        return int(self._frame().where(f"id = {number}").count())

    def scanned(self) -> None:
        """Read all columns of all rows."""
        self._frame().write.format("noop").mode("overwrite").save()

    def _frame(self) -> Any:
        return self._spark.table(self._name(_TABLE))


def measured(run: Run) -> Readings:
    """Measure both, in an order drawn anew for each step of each round."""
    files, rounds = run.scaled(FILES, 200), run.scaled(ROUNDS, 3)
    seconds: dict[str, dict[str, list[float]]] = {step: defaultdict(list) for step in _STEPS}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as ending:
        month = Path(folder, "month")
        _write(month, files)
        both = _systems(ending, Path(folder), month)
        with run.progress("W6: rounds", WARM + rounds) as advance:
            for number in range(WARM + rounds):
                for step in _STEPS:
                    for name in random.sample(list(both), 2):
                        wall = _asked(both[name], step, files)
                        if number >= WARM:
                            seconds[step][name].append(wall)
                advance()
    names = {"counted": "W6 count", "by_id": "W6 row", "scanned": "W6 scan"}
    found: Readings = {}
    for step, each in seconds.items():
        found |= reading(names[step], each["ours"], each["Delta"])
    return found


def _asked(system: Process, step: str, files: int) -> float:
    given = {"number": random.randrange(files * LINES)} if step == "by_id" else {}
    said = system.ask(step, **given)
    assert said["answer"] == {"counted": files * LINES, "by_id": 1, "scanned": None}[step]
    return float(said["wall"])


def _systems(ending: ExitStack, folder: Path, month: Path) -> dict[str, Process]:
    url = plain(ending.enter_context(fresh_database(ending.enter_context(private_postgres()))))
    given = {"ours": ("Ours", {"url": url}), "Delta": ("InDelta", {"jars": str(jars("delta"))})}
    found = {}
    for name, (made, more) in given.items():
        options = {"month": str(month), "folder": str(folder / name)} | more
        found[name] = Process(Path(sys.executable), f"benchmarks.spark.published:{made}", options)
        ending.callback(found[name].end)
    for each in found.values():
        each.answer()
    return found


def _write(month: Path, files: int) -> None:
    """Write small files, a folder for each; ids are of no order, as those of events are."""
    ids = random.sample(range(files * LINES), files * LINES)
    for number in range(files):
        place = month / f"{number:05}"
        place.mkdir(parents=True)
        mine = ids[number * LINES : (number + 1) * LINES]
        rows = {"id": mine, "day": [number % 31] * LINES, "delay": [float(each % 90) for each in mine]}
        pq.write_table(pa.table(rows), place / "part-0.parquet")
