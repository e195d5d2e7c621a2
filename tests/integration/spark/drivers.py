"""Drivers as processes of their own, started as an Airflow task starts them."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from sqlalchemy.engine import make_url

from airflow_coordination.leases import HandOver, Lease, Settings, SourceCoordinator
from airflow_coordination.leases.handover import HANDOVER_VARIABLE, REPORT_MARKER, STORE_VARIABLE
from airflow_coordination.protocol.port import PartitionStore
from scripts.java_packages import jars

JOBS = Path(__file__).parent / "jobs"
ROOT = Path(__file__).parents[3]
OWNER = "host/dag/run/task/0/1"
SMALL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


def connector() -> dict[str, str]:
    """Return the variable that puts Spark's connectors to S3 and Kafka on a JVM's class path.

    Both, because all sessions of a process share its JVM, whichever test starts it. They go behind Spark's own jars: in
    front of them, the JVM could not use the archive of Spark's classes.
    """
    return {"SPARK_DIST_CLASSPATH": f"{jars('hadoop-aws')}/*:{jars('spark-kafka')}/*"}


def eventually(what: Callable[[], object], seconds: float = 90) -> object:
    """Wait for a sign from a real process."""
    until = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < until, "it never happened"
        time.sleep(0.05)
    return found


@dataclass
class Driver:
    """A driver process that goes on with a tenure, as an Airflow task starts it."""

    process: subprocess.Popen[str]
    signs: Path
    output: Path
    lines: list[dict[str, object]] = field(default_factory=list)

    def reached(self, name: str) -> None:
        """Wait until the job says that it is there."""
        eventually(lambda: (self.signs / name).exists() or self.process.poll() is not None)
        assert (self.signs / name).exists(), self.text()

    def send(self, number: signal.Signals) -> None:
        os.killpg(self.process.pid, number)

    def stop_between_writes(self, store_url: str) -> None:
        """Stop it where it does not hold SQLite's write queue, which would stop everybody else, too."""
        path = f"{make_url(store_url).database}-queue"
        while True:
            self.send(signal.SIGSTOP)
            with open(path, "rb") as queue:
                try:
                    fcntl.flock(queue, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    self.send(signal.SIGCONT)
                else:
                    return

    def wait(self) -> int:
        return self.process.wait(timeout=90)

    def text(self) -> str:
        return self.output.read_text()

    def reports(self, event: str) -> list[dict[str, object]]:
        marked = [line for line in self.text().splitlines() if line.startswith(REPORT_MARKER)]
        found = [json.loads(line.removeprefix(REPORT_MARKER)) for line in marked]
        return [report for report in found if report["event"] == event]

    def counted(self, metric: str) -> int:
        name = f"flights_source_coordinator_{metric}"
        return sum(report["counts"].get(name, 0) for report in self.reports("metrics"))


@dataclass
class Task:
    """What an Airflow task does for a driver: acquires, hands over, starts the process."""

    store: PartitionStore
    store_url: str
    output_root: str
    signs: Path
    ownership_timeout: timedelta = timedelta(seconds=60)
    conf: dict[str, str] = field(default_factory=dict)
    master: str = "local[1]"
    started: list[Driver] = field(default_factory=list)

    def coordinator(self, owner: str = OWNER) -> SourceCoordinator:
        settings = Settings(ownership_timeout=self.ownership_timeout, retry_delay=timedelta(0))
        return SourceCoordinator(self.store, source="flights", owner=owner, settings=settings)

    def start(self, job: str, lease: Lease, **changes: object) -> Driver:
        coordinator = self.coordinator()
        fields: dict[str, object] = {
            "source": "flights",
            "partition_prefix": None,
            "key": lease.key,
            "fence": lease.fence,
            "owner": OWNER,
            "settings": coordinator.settings,
            "store_id": self.store.store_id,
            "output_root": self.output_root,
        }
        handover = HandOver(**fields | changes)
        conf = " ".join(f"--conf {name}={value}" for name, value in (SMALL | self.conf).items())
        environment = os.environ | {
            HANDOVER_VARIABLE: handover.to_json(),
            STORE_VARIABLE: self.store_url,
            "PYSPARK_SUBMIT_ARGS": f"--master {self.master} {conf} pyspark-shell",
            "PYTHONPATH": f"{ROOT}{os.pathsep}{JOBS}",
            "SIGNS": str(self.signs),
        }
        output = self.signs / f"driver-{len(self.started)}.log"
        with output.open("w") as stream:
            process = subprocess.Popen(
                [sys.executable, str(JOBS / job)],
                env=environment,
                stdout=stream,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                text=True,
                start_new_session=True,
            )
        self.started.append(Driver(process, self.signs, output))
        return self.started[-1]
