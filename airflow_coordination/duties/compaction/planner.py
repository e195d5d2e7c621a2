"""The planner ``compactSegments``: looks under a lease of its own, and makes groups claimable. One for each source."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from airflow_coordination.duties.compaction.configured import with_documents
from airflow_coordination.duties.compaction.plan import Plan, State, Task, plan
from airflow_coordination.duties.compaction.remembered import News, Remembered, Still
from airflow_coordination.duties.compaction.snapshot import Snapshot, look, newest_tenures
from airflow_coordination.duties.compaction.stands import Stands, stands, stills
from airflow_coordination.duties.compaction.sums import sums
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.outputs.overlays import check_mergeable, merged_source
from airflow_coordination.planning.compaction.configuration import CompactionConfig, by_dataset
from airflow_coordination.planning.compaction.slots import CompactionSlots
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.partition import PartitionIdentifier
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.in_bulk import unsearched
from airflow_coordination.values.input_errors import CoordinationError, InvalidInputError, shown
from airflow_coordination.values.names import DUTIES, identifier_of

log = logging.getLogger(__name__)

COMPACT: Final = "compactSegments"
"""The duty's name, as Druid calls it; who resets groups in the audit."""
PERIOD: Final = timedelta(minutes=30)
_NO_LIMIT: Final = 2**31 - 1
Wanted: TypeAlias = Mapping[str, CompactionConfig]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What a run has done.

    :param plan: what was planned; ``None`` when there was no need to look, or somebody else plans.
    :param begun: the keys of the groups that it has made claimable, the newest chunk first.
    :param moved: those that somebody has changed since they were read; the next run looks again.
    :param rival: who plans at this moment, if it is somebody else.
    :param rival_until: when that lease ends unless it is renewed, by the store's clock.
    :param error: why it could not be planned, where others were planned with it.
    :param still: what waits as it did at the last run, by dataset, where there was no need to look.
    """

    plan: Plan | None = None
    begun: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    rival: str | None = None
    rival_until: datetime | None = None
    error: CoordinationError | None = None
    still: Mapping[str, Still] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Looked:
    """What a run plans from.

    :param configs: how datasets are compacted.
    :param remembered: what the run before has left.
    :param seen: the source as it was read.
    :param lease: the planner's, under which it was read; ``None`` of a look that changes nothing.
    :param stands: what lets go on what waits, as it was before all of that was read.
    """

    configs: Sequence[CompactionConfig]
    remembered: Remembered
    seen: Snapshot
    lease: Lease | None = None
    stands: Stands | None = None


class Planner:
    """Plans the compaction of one source.

    :param coordinator: of the source whose partitions have published.
    :param slots: how many groups may be claimable or held at once; as in the last run if left out.
    :param period: from one run to the next; groups that have failed wait for so many of them.
    :raises InvalidKeyError: when the source's name is too long for the one beside it.
    """

    def __init__(
        self, coordinator: SourceCoordinator, slots: CompactionSlots | None = None, period: timedelta = PERIOD
    ) -> None:
        self.coordinator, self._slots, self._period = coordinator, slots, period
        check_mergeable(coordinator.source, coordinator.partition_prefix)
        self.groups = _beside(coordinator, merged_source(coordinator.source))
        self.duties = _beside(coordinator, DUTIES)
        self.key = f"{COMPACT}|{coordinator.source}"
        self.beside: tuple[str, ...] = ()
        """The sources that share the slots: where one goes, or comes, what waits may go on."""

    def remembered(self) -> Remembered:
        """Return what the last run has left."""
        found = self.duties.partition(self.key)
        return Remembered.from_json(found.progress_state if found else None)

    def configs(self) -> list[CompactionConfig]:
        """Return how datasets are compacted: as documents say, the others as in the last run.

        :raises InvalidInputError: when neither says anything.
        """
        found = with_documents(self.coordinator, self.remembered().configs())
        if not found:
            problem = f"are not known of source {shown(self.coordinator.source)}: nothing has been planned yet"
            raise InvalidInputError("configs", found, problem, "Run PlanCompactionOperator, or `compaction set`")
        return found

    def snapshot(self, datasets: Iterable[str]) -> Snapshot:
        """Read everything of some datasets."""
        return self._read(datasets, newest_tenures(self.coordinator))

    def look(self, configs: Iterable[CompactionConfig] | None = None) -> Plan:
        """Return what a run would do now, and do nothing.

        :param configs: how datasets are compacted; as :meth:`configs` says if left out.
        :raises InvalidInputError: when there are none, or two for one dataset.
        :raises OutputError: when the manifest of an overlay is missing or was changed.
        """
        chosen = by_dataset(self.configs() if configs is None else configs)
        return self.planned(self.looked(chosen))

    def run(self, configs: Iterable[CompactionConfig], *, full: bool = False) -> Planned:
        """Plan under the lease, and make groups claimable.

        Where nothing was published since the last run, nothing waits and the configuration is as it was, three requests
        are all that is sent. Where groups are under way or wait for a slot, five more, as long as none of them ends.

        :param configs: how datasets are compacted.
        :param full: look at everything, whatever the history says.
        :raises InvalidInputError: when two configurations are for one dataset, or one is too long for a payload.
        :raises OutputError: when the manifest of an overlay is missing or was changed.
        :raises PartitionNotOwnedError: when the planner's lease was lost meanwhile.
        """
        wanted = by_dataset(configs)
        if not full and not (news := self.news(wanted)).is_new:
            waits = "what waits cannot go on" if news.still else "nothing new to compact"
            log.info("Source %s: %s.", shown(self.coordinator.source), waits)
            return Planned(still=news.still)
        with self.leased() as lease:
            if lease is not None:
                prepared = self.prepared(lease, wanted, full=full)
                return Planned() if prepared is None else self.carried_out(prepared)
        return self.of_rival()

    def of_rival(self) -> Planned:
        """Return who plans at this moment."""
        found = self.duties.partition(self.key)
        return Planned(rival=found.owner if found else None, rival_until=found.ownership_timeout if found else None)

    @contextmanager
    def leased(self) -> Iterator[Lease | None]:
        """Hold the planner's lease, renewed, for as long as the block lasts; ``None`` while somebody else has it."""
        lease = self._acquired()
        if lease is None:
            yield None
            return
        try:
            with self.duties.heartbeat(lease):
                yield lease
        finally:
            if lease.ending is None:
                with suppress(CoordinationError):  # it ends by itself; what was planned, or is the matter, counts more
                    self.duties.give_up(lease)

    def news(self, configs: Mapping[str, CompactionConfig], remembered: Remembered | None = None) -> News:
        """Return whether everything has to be looked at; three requests, eight where something waits.

        :param configs: how datasets are compacted, by their names.
        :param remembered: what the last run has left, where that was read a moment ago.
        """
        last = remembered or self.remembered()
        return self._news(last, configs, newest_tenures(self.coordinator), lambda: self._stands(last))

    def _news(
        self,
        remembered: Remembered,
        configs: Mapping[str, CompactionConfig],
        history: str | None,
        now: Callable[[], Stands | None],
    ) -> News:
        def digest() -> str | None:
            found = now()
            return found.digest if found else None

        return remembered.news(history, configs, self.coordinator.store.now(), digest)

    def _stands(self, remembered: Remembered) -> Stands | None:
        return stands(self.coordinator, self.groups, self._slots or remembered.slots, self.beside)

    def forget_still(self, lease: Lease) -> None:
        """Let the next run look at everything, whatever becomes of this one: what waits may go on now."""
        remembered = Remembered.from_json(lease.partition.progress_state)
        self.duties.save_progress_state(lease, dataclasses.replace(remembered, still={}).to_json())

    def prepared(self, lease: Lease, configs: Mapping[str, CompactionConfig], *, full: bool = False) -> Looked | None:
        """Read everything that a run plans from; ``None`` where another planner was faster, and nothing is new.

        :param lease: of :meth:`leased`.
        :param configs: how datasets are compacted, by their names.
        :param full: look at everything, whatever the history says.
        :raises OutputError: when the manifest of an overlay is missing or was changed.
        """
        remembered = Remembered.from_json(lease.partition.progress_state)
        history, before = newest_tenures(self.coordinator), self._stands(remembered)
        if not full and not self._news(remembered, configs, history, lambda: before).is_new:
            return None
        return Looked(list(configs.values()), remembered, self._read(configs, history), lease, before)

    def looked(self, configs: Mapping[str, CompactionConfig]) -> Looked:
        """Read what a run would plan from, without a lease.

        :param configs: how datasets are compacted, by their names.
        :raises OutputError: when the manifest of an overlay is missing or was changed.
        """
        remembered = self.remembered()
        return Looked(list(configs.values()), remembered, self.snapshot(configs))

    @unsearched()
    def planned(self, prepared: Looked, available: int | None = None) -> Plan:
        """Return what a run would do with what was read.

        :param available: how many groups may begin; as many as the planner's own slots allow if left out.
        """
        slots = self._slots or prepared.remembered.slots
        return plan(prepared.seen, prepared.configs, slots, prepared.remembered, self._period, available)

    def carried_out(
        self, prepared: Looked, available: int | None = None, wanted: Callable[[], Wanted] | None = None
    ) -> Planned:
        """Make groups claimable, and remember what the next run needs to know.

        A plan may be carried out long after it was made, by who was stopped meanwhile: before each write the lease is
        renewed, and a group is left alone whose dataset is to be compacted otherwise by now (promise S25).

        :param available: as for :meth:`planned`.
        :param wanted: tells how datasets are compacted now, by name; as it was read if left out.
        :raises PartitionNotOwnedError: when the planner's lease was lost meanwhile.
        """

        def still(tasks: Sequence[Task]) -> Sequence[Task]:
            if prepared.lease is not None:
                self.duties.renew(prepared.lease)
            now = None if wanted is None else wanted()
            return tasks if now is None else [task for task in tasks if _is_wanted(task, now)]

        made = self.planned(prepared, available)
        self._keep_sums(made, prepared.seen, prepared.remembered)
        begun, moved = self.carry_out(made.begins, still=still)
        waits = stills(made, prepared.seen, prepared.stands, begun)
        kept = _with_others(dataclasses.replace(made.remembered, still=waits), prepared.remembered)
        if prepared.lease is not None:
            self.duties.save_progress_state(prepared.lease, kept.to_json())
        return Planned(plan=made, begun=begun, moved=moved)

    def _read(self, datasets: Iterable[str], history: str | None) -> Snapshot:
        return look(self.coordinator, self.groups, datasets, history)

    def _keep_sums(self, made: Plan, seen: Snapshot, before: Remembered) -> None:
        """Write the sums of chunks for people to look at; where the store cannot, nothing else is the matter.

        Those of an epoch before go first: they are of other chunks, so that nothing is written over them.
        """
        kept = parts_of(self.coordinator.store).chunks
        if kept is None:
            return
        try:
            for name, known in made.remembered.datasets.items():
                if name not in before.datasets or before.datasets[name].epoch != known.epoch:
                    kept.forget_chunks(identifier_of(self.coordinator), name)
            kept.put_chunks(identifier_of(self.coordinator), list(sums(made, seen)))
        except CoordinationError as error:
            log.warning("The sums of chunks of source %s are not kept: %s", shown(self.coordinator.source), error)

    def forget_sums(self, dataset: str) -> None:
        """Remove the sums of a dataset's chunks: nothing of it is merged any more."""
        kept = parts_of(self.coordinator.store).chunks
        if kept is not None:
            kept.forget_chunks(identifier_of(self.coordinator), dataset)

    def carry_out(
        self,
        tasks: Sequence[Task],
        by: str = COMPACT,
        still: Callable[[Sequence[Task]], Sequence[Task]] = lambda tasks: tasks,
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Reset what has merged before, as it was seen, then create what is new and refresh the payloads of the rest.

        Killed in between, groups that were reset are claimable with the payload of before, which is work, too.

        :param by: who asks, for the audit.
        :param still: returns those of some tasks that are wanted still; asked before each write.
        :return: the keys of those that are claimable now, and of those that somebody has changed since, or wants no
            more as they were planned.
        """
        resets = [task for task in tasks if task.state is State.RESET]
        kept = {task.key for task in resets if not still([task]) or not self._reset(task, by)}
        begin = [task for task in tasks if task.key not in kept]
        begin = list(still(begin)) if begin else []
        self.groups.create_partitions(
            PartitionIdentifier(task.key, task.work.to_payload(), task.work.priority) for task in begin
        )
        begun = tuple(task.key for task in begin)
        return begun, tuple(task.key for task in tasks if task.key not in begun)

    def _reset(self, task: Task, by: str) -> bool:
        try:
            self.groups.people.reset(task.key, by, task.reason, task.seen)
        except PartitionUpdateError as error:
            log.info("Group %s is left for the next run: %s", shown(task.key), error)
            return False
        return True

    def _acquired(self) -> Lease | None:
        lease = self.duties.acquire_partition(self.key)
        if lease is None and self.duties.create_partitions([self.key]).created:
            lease = self.duties.acquire_partition(self.key)
        return lease


def _beside(coordinator: SourceCoordinator, source: str) -> SourceCoordinator:
    """Return a coordinator of another source of the same store, for the same owner; its leases are never parked."""
    settings = dataclasses.replace(coordinator.settings, max_lost_leases=_NO_LIMIT)
    return SourceCoordinator(
        coordinator.store,
        source,
        coordinator.owner.text,
        coordinator.partition_prefix,
        settings=settings,
        metrics=coordinator.metrics,
    )


def _is_wanted(task: Task, now: Wanted) -> bool:
    config = now.get(task.work.dataset)
    if config is not None and config.to_json() == task.work.config.to_json():
        return True
    log.info("Group %s is left for the next run: its dataset is to be compacted otherwise by now.", shown(task.key))
    return False


def _with_others(kept: Remembered, before: Remembered) -> Remembered:
    """Return what is remembered, with what is known of datasets that this run was not asked about."""
    others = {name: still for name, still in before.still.items() if name not in kept.datasets}
    return dataclasses.replace(kept, datasets={**before.datasets, **kept.datasets}, still={**others, **kept.still})
