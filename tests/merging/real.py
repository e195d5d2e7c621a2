"""Real processes on PostgreSQL: publishers, compactors, a collector and readers, killed, stopped and unheard."""

from __future__ import annotations

import json
import logging
import os
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.leases.heartbeat import Heartbeat
from airflow_coordination.stores import open_store
from airflow_coordination.testing.history import FileLog, Kind, Model, RecordedCoordinator, Told
from airflow_coordination.values.times import Randomness
from tests.merging.actors import ROLES, SOURCES, Collector, Reader, Tools, left_behind
from tests.merging.broken import without
from tests.merging.truth import Findings, ReadersInFiles, TruthInFiles
from tests.processes.actor import HastyClock, ProcessSpec
from tests.processes.examine import Examination
from tests.processes.finish import finish
from tests.processes.on_postgresql import postgresql
from tests.processes.run import PATIENCE, Run, settings_of
from tests.processes.stores import FaultyStoreSetup
from tests.processes.supervisor import Supervisor
from tests.simulation.behaviour import EXPECTED, Habits
from tests.simulation.on_sqlite import IN_MEMORY_FILES
from tests.upkeep import Dataset

KEYS: Final = tuple(f"k{number}" for number in range(8))
HABITS: Final = Habits(steps=2, pace=0.3, heartbeats=0.5, endings=(8, 3, 1, 1), reopen_after=0.3, retry_after=0.3)
HASTE: Final = 0.03
FEWER: Final = 3.0
"""So much longer it takes from one fault to the next than where only leases are tried: files take their time, too."""
HOW_MANY: Final = {"publisher": 3, "compactor": 3, "collector": 1, "reader": 2}


@dataclass(frozen=True)
class MergingSpec(ProcessSpec):
    """What a process is told, and the rule that is left out."""

    rule: str | None = None

    @property
    def found(self) -> Path:
        """Where it leaves what it has seen."""
        return self.directory / "found" / f"{self.name}.json"


@dataclass
class Report:
    """What became of a run.

    :param operations: calls in the histories; a read of the dataset is one, however many partitions it has.
    :param counts: what actors have done, how often.
    """

    store: str
    seed: int
    seconds: float = 0.0
    operations: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)

    def line(self) -> str:
        """Return it as one line of JSON."""
        return json.dumps(asdict(self))

    def __str__(self) -> str:
        done = ", ".join(f"{name} {number:,}" for name, number in sorted(self.counts.items()))
        faults = ", ".join(f"{name} {number:,}" for name, number in sorted(self.faults.items()))
        return (
            f"{self.operations:,} operations, {sum(self.faults.values()):,} faults in {self.seconds:.0f} s on "
            f"{self.store}, seed {self.seed}, {len(self.violations)} violations: {done}\n  {faults}"
        )


def tools_of(spec: MergingSpec, url: str, name: str, role: str) -> Tools:
    """Return what an actor of a process works with."""
    draw, store, where = random.Random(f"{spec.seed} {name}"), open_store(url), spec.directory
    coordinator = SourceCoordinator(
        store, SOURCES[role], spec.owner, settings=spec.settings, randomness=Randomness(draw)
    )
    return Tools(
        RecordedCoordinator(coordinator, FileLog(where / "history" / f"{name}.jsonl"), name),
        Dataset(store, str(where / "out")),
        HastyClock(spec.haste),
        draw,
        spec.habits,
        Heartbeat,
        TruthInFiles(where / "truth"),
        ReadersInFiles(where / "reading"),
        KEYS,
        lambda: 1 + (where / "second").exists(),
        Findings(),
    )


class Actor(Protocol):
    """Who does one thing after another."""

    def do(self) -> None:
        """Do the next."""


def run_process(spec: MergingSpec) -> None:
    """Be one process from its start to its end, if nobody ends it before."""
    with without(spec.rule):
        tools = tools_of(spec, spec.url, spec.name, spec.role)
        act(spec, ROLES[spec.role](tools), tools.found)


def act(spec: MergingSpec, actor: Actor, found: Findings) -> None:
    """Let an actor act until the run, or its parent, ends; what it saw is written after each step."""
    logging.getLogger("airflow_coordination").setLevel(logging.CRITICAL)  # what is missed here is what it is about
    parent = os.getppid()
    while (spec.directory / "running").exists() and os.getppid() == parent:
        with suppress(*EXPECTED):
            actor.do()
        _leave(found, spec.found)


def _leave(found: Findings, path: Path) -> None:
    """Write what was seen, so that who is killed has said it."""
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps([found.counts, found.broken]))
    unfinished.rename(path)


