"""P10's other part and P11: processes that are started for a partition, beside one application for all of them.

A plain script is submitted, and the same as a decorated one, as an Airflow task hands its tenure over; then one
application for many partitions, and clients of a running Spark Connect server, one for each partition.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from airflow_coordination import SourceCoordinator, open_store
from airflow_coordination.leases import HandOver
from airflow_coordination.leases.handover import HANDOVER_VARIABLE, STORE_VARIABLE
from benchmarks.goals import Reading, Readings
from benchmarks.harness.figures import of_pairs
from benchmarks.harness.postgres import database_and_folder
from benchmarks.harness.run import Run
from benchmarks.harness.systems import ROOT
from benchmarks.spark.rounds import Seconds, Ways, in_turn
from benchmarks.spark.session import SETTINGS
from scripts.spark_archive import java_options
from tests.integration.spark_connect.server import connect_server

PARTITIONS, SUBMITS, APPLICATIONS, CLIENTS, WARM = 64, 6, 2, 4, 1
_JOBS = Path(__file__).parent / "jobs"
_SOURCE, _OWNER = "numbers", "benchmark/dag/run/task/0/1"


def readings(run: Run) -> Readings:
    """Measure."""
    with database_and_folder() as (url, folder):
        starts = _Starts(url, folder)
        ways: Ways = {"plain submit": lambda _: starts.plain(), "leased submit": lambda _: starts.leased()}
        seconds = in_turn(run, "P11 submits", ways, run.scaled(SUBMITS, 2), WARM)
        application: Ways = {"one application": lambda _: starts.leased(PARTITIONS)}
        seconds |= in_turn(run, "P10 applications", application, run.scaled(APPLICATIONS, 1), WARM)
        with connect_server(folder) as server:
            clients: Ways = {"Connect client": lambda _: starts.connected(server.url)}
            seconds |= in_turn(run, "P10 clients", clients, run.scaled(CLIENTS, 2), WARM)
        starts.close()
    return _readings(run, seconds)


@dataclass
class _Starts:
    """Starts processes and waits for them.

    :param url: of an empty database.
    :param folder: for what they write.
    """

    url: str
    folder: Path

    def __post_init__(self) -> None:
        self._store = open_store(self.url)
        self._store.setup()
        self._source = SourceCoordinator(self._store, source=_SOURCE, owner=_OWNER)
        self._output = str(self.folder / "output")
        self._made = 0

    def plain(self) -> None:
        """Submit the plain script."""
        self._made += 1
        self._submit({}, "plain.py", f"{self.folder}/plain/{self._made}")

    def leased(self, partitions: int = 1) -> None:
        """Submit the decorated script for so many partitions."""
        with self._partitions(partitions):
            lease = self._source.get_next_partition()
            assert lease is not None
            handover = HandOver(
                source=_SOURCE,
                partition_prefix=None,
                key=lease.key,
                fence=lease.fence,
                owner=_OWNER,
                settings=self._source.settings,
                store_id=self._store.store_id,
                output_root=self._output,
                max_leases=partitions,
            )
            self._submit({HANDOVER_VARIABLE: handover.to_json(), STORE_VARIABLE: self.url}, "leased.py")

    def connected(self, server: str) -> None:
        """Let a client of the server work on one partition."""
        with self._partitions(1):
            arguments = [_JOBS / "connected.py", server, self.url, _SOURCE, self._output]
            _run([sys.executable, *map(str, arguments)], {})

    def close(self) -> None:
        """Give the connection back."""
        self._store.close()

    @contextmanager
    def _partitions(self, number: int) -> Iterator[None]:
        """Create so many, and see that the block completes them."""
        self._source.create_partitions(map(str, range(self._made, self._made + number)))
        self._made += number
        yield
        waiting = {str(status): count for status, count in self._source.counts().items() if status != "COMPLETED"}
        assert not any(waiting.values()), waiting

    def _submit(self, variables: dict[str, str], script: str, *arguments: str) -> None:
        conf = [f"--conf={name}={value}" for name, value in SETTINGS.items()]
        command = ["spark-submit", "--master", "local[2]", *conf, str(_JOBS / script), *arguments]
        _run(command, variables)


def _run(command: list[str], variables: dict[str, str]) -> None:
    environment = os.environ | variables | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PYSPARK_PYTHON": sys.executable,
        "JDK_JAVA_OPTIONS": java_options(),
    }  # fmt: skip
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} exits with {done.returncode}:\n{done.stdout}\n{done.stderr[-4000:]}")


def _readings(run: Run, seconds: Seconds) -> Readings:
    table = run.table("Processes, wall time", "what", "times", "seconds (median)")
    for name, each in seconds.items():
        table.add_row(name, str(len(each)), f"{median(each):.2f}")
    run.console.print(table)
    plain, leased, whole, client = (median(each) for each in seconds.values())
    over = of_pairs(
        [
            100 * (mine / other - 1)
            for mine, other in zip(seconds["leased submit"], seconds["plain submit"], strict=True)
        ]
    )
    submits, connect = PARTITIONS * leased / whole, leased / client
    return {
        "P10 submits": Reading(submits, f"{submits:.0f}", f"{whole:.1f} s for {PARTITIONS}", f"{leased:.2f} s each"),
        "P10 connect": Reading(connect, f"{connect:.1f}", f"{client:.2f} s each", f"{leased:.2f} s each"),
        "P11": Reading(over.middle, str(over), f"{leased:.2f} s", f"{plain:.2f} s"),
    }
