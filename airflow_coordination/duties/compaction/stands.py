"""What decides, beside what is published, whether what waits can go on: while it is the same, nothing is planned anew.

A plan that has left groups under way, or waiting for a slot, would say the same again until a group ends or a place
comes. Both are seen without reading a head record, an overlay or a group.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import astuple, dataclass, replace
from typing import Final

from airflow_coordination.duties.compaction.plan import Plan, State, Task
from airflow_coordination.duties.compaction.remembered import Still
from airflow_coordination.duties.compaction.snapshot import Snapshot, newest_tenures
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.outputs.heads.showing import view_document
from airflow_coordination.planning.compaction.slots import CompactionSlots
from airflow_coordination.values.names import identifier_of

_STANDING: Final = frozenset({State.CREATE, State.RESET, State.UNDER_WAY, State.NO_SLOT, State.LEFT})
"""What goes on by an ending or a place only. What has failed goes on with time, so it is looked at again."""


@dataclass(frozen=True, slots=True)
class Stands:
    """What an ending, a person, a branch or a place changes.

    :param ended: a digest of the tenures of groups that ended last.
    :param completed: how many groups have ended well.
    :param parked: how many wait for a person or the next try: a person may have parked one that took a slot.
    :param view: the version of the source's view.
    :param places: what the number of slots is made from.
    :param beside: the sources that share the slots.
    """

    ended: str
    completed: int
    parked: int
    view: int
    places: tuple[float | int | None, ...]
    beside: tuple[str, ...] = ()

    def after(self, begun: Iterable[Task]) -> Stands:
        """Return how it will be when these groups have begun; it stays as it is here if nothing else happens."""
        again = [task.seen for task in begun if task.state is State.RESET and task.seen is not None]
        parked = sum(group.parked for group in again)
        return replace(self, completed=self.completed - (len(again) - parked), parked=self.parked - parked)

    @property
    def digest(self) -> str:
        """What of it is remembered."""
        return hashlib.sha256(json.dumps(astuple(self)).encode()).hexdigest()[:32]


def stands(
    coordinator: SourceCoordinator, groups: SourceCoordinator, slots: CompactionSlots, beside: tuple[str, ...] = ()
) -> Stands | None:
    """Return how it is now: five statements on SQL, whatever the number of groups.

    :param coordinator: of the source whose partitions have published.
    :param groups: of the source of its groups.
    :param slots: how many groups may be claimable or held.
    :param beside: the sources that share the slots.
    :return: ``None`` where the store has no history.
    """
    ended = newest_tenures(groups)
    if ended is None:
        return None
    outlook = groups.store.outlook(identifier_of(groups))
    view = view_document(coordinator.store, identifier_of(coordinator))
    members = sum(member.capacity for member in groups.workers.members())
    capacity = slots.capacity() if callable(slots.capacity) else slots.capacity
    places = (slots.ratio, slots.max_slots, capacity, members)
    return Stands(ended, outlook.completed, outlook.parked, view.version if view else 0, places, beside)


def stills(made: Plan, seen: Snapshot, before: Stands | None, begun: Iterable[str]) -> dict[str, Still]:
    """Return the datasets in which something waits that only what is in :class:`Stands` lets go on.

    :param made: the plan.
    :param seen: what it was made from.
    :param before: how it was before anything of that was read.
    :param begun: the keys of the groups that have begun; where those are fewer than the plan's, nothing is known.
    """
    keys = set(begun)
    if before is None or keys != {task.key for task in made.begins}:
        return {}
    digest = before.after(made.begins).digest
    found = {}
    for name, known in made.remembered.datasets.items():
        tasks = [task for task in made.tasks if task.work.dataset == name]
        stand = all(task.state in _STANDING for task in tasks)
        if known.waits and stand and not seen.datasets[name].locked:
            found[name] = _still(digest, made, name, [task.state for task in tasks])
    return found


def _still(digest: str, made: Plan, dataset: str, states: list[State]) -> Still:
    under_way = sum(state in (State.CREATE, State.RESET, State.UNDER_WAY) for state in states)
    far = made.progress.get(dataset)
    amounts = (far.awaiting.bytes, far.compacted.bytes, far.skipped.bytes) if far else (0, 0, 0)
    return Still(digest, under_way, states.count(State.NO_SLOT), round(far.percent, 1) if far else 100.0, *amounts)
