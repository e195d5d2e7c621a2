"""One seed in virtual time: publishers, compactors, a collector and readers under faults; then calm, a last look."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, ClassVar, Final

from greenlet import getcurrent

from airflow_coordination.testing.history import Kind, MemoryLog, Told, check
from tests.merging.actors import GROUPS, ROLES, SOURCES, Collector, Reader, Tools, left_behind
from tests.merging.broken import without
from tests.merging.shelf import STEPS, shelf
from tests.merging.truth import Findings, ReadersInMemory, TruthInMemory
from tests.simulation.behaviour import EXPECTED, bring_to_an_end
from tests.simulation.clocks import VirtualHeartbeat
from tests.simulation.run import PATIENCE, SETTLING
from tests.simulation.setup import Setup
from tests.simulation.stores import MakeStore
from tests.simulation.world import Process
from tests.upkeep import Dataset

STOPPED: Final = "STOPPED_PAST_ITS_LEASE"
"""Past its lease, beside what meets a message."""
_HOW_MANY: Final = {"publisher": 3, "compactor": 3, "collector": 1, "reader": 2}


@dataclass
class Report:
    """What became of one seed.

    :param operations: calls in the two histories; a read of the dataset is one, however many partitions it has.
    :param counts: what actors have done, how often.
    """

    seed: int
    operations: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)


class MergingSetup(Setup):
    """A run's world, store and histories: one of partitions and one of groups.

    :param root: of all output.
    """

    roles: ClassVar[Mapping[str, Any]] = ROLES
    how_many: ClassVar[Mapping[str, int]] = _HOW_MANY
    victims: ClassVar[Collection[str]] = ("compactor",)
    """Roles that are stopped past their leases."""

    def __init__(self, seed: int, make_store: MakeStore, root: str) -> None:
        super().__init__(seed, make_store)
        self.root = root
        self.keys = [f"k{number}" for number in range(self.draw.choice((2, 4, 6)))]
        lease = self.settings.ownership_timeout.total_seconds()
        self.settings = replace(self.settings, max_failures=20, retry_delay=timedelta(0))
        self.habits = replace(
            self.habits,
            pace=lease * self.draw.choice((0.01, 0.05, 0.2)),
            steps=self.draw.choice((0, 1, 3)),
            endings=self.draw.choice(((8, 2, 1, 1), (4, 6, 1, 1))),
            reopen_after=1.0,
            retry_after=1.0,
        )
        self.of_groups = MemoryLog(lambda: self.world.time)
        self.truth, self.readers, self.found = TruthInMemory(), ReadersInMemory(), Findings()
        self.stoppable: dict[str, Process] = {}
        self._second_epoch = self.world.time + self.length * self.draw.uniform(0.2, 0.8)

    def epoch(self) -> int:
        """Return the present epoch of groups."""
        return 1 + (self.world.time >= self._second_epoch)

    def tools(self, task: str, role: str) -> tuple[Process, Tools]:
        """Start a process, and return what it works with."""
        source = SOURCES[role]
        process, one, clock = self.start(task, source=source)
        if source == GROUPS:
            one.log = self.of_groups
        data = Dataset(one.coordinator.store, self.root)
        rest = (self.truth, self.readers, self.keys, self.epoch, self.found)
        return process, Tools(one, data, clock, self.draw, self.habits, VirtualHeartbeat, *rest)


class Running:
    """A process of a role, started anew when it is killed."""

    def __init__(self, setup: MergingSetup, role: str, task: str) -> None:
        self._setup, self._role, self._task = setup, role, task
        self._process, self._tools = setup.tools(task, role)
        self._process.when_killed = self._again
        self._process.spawn(self._main)
        if role in setup.victims:
            setup.stoppable[task] = self._process

    def _again(self) -> None:
        if self._setup.running:
            later = self._setup.draw.random() * 10
            self._setup.world.after(later, lambda: Running(self._setup, self._role, self._task))

    def _main(self) -> None:
        actor = self._setup.roles[self._role](self._tools)
        STEPS[getcurrent()] = lambda: self._process.sleep(self._setup.draw.random() * 0.3)
        try:
            while self._setup.running:
                self._tools.pause()
                with suppress(*EXPECTED):
                    actor.do()
        finally:
            del STEPS[getcurrent()]


class Finisher:
    """The one who is left when the faults have ended: ends everything, merges, collects, and reads once more."""

    ROUNDS: Final = 200

    def __init__(self, setup: MergingSetup) -> None:
        self._setup = setup
        process, self._partitions = setup.tools("finisher", "reader")
        self._prepare()
        process.spawn(self._main)

    def _prepare(self) -> None:
        _, self._groups = self._setup.tools("finisher", "compactor")

    def _end_all(self) -> None:
        for each in (self._partitions, self._groups):
            self._end(each)

    def _look(self) -> None:
        tools = self._partitions
        collector, reader = Collector(tools), Reader(tools)
        reader.do()
        for _ in range(2):
            collector.do()
            reader.do()
        self._setup.found.broken += left_behind(tools)

    def _main(self) -> None:
        self._end_all()
        self._look()
        self._setup.finished = True

    def _end(self, tools: Tools) -> None:
        for _ in range(self.ROUNDS):
            if bring_to_an_end(tools.one):
                return
            tools.clock.sleep(30)


def simulate(seed: int, make_store: MakeStore, rule: str | None = None) -> Report:
    """Run one seed on a new store.

    :param rule: is left out.
    """
    with shelf(f"run{seed}") as root, without(rule):
        setup = MergingSetup(seed, make_store, root)
        try:
            run_phases(setup)
            return _report(seed, setup)
        finally:
            setup.clear()


def run_phases(setup: MergingSetup, finisher: type[Finisher] = Finisher) -> None:
    """Let everybody work under faults, then the finisher without."""
    for role, number in setup.how_many.items():
        for each in range(number):
            Running(setup, role, f"{role}{each}")
    _stop_some(setup)
    setup.world.run(setup.end)
    setup.running, setup.weather.calm = False, True
    setup.world.run(setup.end + SETTLING)
    finisher(setup)
    setup.world.run(setup.end + SETTLING + PATIENCE)


def _stop_some(setup: MergingSetup) -> None:
    """Stop one of them past its lease, again and again."""
    lease, draw = setup.settings.ownership_timeout.total_seconds(), setup.draw

    def stop() -> None:
        if setup.running:
            draw.choice(list(setup.stoppable.values())).stop(lease * draw.uniform(1.05, 3))
            setup.found.counts[STOPPED] += 1
            setup.world.after(lease * draw.uniform(0.2, 2), stop)

    setup.world.after(lease * draw.random(), stop)


def _report(seed: int, setup: MergingSetup) -> Report:
    logs = setup.log.operations, setup.of_groups.operations
    counts = setup.found.counts
    counts["late endings refused"] = sum(
        made.kind is Kind.COMPLETE and made.told is Told.REFUSED for made in setup.of_groups.operations
    )
    counts["published"] = sum(
        made.kind in (Kind.COMPLETE, Kind.CLOSE) and made.told is Told.OK for made in setup.log.operations
    )
    counts["retracted"] = sum(made.kind is Kind.RETRACT and made.told is Told.OK for made in setup.log.operations)
    faults = {fault.name: number for fault, number in setup.weather.counts.items()}
    faults[STOPPED] = counts.pop(STOPPED, 0)
    said = [str(violation) for log in logs for violation in check(log, setup.settings, setup.store.behind)]
    undecided = [violation for violation in said if "it took too long to decide" in violation]
    counts["histories of partitions that took too long to decide"] = len(undecided)
    broken = setup.found.broken + [violation for violation in said if violation not in undecided]
    if not setup.finished:
        broken.append("L1: not everything has come to an end")
    calls = sum(made.kind is not Kind.PUBLISHED for log in logs for made in log)
    return Report(seed, calls + counts["reads"], faults, dict(counts), broken)
