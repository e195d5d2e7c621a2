"""Processes of one version of the package or the other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WORKER = Path(__file__).parent / "worker.py"
PATIENCE = 60


class Worker:
    """A process at work, whose events are read as they come.

    :param package: the directory of its package.
    :param complaints: the file for what it writes to standard error.
    """

    def __init__(self, package: Path, complaints: Path, *arguments: object) -> None:
        command, self._complaints = [sys.executable, str(WORKER), *map(str, arguments)], complaints
        with complaints.open("w") as file:
            self._process = subprocess.Popen(
                command, env=environment(package), stdout=subprocess.PIPE, stderr=file, text=True
            )
        self.events: list[dict[str, Any]] = []
        self._heard = threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._heard:
                self.events.append(json.loads(line))
                self._heard.notify()
        with self._heard:
            self._process.wait()
            self._heard.notify()

    def until(self, event: str, times: int = 1, **fields: Any) -> None:
        """Wait until an event with these fields has come so often."""
        wanted = {"event": event, **fields}
        with self._heard:
            while sum(each | wanted == each for each in self.events) < times:
                assert self._process.returncode is None, self.complaint()
                assert self._heard.wait(PATIENCE), f"no {wanted} for {PATIENCE} s"

    def ended(self) -> dict[str, Any]:
        """Wait for its end, which must be a good one, and return its last event."""
        complaint = self.complaint()
        assert self._process.returncode == 0, complaint
        assert self.events[-1]["event"] == "ended"
        return self.events[-1]

    def complaint(self) -> str:
        """Wait for its end, and return what it wrote to standard error."""
        self._process.wait(PATIENCE)
        self._reader.join()
        return self._complaints.read_text()

    def kill(self) -> None:
        """End it, if it has not ended."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()


@dataclass
class Versions:
    """Starts processes on one store.

    :param url: the store's.
    :param directory: for their files.
    """

    url: str
    directory: Path
    stack: ExitStack
    started: int = 0

    @property
    def stop(self) -> Path:
        """The file that ends the load."""
        return self.directory / "stop"

    def start(self, package: Path) -> Worker:
        """Start a worker of the package in this directory."""
        self.started += 1
        name = f"worker-{self.started}"
        worker = Worker(package, self.directory / name, self.url, name, self.stop)
        self.stack.callback(worker.kill)
        return worker

    def migrate(self, package: Path) -> str:
        """Do what the error message asks for, with the package in this directory; return what is said."""
        command = [sys.executable, "-m", "airflow_coordination", "store", "migrate", "--store", self.url]
        done = subprocess.run(
            command, cwd=package, env=environment(package), capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr


def environment(package: Path) -> dict[str, str]:
    """Return this environment, with the package in that directory found first."""
    return {**os.environ, "PYTHONPATH": str(package)}
