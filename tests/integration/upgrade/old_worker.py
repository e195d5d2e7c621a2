"""Workers of older code, in a process of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any

from tests.integration.upgrade.processes import environment

CALLS = Path(__file__).parent / "old_calls.py"


class OldCodeRefused(Exception):
    """Older code raised an error of its own: its class and text."""


class OldProcess:
    """A process in which the package of a directory runs, and no other.

    :param package: the directory.
    :param complaints: the file for what it writes to standard error.
    :ivar schema: the schema that its code writes.
    """

    def __init__(self, package: Path, complaints: Path) -> None:
        self._complaints, self._numbers = complaints, count()
        with complaints.open("w") as file:
            self._process = subprocess.Popen(
                [sys.executable, str(CALLS)],
                env=environment(package), cwd=package, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file,
            )  # fmt: skip
        file, self.schema = self._answer()
        assert Path(file).is_relative_to(package)

    def worker(self, url: str) -> Old:
        """Return a worker on a store."""
        return Old(self, next(self._numbers), url)

    def call(self, *said: object) -> Any:
        """Say something, and return the answer.

        :raises OldCodeRefused: when older code raises an error of its own.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(said) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, self._complaints.read_text()
        said = json.loads(line)
        if "refused" in said:
            raise OldCodeRefused(said["refused"])
        assert "broken" not in said, said["broken"]
        return said["answer"]

    def end(self) -> None:
        """Let it end."""
        self._process.communicate()


class Old:
    """A worker of older code, which looks at its store's schema with its first call.

    :param process: where it works.
    :param number: which worker of that process it is.
    """

    def __init__(self, process: OldProcess, number: int, url: str) -> None:
        self._process, self._number, self._url = process, number, url

    def does(self, what: str, *given: object) -> Any:
        """Let it make one call, of those in ``old_calls.py``, and return its answer.

        :raises OldCodeRefused: when that code raises an error of its own.
        """
        return self._process.call(self._number, self._url, what, given)
