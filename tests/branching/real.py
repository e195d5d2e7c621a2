"""Real processes on PostgreSQL: publishers, people who branch, hide and purge, a collector, readers; under faults."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Final

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.leases.heartbeat import Heartbeat
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.stores import open_store
from airflow_coordination.testing.forwarding import there
from airflow_coordination.testing.history import FileLog, Kind, Model, Told, read_logs
from airflow_coordination.values.errors import BranchError
from airflow_coordination.values.times import Randomness
from tests.branching.actors import HOW_MANY, KEYS, ROLES, WHO, WHY, Collector, Reader, Tools, settle
from tests.branching.broken import without
from tests.branching.noted import BranchRecorder, KnownViews
from tests.merging.actors import left_behind
from tests.merging.real import MergingRun, MergingSpec, act
from tests.merging.real import run_processes as of_merging
from tests.merging.truth import Findings, ReadersInFiles, TruthInFiles
from tests.processes.actor import HastyClock
from tests.processes.finish import finish
from tests.processes.run import PATIENCE
from tests.processes.stores import FaultyStoreSetup
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
    with without(spec.rule):
        tools = tools_of(spec, spec.url, spec.name)
        act(spec, ROLES[spec.role](tools), tools.found)


class BranchingRun(MergingRun):
    """One run.

    :param setup: the store.
    :param directory: where the processes write.
    """

    how_many = HOW_MANY
    harmed = ("publisher", "brancher", "hider")
    process = staticmethod(run_process)
    without = staticmethod(without)

    def __init__(self, setup: FaultyStoreSetup, directory: Path, seed: int, rule: str | None) -> None:
        super().__init__(setup, directory, seed, rule)
        store = open_store(setup.direct)
        there(parts_of(store).enabling).enable_branches()
        store.close()

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

    def model(self, histories: Iterable[Path]) -> Model:
        changes = [made for path in histories for made in read_logs([path]) if made.kind is Kind.VIEW]
        return Model(self.settings, self.setup.behind, KnownViews(self.documents, changes))

    @staticmethod
    def named(calls: Counter[tuple[Kind, Told]]) -> dict[str, int]:
        return {
            "late endings refused": calls[Kind.COMPLETE, Told.REFUSED] + calls[Kind.CLOSE, Told.REFUSED],
            "published": calls[Kind.COMPLETE, Told.OK] + calls[Kind.CLOSE, Told.OK],
        }


def _ended(tools: Tools) -> bool:
    """End what goes on; what a branch does not allow is reset first."""
    deadline = time.monotonic() + 2 * PATIENCE
    while time.monotonic() < deadline:
        try:
            return finish(tools.one, PATIENCE)
        except BranchError as error:
            tools.one.people.reset(error.key, WHO, WHY, out_of_branch=True)
    return False


run_processes = partial(of_merging, kind=BranchingRun)
