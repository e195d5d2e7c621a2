"""One run of a group: what its duties are given, and what each has to say of itself.

Source: Druid's ``DruidCoordinatorRuntimeParams`` and ``CoordinatorDuty``. There a duty changes what the next one reads;
here each reads for itself and conditions its writes on that, so that a run that wakes up late changes nothing that a
newer one would not allow (promise S25).
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, ClassVar, Protocol, TypeVar

from airflow_coordination.duties.duty import ENDS_ALL
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.planning.duties.configuration import DynamicConfig
from airflow_coordination.planning.unused.deleting import Margins
from airflow_coordination.protocol.beside.documents import Document
from airflow_coordination.protocol.metrics import Metrics
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.values.input_errors import CoordinationError, SettingsError
from airflow_coordination.values.names import ALL, UPKEEP, everybody, name_under
from airflow_coordination.values.settings import Settings

log = logging.getLogger(__name__)
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What became of one duty in one run.

    :param said: one sentence for people.
    :param counts: numbers by Druid's names of metrics, such as ``segment/dropped/count``; zeros among them, so that a
        line of a chart does not end where nothing happens.
    :param warnings: what somebody should look at.
    :param left: what the duty wants to be told in the next run, as a JSON value; ``None``: what it was told in this.
    :param idle: whether there was nothing to do.
    :param errors: why it could not be done in some sources, while it was in others: the duty has failed then.
    """

    said: str
    counts: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    left: Any = None
    idle: bool = False
    errors: tuple[str, ...] = ()


def in_each(sources: Iterable[SourceCoordinator], do: Callable[[SourceCoordinator], object]) -> tuple[str, ...]:
    """Do something in each source, whatever becomes of it in the others; return why it could not be done, by source.

    :raises StoreUnavailableError: when the store is silent: it would be in the next source, too; and so with the others
        of :data:`~.duty.ENDS_ALL`.
    """
    errors = []
    for coordinator in sources:
        try:
            do(coordinator)
        except ENDS_ALL:
            raise
        except CoordinationError as error:
            errors.append(f"{coordinator.source}: {type(error).__name__}: {error}")
    return tuple(errors)


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """What is the same for all duties of a run.

    :param store: the store.
    :param owner: who runs them.
    :param prefix: keeps deployments that share a store apart; the store's own by default.
    :param now: when the run began, by the store's clock.
    :param led_since: since when this group has been led without a longer break, by the store's clock.
    :param period: from one run of the group to the next.
    :param config: the dynamic configuration as it was when the run began.
    :param margins: what the purge leaves alone; ``None`` where it is off, as it is by default.
    :param output_root: where blocks are published; ``None`` where nobody has said so.
    :param only: the names of the sources that are served; ``None`` for all.
    :param metrics: where counts of leases go.
    :param dry_run: look, and change nothing.
    :param said: the documents of all sources as they were when the run began; they are read where that is left out.
    :param grace: ``reassign_grace`` of those who work on the sources.
    """

    store: PartitionStore
    owner: str
    now: datetime
    led_since: datetime
    period: timedelta
    config: DynamicConfig
    prefix: str | None = None
    margins: Margins | None = None
    output_root: str | None = None
    only: Collection[str] | None = None
    metrics: Metrics | None = None
    dry_run: bool = False
    said: Mapping[str, Document] | None = None
    grace: timedelta = timedelta(0)

    @cached_property
    def documents(self) -> Mapping[str, Document]:
        """The documents of all sources by their names: rules, locations and configuration; read once in a run."""
        return documents_of_all(self.coordinator(ALL)) if self.said is None else self.said

    @cached_property
    def sources(self) -> list[SourceCoordinator]:
        """Coordinators of users' sources, by name; one request in all."""
        return [self.coordinator(name) for name in self._names()]

    def once(self, name: str, ask: Callable[[], Answer]) -> Answer:
        """Return what was asked for in this run already, or ask for it now: for what several duties need to know.

        :param name: what is asked for; the same name stands for the same question.
        :param ask: asks for it.
        """
        if name not in self._answers:
            self._answers[name] = ask()
        found: Answer = self._answers[name]
        return found

    @cached_property
    def _answers(self) -> dict[str, Any]:
        return {}

    def coordinator(self, source: str) -> SourceCoordinator:
        """Return a coordinator of a source, in the name of who runs the group."""
        settings = Settings(reassign_grace=self.grace)
        return SourceCoordinator(self.store, source, self.owner, self.prefix, settings=settings, metrics=self.metrics)

    @cached_property
    def known(self) -> frozenset[str]:
        """The names of all sources that have partitions, those beside users' among them."""
        names = (name_under(self.prefix, identifier) for identifier, _ in self.store.sources())
        return frozenset(name for name in names if name is not None)

    def _names(self) -> list[str]:
        there = {name for name in self.known if not name.startswith(UPKEEP)}
        if self.only is None:
            return sorted(there)
        unknown = [self._unknown(name, there) for name in self.only if name not in there]
        if unknown and there.isdisjoint(self.only):
            raise unknown[0]
        for error in unknown:  # it may come yet, and keeps no other from being served
            log.warning("One source is not served: %s", error)
        return sorted(there.intersection(self.only))

    def _unknown(self, name: str, there: Collection[str]) -> SettingsError:
        near = difflib.get_close_matches(str(name), there, n=1, cutoff=0.5)
        remedy = f"Did you mean {near[0]!r}?" if near else "Create its partitions first, or leave it out"
        return SettingsError("sources", name, f"is no source of store {self.store.description}", remedy)


def documents_of_all(coordinator: SourceCoordinator) -> dict[str, Document]:
    """Return the newest documents of all sources with a prefix by their names; one request.

    :param coordinator: on the store, with the prefix; its source does not matter.
    """
    return {each.name: each for each in coordinator.documents.all(everybody(coordinator.partition_prefix))}


@dataclass(frozen=True, kw_only=True)
class Round:
    """What one duty is given in one run.

    :param cluster: what is the same for all.
    :param by: the duty's name, as audits and histories call who acts.
    :param arguments: its own (Druid: ``druid.coordinator.<group>.duty.<duty>.<key>``).
    :param remembered: what it has left in the run before; ``None`` in the first.
    """

    cluster: Cluster
    by: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    remembered: Any = None

    @property
    def sources(self) -> list[SourceCoordinator]:
        """Coordinators of the sources that are served, by name."""
        return self.cluster.sources

    @property
    def now(self) -> datetime:
        """When the run began, by the store's clock."""
        return self.cluster.now

    @property
    def config(self) -> DynamicConfig:
        """The dynamic configuration as it was when the run began."""
        return self.cluster.config

    @property
    def dry_run(self) -> bool:
        """Whether it shall only be looked."""
        return self.cluster.dry_run


class GroupDuty(Protocol):
    """A thing that is done for all sources of a store from time to time; doing it twice does no harm.

    It is right without any lease: a lease only keeps two from doing the same work. Where nothing is new it sends few
    requests, however many head records, partitions or files there are.

    :param name: Druid's, where Druid has it.
    """

    name: ClassVar[str]

    def run(self, round: Round) -> Ran:
        """Do it once.

        :param round: what there is to know.
        :raises Exception: when it cannot be done; the duties after it run all the same.
        """
