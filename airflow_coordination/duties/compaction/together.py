"""The planners of several sources at once: one limit, and one order over all of them.

Source: Druid, ``CompactSegments``: the slots are those of the cluster, and the newest interval of any data source is
first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from types import MappingProxyType
from typing import Final

from airflow_coordination.duties.compaction.plan import Task, busy_in, order
from airflow_coordination.duties.compaction.planner import Looked, Planned, Planner
from airflow_coordination.duties.compaction.remembered import Remembered
from airflow_coordination.planning.compaction.configuration import CompactionConfig
from airflow_coordination.planning.compaction.slots import CompactionSlots, first

_ALL: Final = 2**31 - 1
_NOTHING: Final[Mapping[Planner, Remembered]] = MappingProxyType({})


def run_together(
    planners: Mapping[Planner, Mapping[str, CompactionConfig]],
    slots: CompactionSlots,
    remembered: Mapping[Planner, Remembered] = _NOTHING,
) -> dict[str, Planned]:
    """Plan sources, and make the newest groups of all of them claimable, as far as there are slots.

    Sources in which nothing is new cost three requests each, and have nothing that takes a slot.

    :param planners: of each source, with how its datasets are compacted, by their names.
    :param slots: how many groups of all of them may be claimable or held at once.
    :param remembered: what the last run of a planner has left, where that was read a moment ago.
    :return: what was done, by source.
    :raises InvalidInputError: when a configuration is too long for a payload.
    :raises OutputError: when the manifest of an overlay is missing or was changed.
    :raises PartitionNotOwnedError: when a planner's lease was lost meanwhile.
    """
    done: dict[str, Planned] = {}
    with ExitStack() as leases:
        prepared: dict[Planner, Looked] = {}
        for planner, configs in planners.items():
            done[planner.coordinator.source] = Planned()
            if not planner.is_news(configs, remembered.get(planner)):
                continue
            lease = leases.enter_context(planner.leased())
            if lease is None:
                done[planner.coordinator.source] = planner.of_rival()
            elif (read := planner.prepared(lease, configs)) is not None:
                prepared[planner] = read
        begin = _shared(prepared, slots)
        for planner, read in prepared.items():
            done[planner.coordinator.source] = planner.carried_out(read, begin[planner])
    return done


def look_together(
    planners: Mapping[Planner, Mapping[str, CompactionConfig]], slots: CompactionSlots
) -> dict[str, list[Task]]:
    """Return what :func:`run_together` would make claimable now, by source, and change nothing."""
    looked = {planner: planner.looked(configs) for planner, configs in planners.items()}
    begin = _shared(looked, slots)
    return {
        planner.coordinator.source: planner.planned(read, begin[planner]).begins for planner, read in looked.items()
    }


def _shared(prepared: Mapping[Planner, Looked], slots: CompactionSlots) -> Counter[Planner]:
    """Return how many groups of each source begin: each takes the first ones of its own row, which has this order."""
    row = [(order(task), planner) for planner, read in prepared.items() for task in planner.planned(read, _ALL).begins]
    row.sort(key=lambda each: (each[0], each[1].coordinator.source))
    places = sum(read.seen.places for read in prepared.values())
    busy = sum(busy_in(read.seen) for read in prepared.values())
    taken, _ = first([(planner, 1) for _, planner in row], slots.available(places, busy))
    return Counter(taken)
