"""Triggerers beside the one that standalone has started."""

from __future__ import annotations

import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.system.harness import HOME_VARIABLE, Airflow, marked, wait_for

TAKEN_OVER = 60.0


@dataclass
class Triggerer:
    """One triggerer: a supervisor with the process that runs the triggers.

    :param job_id: its id in Airflow's database.
    """

    airflow: Airflow
    process: psutil.Process
    job_id: int

    def send(self, number: signal.Signals) -> None:
        """Send a signal to all of it at once, as losing a host does."""
        for one in (self.process, *self.process.children(recursive=True)):
            one.send_signal(number)

    def runs(self, dag_id: str, run_id: str) -> bool:
        """Return whether it is the one in which this run's sensor waits."""
        job = self.airflow.task(dag_id, run_id)["triggerer_job"]
        return job is not None and job["id"] == self.job_id


class Triggerers:
    """All triggerers of an Airflow."""

    def __init__(self, airflow: Airflow, environ: dict[str, str]) -> None:
        self._airflow, self._environ = airflow, environ
        [process] = [one for one in self._processes() if not self._is_child(one)]
        [job_id] = self._alive()
        self.first = Triggerer(airflow, process, job_id)

    def start(self) -> Triggerer:
        """Start one more and wait until it is alive."""
        before = self._alive()
        log = (Path(self._airflow.home) / "triggerers.log").open("ab")
        command = ["airflow", "triggerer", "--skip-serve-logs"]
        started = subprocess.Popen(command, env=self._environ, stdout=log, stderr=log)
        [job_id] = wait_for(lambda: self._alive() - before, 120, "another triggerer is alive")
        return Triggerer(self._airflow, psutil.Process(started.pid), job_id)

    def _alive(self) -> set[int]:
        found = self._airflow.call("GET", "/api/v2/jobs?job_type=TriggererJob&is_alive=true&limit=100")
        return {job["id"] for job in found["jobs"]}

    def _processes(self) -> list[psutil.Process]:
        everyone = marked(HOME_VARIABLE, str(self._airflow.home))
        return [one for one in everyone if "triggerer" in " ".join(one.cmdline())]

    def _is_child(self, process: psutil.Process) -> bool:
        parent = process.parent()
        return parent is not None and "triggerer" in " ".join(parent.cmdline())
