"""One run: processes under real faults, then calm, then what must hold of their histories."""

from __future__ import annotations

import heapq
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import Final

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.stores import open_store
from airflow_coordination.testing.history import FileLog, Model, RecordedCoordinator, Told, Violation
from airflow_coordination.values.settings import Settings
from tests.processes.actor import SOURCE, ProcessSpec
from tests.processes.examine import Examination, Findings
from tests.processes.finish import finish, read_all
from tests.processes.on_dynamodb import dynamodb
from tests.processes.on_postgresql import postgresql
from tests.processes.on_sqlite import sqlite
from tests.processes.report import Report
from tests.processes.stores import KILLED, STOPPED, FaultyStoreSetup
from tests.processes.supervisor import Supervisor
from tests.simulation.behaviour import Habits

PATIENCE: Final = 60.0
"""Seconds within which everything must come to an end when the faults are over (promise L1)."""
STORES: Final[Mapping[str, Callable[[Path], AbstractContextManager[FaultyStoreSetup]]]] = {
    "dynamodb": dynamodb,
    "postgresql": postgresql,
    "sqlite": sqlite,
}


def settings_of(lease: float) -> Settings:
    """Return settings with leases so short that a stopped process loses them."""
    return Settings(
        ownership_timeout=timedelta(seconds=lease),
        max_closed_count=3,
        max_failures=4,
        max_lost_leases=8,
        retry_delay=timedelta(seconds=0.2),
        max_retry_delay=timedelta(seconds=1),
        request_deadline=timedelta(seconds=2 * lease),
        brake_after=0,  # what the workers fail of is nothing that a person must mend
    )


HABITS: Final = Habits(steps=8, pace=0.2, heartbeats=0.5, endings=(8, 3, 2, 1), reopen_after=0.5, retry_after=0.5)
HASTE: Final = 0.02


class Run:
    """One run on one store.

    :param setup: the store.
    :param directory: where the processes write.
    """

    def __init__(self, setup: FaultyStoreSetup, directory: Path, seed: int, workers: int) -> None:
        self.setup, self.directory, self.seed, self.workers = setup, directory, seed, workers
        self.draw = random.Random(seed)
        self.settings = settings_of(setup.lease)
        draft = ProcessSpec(directory, setup.url, seed, "", "", 0, "", self.settings, HABITS, HASTE)
        for name in ("history", "counts"):
            (directory / name).mkdir()
        (directory / "running").touch()
        self.supervisor = Supervisor(draft, random.Random(f"victims {seed}"))

    def work(self, seconds: float) -> float:
        """Let everybody work under faults; return for how many seconds."""
        self._start_all()
        began = time.monotonic()
        for moment, fault in self._faults():
            if moment > seconds:
                break
            self.supervisor.watch(began + moment)
            self._meet(fault)
        self.supervisor.watch(began + seconds)
        return time.monotonic() - began

    def _start_all(self) -> None:
        """Start everybody, and wait until all are at work."""
        self.supervisor.start("supplier", "supplier")
        self.supervisor.start("sweeper", "sweeper")
        for number in range(self.workers):
            self.supervisor.start("worker", f"worker{number}")
        deadline = time.monotonic() + PATIENCE
        while len(list((self.directory / "history").iterdir())) < self.workers + 2:
            assert time.monotonic() < deadline, "the processes do not start"
            self.supervisor.watch(time.monotonic() + 0.05)

    def _faults(self) -> Iterator[tuple[float, str]]:
        """Yield when each fault is asked for, and which: the seed decides."""
        at_times = [self._now_and_then(fault, seconds) for fault, seconds in self.setup.every.items()]
        return heapq.merge(self._by_chance(), *at_times)

    def _by_chance(self) -> Iterator[tuple[float, str]]:
        rates, moment = self.setup.rates, 0.0
        while True:
            moment += self.draw.expovariate(sum(rates.values()))
            yield moment, self.draw.choices(list(rates), list(rates.values()))[0]

    def _now_and_then(self, fault: str, seconds: float) -> Iterator[tuple[float, str]]:
        draw, moment = random.Random(f"{fault} {self.seed}"), -seconds / 2
        while True:
            moment += seconds * draw.uniform(0.9, 1.1)
            yield moment, fault

    def _meet(self, fault: str) -> None:
        if fault == KILLED:
            self.supervisor.kill()
        elif fault == STOPPED:
            self.supervisor.stop((self.setup.lease + self.setup.behind) * self.draw.uniform(1.1, 2.2))
        else:
            self.setup.meet(fault)

    def end(self) -> Counter[str]:
        """End the faults, then the processes; return what really happened."""
        counts = self.setup.calm()
        (self.directory / "running").unlink()
        self.supervisor.end(180)
        return counts + self.supervisor.faults

    def finish(self) -> tuple[bool, list[str], int]:
        """Bring everything to an end; return whether that worked, all keys, and the number of final reads."""
        store = open_store(self.setup.direct)
        coordinator = SourceCoordinator(store, SOURCE, "finisher", settings=self.settings)
        log = FileLog(self.directory / "history" / "finisher.jsonl")
        done = finish(RecordedCoordinator(coordinator, log, "finisher"), PATIENCE)
        reads = FileLog(self.directory / "history" / "reader.jsonl")
        keys = read_all(RecordedCoordinator(coordinator, reads, "reader"))
        store.close()
        return done, keys, 2 * len(keys) + 1


def run(store: str, seconds: float, seed: int, workers: int = 8, directory: Path | None = None) -> Report:
    """Run processes on a store under faults, and check what they did.

    :param store: ``postgresql``, ``sqlite`` or ``dynamodb``.
    :param seconds: how long there are faults.
    :param directory: where histories go; kept only if they break something, or if it is named.
    """
    where = Path(tempfile.mkdtemp(prefix=f"processes-{store}-", dir=directory))
    with STORES[store](where) as setup:
        this = Run(setup, where, seed, workers)
        report = Report(setup.version, seed, workers, directory=str(where))
        try:
            report.seconds = round(this.work(seconds), 1)
            report.faults = dict(this.end())
        finally:
            this.supervisor.close()
        done, keys, report.final_reads = this.finish()
    began = time.monotonic()
    examination = Examination(Model(this.settings, setup.behind), keys)
    found = examination.examine(sorted((where / "history").iterdir()), where / "counts")
    if not done:
        found.violations.append(Violation("L1", "not everything has come to an end"))
    report.check_seconds = round(time.monotonic() - began, 1)
    _fill(report, found)
    report.violations += this.supervisor.failed
    if not report.violations and directory is None:
        shutil.rmtree(where)
        report.directory = ""
    return report


def _fill(report: Report, found: Findings) -> None:
    told = Counter(dict.fromkeys(Told, 0))
    for (_, answer), times in found.told.items():
        told[answer] += times
    report.operations = sum(told.values()) - report.final_reads
    report.partitions, report.tenures = found.partitions, found.tenures
    report.refused, report.unknown = told[Told.REFUSED], told[Told.UNKNOWN]
    report.lost_races, report.later_tenures = found.lost_races, found.later_tenures
    report.told = {f"{kind} {answer}": times for (kind, answer), times in sorted(found.told.items())}
    report.violations += map(str, found.violations)
