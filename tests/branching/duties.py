"""Duties in the world of branches: two schedulers without any lease between them, killed and stopped like everybody.

A lease only keeps two from doing the same work (promise S25): so here nothing keeps them, and readers must find the
same. Rules are changed meanwhile; what they hide, and what is purged for it, is judged as all that people hide.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from functools import partial
from typing import Any, ClassVar, Final

from airflow_coordination.duties.groups.deleting import KillUnused
from airflow_coordination.duties.groups.hiding import RunRules
from airflow_coordination.duties.groups.round import Cluster, GroupDuty, Round
from airflow_coordination.duties.retention.ruled import set_rules
from airflow_coordination.planning.duties.configuration import DynamicConfig
from airflow_coordination.planning.periods import Period
from airflow_coordination.planning.unused.deleting import Margins
from airflow_coordination.planning.view.view import View
from tests.branching.actors import HOW_MANY, ROLES, WHO, WHY, Hider, Tools
from tests.branching.noted import BranchRecorder, Commands
from tests.branching.virtual import BranchingSetup, simulate
from tests.merging import batch
from tests.upkeep import DATASET

_PERIOD: Final = timedelta(seconds=1)


class _Documents:
    """The documents of a source, whose changes of the view are noted."""

    def __init__(self, one: BranchRecorder) -> None:
        self._one, self._documents = one, one.coordinator.documents

    def __getattr__(self, name: str) -> Any:
        return getattr(self._documents, name)

    def change_view(self, change: Callable[[View], View], author: str, comment: str, branch: int | None = None) -> View:
        def noted(said: str) -> View:
            return self._documents.change_view(change, author, f"{comment}: {said}", branch)

        return self._one.change_view(noted, "duty")


class _Served(Commands):
    """A source as duties serve it."""

    @property
    def documents(self) -> Any:
        return _Documents(self._one)


class Scheduler(Hider):
    """Runs duties, and changes the rules that they apply."""

    def __init__(self, tools: Tools) -> None:
        super().__init__(tools)
        self._served: Any = _Served(tools.noted, self._watch)
        self._left: dict[str, Any] = {}

    def do(self) -> None:
        """Run each duty once."""
        tools = self._tools
        tools.pause()
        if tools.draw.random() < 0.3:
            days = tools.draw.sample(tools.keys, tools.draw.randint(0, 2))
            rules = [{"type": "dropByInterval", "interval": f"{day}/P1D"} for day in days]
            set_rules(tools.noted.coordinator, DATASET, json.dumps([*rules, {"type": "loadForever"}]), WHO, WHY)
            tools.found.counts["rules set"] += 1
        self._run(RunRules(), "segment/hidden/count", "partitions hidden by rules")
        self._run(KillUnused(), "kill/unused/count", "head records emptied by a duty")

    def _run(self, duty: GroupDuty, metric: str, counted: str) -> None:
        tools, one = self._tools, self._tools.noted.coordinator
        now = one.store.now()
        cluster = Cluster(
            store=one.store,
            owner=one.owner.text,
            now=now,
            led_since=now - timedelta(days=1),
            period=_PERIOD,
            config=DynamicConfig(),
            margins=Margins(duration_to_retain=None, buffer=Period(0, timedelta(seconds=tools.buffer))),
        )
        vars(cluster)["sources"] = [self._served]
        arguments = {"period": "PT0S"} if duty.name == KillUnused.name else {}
        round = Round(cluster=cluster, by=duty.name, arguments=arguments, remembered=self._left.get(duty.name))
        ran = duty.run(round)
        tools.found.counts[counted] += ran.counts[metric]
        tools.found.broken += [f"L1: {duty.name}: {error}" for error in ran.errors if "InvalidInput" in error]
        self._left[duty.name] = ran.left


class DutiesSetup(BranchingSetup):
    """A run with schedulers in it."""

    roles: ClassVar[Mapping[str, Any]] = {**ROLES, "scheduler": Scheduler}
    how_many: ClassVar[Mapping[str, int]] = {**HOW_MANY, "scheduler": 2}
    victims: ClassVar[Collection[str]] = (*BranchingSetup.victims, "scheduler")


_SIMULATE: Final = partial(simulate, kind=DutiesSetup)
tally = partial(batch.tally, simulate=_SIMULATE)
run = partial(batch.run, simulate=_SIMULATE)
