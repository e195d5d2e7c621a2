"""One seed in virtual time: publishers, people, a collector and readers under faults; then calm, a last look."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final

from airflow_coordination.protocol.beside.documents import Document
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.testing.forwarding import there
from airflow_coordination.testing.history import Kind, Model, Told
from airflow_coordination.testing.history.check import (
    branches_show_whole,
    each_partition_is_linearizable,
    fences_are_unique,
    nothing_is_forgotten_early,
)
from airflow_coordination.values.errors import BranchError
from tests.branching.actors import HOW_MANY, KEYS, ROLES, WHO, WHY, Collector, Reader, Tools, settle
from tests.branching.broken import without
from tests.branching.noted import BranchRecorder, KnownViews
from tests.merging.actors import left_behind
from tests.merging.shelf import shelf
from tests.merging.virtual import STOPPED, Finisher, MergingSetup, Report, run_phases
from tests.simulation.clocks import VirtualHeartbeat
from tests.simulation.stores import MakeStore
from tests.simulation.world import Process
from tests.upkeep import SOURCE, Dataset

LEAST_BUFFER: Final = 40.0
"""Seconds after which what nobody sees is emptied, at least: longer than any message is under way."""


class BranchingSetup(MergingSetup):
    """A run's world, store and history.

    :param root: of all output.
    """

    roles: ClassVar[Mapping[str, Any]] = ROLES
    how_many: ClassVar[Mapping[str, int]] = HOW_MANY
    victims: ClassVar[Collection[str]] = ("publisher", "brancher", "hider")

    def __init__(self, seed: int, make_store: MakeStore, root: str) -> None:
        super().__init__(seed, make_store, root)
        self.keys = list(KEYS[: self.draw.choice((2, 4, 8))])
        pace = self.settings.ownership_timeout.total_seconds() * self.draw.choice((0.005, 0.01, 0.05))
        steps = self.draw.choice((3, 6))
        self.habits = replace(self.habits, pace=pace, steps=steps)
        self.documents: list[Document] = []
        """All versions of the view, in the end."""
        self.buffer = max(LEAST_BUFFER, 8 * pace)
        there(parts_of(self.store.plain).enabling).enable_branches()

    def tools(self, task: str, role: str) -> tuple[Process, Tools]:
        """Start a process, and return what it works with."""
        process, one, clock = self.start(task, source=SOURCE)
        noted = BranchRecorder(one.coordinator, self.log, process.name)
        data = Dataset(one.coordinator.store, self.root)
        rest = (self.truth, self.readers, self.keys, self.epoch, self.found, self.buffer)
        return process, Tools(noted, data, clock, self.draw, self.habits, VirtualHeartbeat, *rest)


class LastOne(Finisher):
    """The one who is left when the faults have ended: ends everything, collects, and reads once more."""

    _setup: BranchingSetup
    _partitions: Tools

    def _prepare(self) -> None:
        pass

    def _end_all(self) -> None:
        settle(self._partitions)
        for _ in range(len(self._partitions.keys) + 1):
            try:
                self._end(self._partitions)
            except BranchError as error:
                self._partitions.one.people.reset(error.key, WHO, WHY, out_of_branch=True)

    def _look(self) -> None:
        tools = self._partitions
        collector, reader = Collector(tools), Reader(tools)
        reader.do()
        for _ in range(2):
            collector.do()
            reader.do()
        self._setup.found.broken += left_behind(tools)
        self._setup.documents = tools.documents()


def simulate(
    seed: int, make_store: MakeStore, rule: str | None = None, kind: type[BranchingSetup] = BranchingSetup
) -> Report:
    """Run one seed on a new store.

    :param rule: is left out.
    :param kind: who takes part.
    """
    with shelf(f"run{seed}") as root, without(rule):
        setup = kind(seed, make_store, root)
        try:
            run_phases(setup, LastOne)
            return _report(seed, setup)
        finally:
            setup.clear()


def _report(seed: int, setup: BranchingSetup) -> Report:
    made, counts = setup.log.operations, setup.found.counts
    counts["published"] = sum(each.kind in (Kind.COMPLETE, Kind.CLOSE) and each.told is Told.OK for each in made)
    counts["retracted"] = sum(
        each.kind is Kind.RETRACT and each.told is Told.OK and "datasets" not in each.given for each in made
    )
    counts["late endings refused"] = sum(each.kind is Kind.COMPLETE and each.told is Told.REFUSED for each in made)
    faults = {fault.name: number for fault, number in setup.weather.counts.items()}
    faults[STOPPED] = counts.pop(STOPPED, 0)
    views = KnownViews(setup.documents, made)
    found = (
        *fences_are_unique(made),
        *nothing_is_forgotten_early(made),
        *branches_show_whole(made, views),
        *each_partition_is_linearizable(made, Model(setup.settings, setup.store.behind, views)),
    )
    said = [str(violation) for violation in found]
    undecided = [violation for violation in said if "it took too long to decide" in violation]
    counts["histories of partitions that took too long to decide"] = len(undecided)
    broken = setup.found.broken + [violation for violation in said if violation not in undecided]
    if not setup.finished:
        broken.append("L1: not everything has come to an end")
    calls = sum(each.kind is not Kind.PUBLISHED for each in made)
    return Report(seed, calls + counts["reads"], faults, dict(counts), broken)
