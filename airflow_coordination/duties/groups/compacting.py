"""The duty ``compactSegments``: the planners of all sources that say how they are compacted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from airflow_coordination.duties.compaction.configured import with_documents
from airflow_coordination.duties.compaction.indexing import index_datasets
from airflow_coordination.duties.compaction.plan import Plan, State
from airflow_coordination.duties.compaction.planner import COMPACT, Planned, Planner
from airflow_coordination.duties.compaction.remembered import Remembered
from airflow_coordination.duties.compaction.together import look_together, run_together
from airflow_coordination.duties.configuring import config_in_force
from airflow_coordination.duties.groups.round import Ran, Round, in_each
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.planning.compaction.configuration import CompactionConfig, by_dataset
from airflow_coordination.planning.compaction.slots import CompactionSlots
from airflow_coordination.planning.duties.configuration import NO_LIMIT, DynamicConfig
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.names import compose_merged

_CAPACITY = "capacity"


class CompactSegments:
    """Makes groups of compaction claimable, in all sources together the newest first, as far as there are slots.

    Which datasets are compacted, and how, say the documents ``compaction/<dataset>`` of their sources, or else the last
    run of ``PlanCompactionOperator``. The slots are those of the dynamic configuration. Argument: ``capacity``, how
    many leases all workers can hold, where they do not say so themselves.

    Source: Druid, ``CompactSegments``.
    """

    name: ClassVar[str] = COMPACT

    def run(self, round: Round) -> Ran:
        """Plan, and make claimable what begins; a source that cannot be planned keeps no other from it.

        :raises SettingsError: when the argument is no number.
        """
        slots, last = _slots(round), dict[Planner, Remembered]()
        planners, errors = _planners(round, last)
        if not planners:
            said = "no dataset says how it is compacted"
            return Ran(said=said, counts=_counts({}, {}, 0), warnings=_notes(round.config), idle=True, errors=errors)
        if round.dry_run:
            found = look_together(planners, slots)
            begin = sum(map(len, found.values()))
            return Ran(
                said=f"would make {begin} group(s) claimable", counts={"compact/task/count": begin}, idle=not begin
            )
        done = run_together(planners, slots, last, lambda planner: _wanted_now(planner, last[planner]))
        for planner, configs in planners.items():
            if done[planner.coordinator.source].plan is not None:
                index_datasets(planner.coordinator, configs)
        return _ran(done, round, errors)


def _planners(
    round: Round, last: dict[Planner, Remembered]
) -> tuple[dict[Planner, Mapping[str, CompactionConfig]], tuple[str, ...]]:
    """Return the planners of sources that say how they are compacted, with what they say, and what could not be read.

    A source whose name is too long for one beside it is never merged. Two requests for each of the others.

    :param last: is given what the last run of each has left.
    """
    slots, found = _slots(round), dict[Planner, Mapping[str, CompactionConfig]]()

    def add(coordinator: SourceCoordinator) -> None:
        if compose_merged(coordinator.source, coordinator.partition_prefix) is None:
            return
        planner = Planner(coordinator, slots, round.cluster.period)
        last[planner] = planner.remembered()
        configs = by_dataset(with_documents(coordinator, last[planner].configs()))
        if configs:
            found[planner] = configs

    errors = in_each(round.sources, add)
    return found, errors


def _wanted_now(planner: Planner, last: Remembered) -> Mapping[str, CompactionConfig]:
    """Return how the datasets of a source are compacted now, two requests; nothing while duties are paused."""
    if config_in_force(planner.coordinator) is None:
        return {}
    return by_dataset(with_documents(planner.coordinator, last.configs()))


def _slots(round: Round) -> CompactionSlots:
    said = round.arguments.get(_CAPACITY)
    if said is not None and not (said.isascii() and said.isdigit()):
        raise SettingsError(f"{round.by}.{_CAPACITY}", said, "is no whole number from 0 on", "Give 0 or more")
    most = round.config.max_compaction_task_slots
    return CompactionSlots(
        ratio=round.config.compaction_task_slot_ratio,
        max_slots=None if most == NO_LIMIT else most,
        capacity=None if said is None else int(said),
    )


def _ran(done: Mapping[str, Planned], round: Round, errors: tuple[str, ...]) -> Ran:
    plans = {source: each.plan for source, each in done.items() if each.plan is not None}
    begun = sum(len(each.begun) for each in done.values())
    rivals = [f"{each.rival} plans {source}" for source, each in done.items() if each.rival is not None]
    failed = tuple(
        f"{source}: {task.key} {task.detail}"
        for source, plan in plans.items()
        for task in plan.tasks
        if task.state is State.FAILED
    )
    said = f"made {begun} group(s) claimable" if begun else _idle(plans, done)
    said = "; ".join([said, *rivals])
    warnings = (*failed[:10], *_notes(round.config))
    errors += tuple(
        f"{source}: {type(each.error).__name__}: {each.error}"
        for source, each in done.items()
        if each.error is not None
    )
    return Ran(said=said, counts=_counts(plans, done, begun), warnings=warnings, idle=not begun, errors=errors)


def _idle(plans: Mapping[str, Plan], done: Mapping[str, Planned]) -> str:
    if plans:
        return "nothing to begin"
    return "what waits cannot go on" if any(each.still for each in done.values()) else "nothing is new"


def _counts(plans: Mapping[str, Plan], done: Mapping[str, Planned], begun: int) -> dict[str, int]:
    """Return the metrics; of what waits as it did those of the last plan."""
    progress = [each for plan in plans.values() for each in plan.progress.values()]
    still = [each for planned in done.values() for each in planned.still.values()]
    waiting, compacted = sum(each.awaiting_bytes for each in still), sum(each.compacted_bytes for each in still)
    skipped = sum(each.skipped_bytes for each in still)
    return {
        "compact/task/count": begun,
        "compactTask/availableSlot/count": sum(plan.available for plan in plans.values()),
        "segment/waitCompact/bytes": waiting + sum(each.awaiting.bytes for each in progress),
        "segment/compacted/bytes": compacted + sum(each.compacted.bytes for each in progress),
        "segment/skipCompact/bytes": skipped + sum(each.skipped.bytes for each in progress),
    }


def _notes(config: DynamicConfig) -> tuple[str, ...]:
    return tuple(note for note in config.notes if "CompactionTaskSlot" in note)
