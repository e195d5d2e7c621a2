"""One process of a run: what it is told when it starts, its coordinator, and the history that it leaves."""

from __future__ import annotations

import os
import random
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from airflow_coordination.leases.heartbeat import Heartbeat
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.testing.history import CountedCoordinator, FileLog, RecordedCoordinator
from airflow_coordination.values.settings import Settings
from airflow_coordination.values.times import Randomness, SystemClock
from tests.processes.stores import DiskWatch
from tests.simulation.behaviour import EXPECTED, Behaviour, Habits

SOURCE: Final = "flights"
HOST: Final = "host"
"""The same for all: tasks on one machine share it."""
HOT: Final = 12
"""How many of the newest partitions people and workers name by their keys."""
READY: Final = 32
"""How many claimable partitions the supplier keeps in store, so that work never runs out."""


@dataclass(frozen=True)
class ProcessSpec:
    """What a process is told when it starts.

    :param directory: of the run.
    :param url: of the store, as this process sees it.
    :param role: what it does; see :data:`ROLES`.
    :param task: the task's name, the same for all its tries.
    :param name: unique for every start.
    :param errand: key and fence of the partition that a driver works on.
    """

    directory: Path
    url: str
    seed: int
    role: str
    task: str
    tries: int
    name: str
    settings: Settings
    habits: Habits
    haste: float
    errand: tuple[str, int, str] | None = None

    @property
    def owner(self) -> str:
        """Who it is in the store."""
        return f"{HOST}/dag/run/{self.task}/0/{self.tries}"

    @property
    def history(self) -> Path:
        """Where it notes its calls."""
        return self.directory / "history" / f"{self.name}.jsonl"

    @property
    def counts(self) -> Path:
        """Where it leaves its metrics when nobody kills it."""
        return self.directory / "counts" / f"{self.name}.json"


def key_of(number: int) -> str:
    """Return the key of the supplier's ``number``-th partition."""
    return f"k{number:07}"


def address(directory: Path) -> str:
    """Return where workers ask for drivers."""
    return str(directory / "drivers")


def driver_of(spec: ProcessSpec, task: str, tries: int, name: str, errand: tuple[str, int, str]) -> ProcessSpec:
    """Return the spec of a driver."""
    return replace(spec, role="driver", task=task, tries=tries, name=name, errand=errand)


class HastyClock(SystemClock):
    """The machine's clock for work that pauses shorter than it says.

    :param haste: by this factor.
    """

    def __init__(self, haste: float) -> None:
        self._haste = haste

    def sleep(self, seconds: float) -> None:
        """Wait for a part of ``seconds``."""
        super().sleep(seconds * self._haste)


def _open(url: str) -> PartitionStore:
    if not url.startswith("dynamodb:"):
        return open_store(url)
    from tests.processes.amazon import open_dynamodb

    return open_dynamodb(url)


class Actor:
    """One process.

    :param spec: what it was told.
    """

    def __init__(self, spec: ProcessSpec) -> None:
        self.spec = spec
        self.draw = random.Random(f"{spec.seed} {spec.name}")
        self.clock = HastyClock(spec.haste)
        self.coordinator = CountedCoordinator(
            DiskWatch(_open(spec.url), spec.directory),
            SOURCE,
            spec.owner,
            settings=spec.settings,
            randomness=Randomness(self.draw),
        )
        self.one = RecordedCoordinator(self.coordinator, FileLog(spec.history), spec.name)
        self.behaviour = Behaviour(self.one, self.clock, self.draw, spec.habits, Heartbeat)
        self._parent = os.getppid()
        self._listed = 0

    @property
    def running(self) -> bool:
        """Whether the run goes on, and somebody is there to end it."""
        return (self.spec.directory / "running").exists() and os.getppid() == self._parent

    def hot_key(self) -> str:
        """Return the key of one of the newest partitions."""
        if not self._listed or self.draw.random() < 0.2:
            self._listed = int(self.one.global_state().get("cursor", 0))
        return key_of(max(0, self._listed - 1 - self.draw.randrange(HOT + READY)))

    def main(self) -> None:
        """Do one thing again and again."""
        while self.running:
            with suppress(*EXPECTED):
                self.do()

    def do(self) -> None:
        """Do it once."""
        raise NotImplementedError
