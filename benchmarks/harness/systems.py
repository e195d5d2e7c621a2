"""Systems that are measured, and the processes that they run in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / ".work/peers/bin/python"
"""The Python of the peers' own environment, which `make bench` makes from requirements/bench.txt."""


@dataclass(frozen=True)
class Spec:
    """A system.

    :param name: what tables call it.
    :param made: module and class of its :class:`benchmarks.harness.child.System`.
    :param rows: whose rows it works on; systems of one name share a filled database.
    :param options: what its class is given beside the address.
    :param peer: whether it runs in the peers' environment.
    :param root: whose modules its processes import: this checkout's, or those of a folder that holds another version.
    """

    name: str
    made: str
    rows: str
    options: dict[str, Any] = field(default_factory=dict)
    peer: bool = False
    root: Path = ROOT

    def process(self, what: str, **given: Any) -> subprocess.Popen[str]:
        """Start a process of it."""
        python = str(PEERS) if self.peer else sys.executable
        options = given if what == "fill" else self.options | given
        command = [python, "-m", "benchmarks.harness.child", what, self.made, json.dumps(options)]
        environment = {**os.environ, "PYTHONPATH": str(self.root)}
        return subprocess.Popen(
            command, cwd=self.root, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def fill(self, **given: Any) -> None:
        """Make its tables and rows.

        :raises RuntimeError: when it fails; what it printed is on the standard error output.
        """
        process = self.process("fill", **given)
        process.communicate()
        if process.returncode:
            raise RuntimeError(f"{self.name} could not make its rows")


@dataclass(frozen=True)
class Done:
    """What processes did between two moments, in seconds.

    :param cycles: pieces of work taken and completed.
    :param cpu: CPU of the processes.
    :param wall: of the process that took longest.
    :param longest: the longest time of one call, where systems keep it.
    :param served: cycles of each process.
    """

    cycles: int
    cpu: float
    wall: float
    longest: float
    served: tuple[int, ...]


class Team:
    """Processes of one system that get the same order at the same time.

    :param spec: the system.
    :param processes: how many.
    :param given: what its class is told beside the options: the address.
    """

    def __init__(self, spec: Spec, processes: int = 1, **given: Any) -> None:
        self.spec, self.cycles = spec, 0
        self.url = str(given.get("url", ""))
        self._processes = [spec.process("run", **given) for _ in range(processes)]
        try:
            self._answers()
        except BaseException:
            self.kill()
            raise

    def do(self, **order: Any) -> Done:
        """Let all of them work: ``cycles=40`` or ``seconds=3.0``; or prepare: ``settle=1``, ``way="fused"``."""
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(json.dumps(order) + "\n")
            process.stdin.flush()
        answers = self._answers()
        self.cycles += sum(int(each["cycles"]) for each in answers)
        return Done(
            sum(int(each["cycles"]) for each in answers),
            sum(each["cpu"] for each in answers),
            max(each["wall"] for each in answers),
            max(each["longest"] for each in answers),
            tuple(int(each["cycles"]) for each in answers),
        )

    def _answers(self) -> list[dict[str, Any]]:
        lines = [process.stdout.readline() for process in self._processes if process.stdout is not None]
        if not all(lines):
            raise RuntimeError(f"a process of {self.spec.name} ended: what it said is above")
        return [json.loads(line) for line in lines]

    def close(self) -> None:
        """Let them end, and wait until they have."""
        for process in self._processes:
            process.communicate(timeout=60)

    def kill(self) -> None:
        """End them at once."""
        for process in self._processes:
            process.kill()
            process.communicate()


@contextmanager
def together(teams: list[Team]) -> Iterator[list[Team]]:
    """End all teams when the block ends, at once if it fails."""
    try:
        yield teams
    except BaseException:
        for team in teams:
            team.kill()
        raise
    for team in teams:
        team.close()
