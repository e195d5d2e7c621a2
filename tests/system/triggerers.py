"""Triggerers beside the one that standalone has started."""

from __future__ import annotations

import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.system.harness import HOME_VARIABLE, Airflow, is_gone, marked, wait_for


@dataclass
class Triggerer:
    """One triggerer: a supervisor with the process that runs the triggers.

    :param job_id: its id in Airflow's database.
    """

    process: psutil.Process
    job_id: int

    def send(self, number: signal.Signals) -> None:
        """Send a signal to all of it at once, as losing a host does."""
        for one in (self.process, *self.process.children(recursive=True)):
            one.send_signal(number)


class Triggerers:
    """The triggerers of an Airflow that are alive."""

    def __init__(self, airflow: Airflow, environ: dict[str, str]) -> None:
        self._airflow, self._environ = airflow, environ
        [process] = [one for one in self._processes() if not self._is_child(one)]
        [job_id] = self._alive()
        self.all = [Triggerer(process, job_id)]

    def start(self) -> None:
        """Start one more and wait until it is alive."""
        before = self._alive()
        log = (Path(self._airflow.home) / "triggerers.log").open("ab")
        command = ["airflow", "triggerer", "--skip-serve-logs"]
        started = subprocess.Popen(command, env=self._environ, stdout=log, stderr=log)
        [job_id] = wait_for(lambda: self._alive() - before, 120, "another triggerer is alive")
        self.all.append(Triggerer(psutil.Process(started.pid), job_id))

    def be_two(self) -> None:
        """Start as many as two need."""
        while len(self.all) < 2:
            self.start()

    def holder(self, dag_id: str, run_id: str) -> Triggerer:
        """Return the one in which this run's sensor waits."""
        held_by = wait_for(lambda: self._held_by(dag_id, run_id), 30, "a triggerer runs the sensor")
        return next(one for one in self.all if one.job_id == held_by)

    def wait_until_taken_over(self, dag_id: str, run_id: str, before: Triggerer) -> None:
        """Wait until this run's sensor waits in another one than ``before``, or no more."""
        wait_for(lambda: self._held_by(dag_id, run_id) != before.job_id, 60, "another triggerer takes over")

    def _held_by(self, dag_id: str, run_id: str) -> int | None:
        job = self._airflow.task(dag_id, run_id)["triggerer_job"]
        return job["id"] if job else None

    def end(self, one: Triggerer, number: signal.Signals) -> None:
        """End one by a signal, and wait until it is gone."""
        one.send(number)
        wait_for(lambda: is_gone(one.process), 30, "the triggerer is gone")
        self.all.remove(one)

    def _alive(self) -> set[int]:
        found = self._airflow.call("GET", "/api/v2/jobs?job_type=TriggererJob&is_alive=true&limit=100")
        return {job["id"] for job in found["jobs"]}

    def _processes(self) -> list[psutil.Process]:
        everyone = marked(HOME_VARIABLE, str(self._airflow.home))
        return [one for one in everyone if "triggerer" in " ".join(one.info["cmdline"] or [])]

    def _is_child(self, process: psutil.Process) -> bool:
        parent = process.parent()
        return parent is not None and "triggerer" in " ".join(parent.cmdline())
