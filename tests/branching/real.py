"""Real processes on PostgreSQL: publishers, people who branch, hide and purge, a collector, readers; under faults."""

from __future__ import annotations

import json
import logging
import os
import random
import shutil
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.leases.heartbeat import Heartbeat
from airflow_coordination.protocol.port import parts_of
from airflow_coordination.stores import open_store
from airflow_coordination.testing.forwarding import there
from airflow_coordination.testing.history import FileLog, Kind, Model, Told, read_logs
from airflow_coordination.values.errors import BranchError
from airflow_coordination.values.times import Randomness
from tests.branching.actors import HOW_MANY, KEYS, ROLES, WHO, WHY, Collector, Reader, Tools, settle
from tests.branching.broken import without
from tests.branching.noted import BranchRecorder, KnownViews
from tests.merging.actors import left_behind
from tests.merging.real import HABITS, HASTE, MergingRun, MergingSpec, Report, leave
from tests.merging.truth import Findings, ReadersInFiles, TruthInFiles
from tests.processes.actor import HastyClock
from tests.processes.examine import Examination
from tests.processes.finish import finish
from tests.processes.on_postgresql import postgresql
from tests.processes.run import PATIENCE, settings_of
from tests.processes.stores import FaultyStoreSetup
from tests.processes.supervisor import Supervisor
from tests.simulation.behaviour import EXPECTED
from tests.simulation.stores import IN_MEMORY_FILES
from tests.upkeep import SOURCE, Dataset

BUFFER: Final = 20.0
"""Seconds after which what nobody sees is emptied: longer than any message is under way, or a process is stopped."""


def tools_of(spec: MergingSpec, url: str, name: str) -> Tools:
    """Return what an actor of a process works with."""
    draw, store, where = random.Random(f"{spec.seed} {name}"), open_store(url), spec.directory
    coordinator = SourceCoordinator(store, SOURCE, spec.owner, settings=spec.settings, randomness=Randomness(draw))
    return Tools(
        BranchRecorder(coordinator, FileLog(where / "history" / f"{name}.jsonl"), name),
        Dataset(store, str(where / "out")),
        HastyClock(spec.haste),
        draw,
        spec.habits,
        Heartbeat,
        TruthInFiles(where / "truth"),
        ReadersInFiles(where / "reading"),
        KEYS,
        lambda: 1,
        Findings(),
        BUFFER,
    )


def run_process(spec: MergingSpec) -> None:
    """Be one process from its start to its end, if nobody ends it before."""
    logging.getLogger("airflow_coordination").setLevel(logging.CRITICAL)  # what is missed here is what it is about
    parent = os.getppid()
    with without(spec.rule):
        tools = tools_of(spec, spec.url, spec.name)
        actor = ROLES[spec.role](tools)
        while (spec.directory / "running").exists() and os.getppid() == parent:
            with suppress(*EXPECTED):
                actor.do()
            leave(tools.found, spec.found)


class BranchingRun(MergingRun):
    """One run.

    :param setup: the store.
    :param directory: where the processes write.
    """

    how_many = HOW_MANY

    def __init__(self, setup: FaultyStoreSetup, directory: Path, seed: int, rule: str | None) -> None:
        self.setup, self.directory, self.seed = setup, directory, seed
        self.draw = random.Random(seed)
        self.settings = replace(settings_of(setup.lease), max_failures=20, max_lost_leases=100)
        self.spec = MergingSpec(directory, setup.url, seed, "", "", 0, "", self.settings, HABITS, HASTE, rule=rule)
        for name in ("history", "found", "truth", "reading", "out"):
            (directory / name).mkdir()
        (directory / "running").touch()
        store = open_store(setup.direct)
        there(parts_of(store).enabling).enable_branches()
        store.close()
        victims = random.Random(f"victims {seed}")
        self.supervisor = Supervisor(self.spec, victims, run_process, ("publisher", "brancher", "hider"))

    def last_look(self) -> Findings:
        """Bring everything to an end, collect, and read once more."""
        tools = tools_of(self.spec, self.setup.direct, "last")
        settle(tools)
        if not _ended(tools):
            tools.found.broken.append("L1: not everything has come to an end")
        collector, reader = Collector(tools), Reader(tools)
        reader.do()
        for _ in range(2):
            collector.do()
            reader.do()
        tools.found.broken += left_behind(tools)
        self.documents = tools.documents()
        return tools.found


def _ended(tools: Tools) -> bool:
    """End what goes on; what a branch does not allow is reset first."""
    deadline = time.monotonic() + 2 * PATIENCE
    while time.monotonic() < deadline:
        try:
            return finish(tools.one, PATIENCE)
        except BranchError as error:
            tools.one.people.reset(error.key, WHO, WHY, out_of_branch=True)
    return False


def run_processes(seconds: float, seed: int, rule: str | None = None) -> Report:
    """Run processes on PostgreSQL under faults, and check what they did and saw.

    :param seconds: how long there are faults.
    :param rule: is left out.
    """
    base = IN_MEMORY_FILES if IN_MEMORY_FILES.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="branching-") as place:
        where = Path(tempfile.mkdtemp(prefix="branching-", dir=base))
        try:
            with postgresql(Path(place)) as setup, without(rule):
                this = BranchingRun(setup, where, seed, rule)
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


def _fill(report: Report, this: BranchingRun, last: Findings) -> None:
    counts, broken = last.counts, last.broken
    for path in sorted((this.directory / "found").glob("*.json")):
        seen, told = json.loads(path.read_text())
        counts.update(seen)
        broken += told
    histories = sorted((this.directory / "history").iterdir())
    changes = [made for path in histories for made in read_logs([path]) if made.kind is Kind.VIEW]
    model = Model(this.settings, this.setup.behind, KnownViews(this.documents, changes))
    found = Examination(model, []).examine(histories, this.directory / "counts")
    said = [str(violation) for violation in found.violations]
    undecided = [each for each in said if "it took too long to decide" in each]
    calls: Counter[tuple[Kind, Told]] = found.told
    counts["histories of partitions that took too long to decide"] = len(undecided)
    counts["late endings refused"] = calls[Kind.COMPLETE, Told.REFUSED] + calls[Kind.CLOSE, Told.REFUSED]
    counts["published"] = calls[Kind.COMPLETE, Told.OK] + calls[Kind.CLOSE, Told.OK]
    report.operations = sum(times for (kind, _), times in calls.items() if kind is not Kind.PUBLISHED) + counts["reads"]
    report.counts = dict(counts)
    report.violations = [*broken, *(each for each in said if each not in undecided), *this.supervisor.failed]