class MergingRun(Run):
    """One run.

    :param setup: the store.
    :param directory: where the processes write.
    """

    how_many: Mapping[str, int] = HOW_MANY
    harmed: Collection[str] = ("compactor",)
    process = staticmethod(run_process)
    without = staticmethod(without)

    def __init__(self, setup: FaultyStoreSetup, directory: Path, seed: int, rule: str | None) -> None:
        self.setup, self.directory, self.seed = setup, directory, seed
        self.draw = random.Random(seed)
        self.settings = replace(settings_of(setup.lease), max_failures=20, max_lost_leases=100)
        self.spec = MergingSpec(directory, setup.url, seed, "", "", 0, "", self.settings, HABITS, HASTE, rule=rule)
        for name in ("history", "found", "truth", "reading", "out"):
            (directory / name).mkdir()
        (directory / "running").touch()
        self.supervisor = Supervisor(self.spec, random.Random(f"victims {seed}"), self.process, self.harmed)

    def _start_all(self) -> None:
        """Start everybody, and wait until all are at work."""
        for role, number in self.how_many.items():
            for each in range(number):
                self.supervisor.start(role, f"{role}{each}")
        deadline = time.monotonic() + PATIENCE
        while len(list((self.directory / "found").glob("*.json"))) < sum(self.how_many.values()):
            assert time.monotonic() < deadline, "the processes do not start"
            self.supervisor.watch(time.monotonic() + 0.05)

    def _faults(self) -> Iterator[tuple[float, str]]:
        """Yield the faults; about in the middle, groups of another epoch begin."""
        for number, (moment, fault) in enumerate(super()._faults()):
            if number == SECOND_EPOCH_AFTER:
                (self.directory / "second").touch()
            yield moment, fault

    def _by_chance(self) -> Iterator[tuple[float, str]]:
        yield from ((FEWER * moment, fault) for moment, fault in super()._by_chance())

    def last_look(self) -> Findings:
        """Bring everything to an end, collect, and read once more."""
        partitions, groups = (
            tools_of(self.spec, self.setup.direct, f"last.{role}", role) for role in ("reader", "compactor")
        )
        found = partitions.found
        for tools in (groups, partitions):
            if not finish(tools.one, PATIENCE):
                found.broken.append("L1: not everything has come to an end")
        collector, reader = Collector(partitions), Reader(partitions)
        reader.do()
        for _ in range(2):
            collector.do()
            reader.do()
        found.broken += left_behind(partitions)
        return found

    def model(self, histories: Iterable[Path]) -> Model:
        """Return the model that the histories are compared with."""
        return Model(self.settings, self.setup.behind)

    @staticmethod
    def named(calls: Counter[tuple[Kind, Told]]) -> dict[str, int]:
        """Return, of the calls, what a report counts by name."""
        return {
            "endings refused": calls[Kind.COMPLETE, Told.REFUSED] + calls[Kind.CLOSE, Told.REFUSED],
            "retracted": calls[Kind.RETRACT, Told.OK],
            "endings": calls[Kind.COMPLETE, Told.OK] + calls[Kind.CLOSE, Told.OK],
        }


SECOND_EPOCH_AFTER: Final = 20
"""Faults: some seconds, and most of a run is still to come."""


def run_processes(seconds: float, seed: int, rule: str | None = None, kind: type[MergingRun] = MergingRun) -> Report:
    """Run processes on PostgreSQL under faults, and check what they did and saw.

    :param seconds: how long there are faults.
    :param rule: is left out.
    """
    base = IN_MEMORY_FILES if IN_MEMORY_FILES.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="merging-") as place:
        where = Path(tempfile.mkdtemp(prefix="merging-", dir=base))
        try:
            with postgresql(Path(place)) as setup, kind.without(rule):
                this = kind(setup, where, seed, rule)
                report = Report(setup.version, seed)
                try:
                    report.seconds = round(this.work(seconds), 1)
                    report.faults = dict(this.end())
                finally:
                    this.supervisor.close()
                last = this.last_look()
            _fill(report, this, last)
        finally:
            shutil.rmtree(where)
    return report


def _fill(report: Report, this: MergingRun, last: Findings) -> None:
    counts, broken = last.counts, last.broken
    for path in sorted((this.directory / "found").glob("*.json")):
        seen, told = json.loads(path.read_text())
        counts.update(seen)
        broken += told
    histories = sorted((this.directory / "history").iterdir())
    found = Examination(this.model(histories), []).examine(histories, this.directory / "counts")
    said = [str(violation) for violation in found.violations]
    undecided = [each for each in said if "it took too long to decide" in each]
    calls: Counter[tuple[Kind, Told]] = found.told
    counts["histories of partitions that took too long to decide"] = len(undecided)
    counts.update(this.named(calls))
    report.operations = sum(times for (kind, _), times in calls.items() if kind is not Kind.PUBLISHED) + counts["reads"]
    report.counts = dict(counts)
    report.violations = [*broken, *(each for each in said if each not in undecided), *this.supervisor.failed]
