"""The planners of several sources at once: one limit, and one order over all of them.

Source: Druid, ``CompactSegments``: the slots are those of the cluster, and the newest interval of any data source is
first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from types import MappingProxyType
from typing import Final

from airflow_coordination.duties.compaction.plan import Task, busy_in, order
from airflow_coordination.duties.compaction.planner import Looked, Planned, Planner, Wanted
from airflow_coordination.duties.compaction.remembered import News, Remembered
from airflow_coordination.duties.duty import ENDS_ALL
from airflow_coordination.planning.compaction.configuration import CompactionConfig
from airflow_coordination.planning.compaction.slots import CompactionSlots, first
from airflow_coordination.values.input_errors import CoordinationError

_ALL: Final = 2**31 - 1
_NOTHING: Final[Mapping[Planner, Remembered]] = MappingProxyType({})


def run_together(
    planners: Mapping[Planner, Mapping[str, CompactionConfig]],
    slots: CompactionSlots,
    remembered: Mapping[Planner, Remembered] = _NOTHING,
    wanted: Callable[[Planner], Wanted] | None = None,
) -> dict[str, Planned]:
    """Plan sources, and make the newest groups of all of them claimable, as far as there are slots.

    Sources in which nothing is new cost three requests each, and have nothing that takes a slot. Those in which groups
    only wait cost five more; where something is new in any other, they are planned with it: all share the slots.

    :param planners: of each source, with how its datasets are compacted, by their names.
    :param slots: how many groups of all of them may be claimable or held at once.
    :param remembered: what the last run of a planner has left, where that was read a moment ago.
    :param wanted: tells how the datasets of a source are compacted now, asked before each write.
    :return: what was done, by source; with its error of a source that cannot be planned, whatever became of the others.
    :raises StoreUnavailableError: when the store is silent.
    :raises PartitionNotOwnedError: when a planner's lease was lost meanwhile.
    """
    done: dict[str, Planned] = {planner.coordinator.source: Planned() for planner in planners}
    with ExitStack() as leases:
        prepared: dict[Planner, Looked] = {}
        begins: dict[Planner, list[Task]] = {}
        for planner, waits in _new(done, planners, remembered).items():
            with _noted(done, planner):
                lease = leases.enter_context(planner.leased())
                if lease is None:
                    done[planner.coordinator.source] = planner.of_rival()
                    continue
                if waits:  # the other one, in which something was new, may be planned, and this one not any more
                    planner.forget_still(lease)
                if (read := planner.prepared(lease, planners[planner], full=waits)) is not None:
                    begins[planner] = planner.planned(read, _ALL).begins
                    prepared[planner] = read
        share = _shared(prepared, begins, slots)
        for planner, read in prepared.items():
            with _noted(done, planner):
                now = None if wanted is None else partial(wanted, planner)
                done[planner.coordinator.source] = planner.carried_out(read, share[planner], now)
    return done


def _new(
    done: dict[str, Planned],
    planners: Mapping[Planner, Mapping[str, CompactionConfig]],
    remembered: Mapping[Planner, Remembered],
) -> dict[Planner, bool]:
    """Return who is planned, and whether only because of the others: groups there take slots, or wait for one."""
    found: dict[Planner, News] = {}
    sources = tuple(sorted(done))
    for planner, configs in planners.items():
        planner.beside = sources
        with _noted(done, planner):
            news = found[planner] = planner.news(configs, remembered.get(planner))
            done[planner.coordinator.source] = Planned(still=news.still)
    if not any(news.is_new for news in found.values()):
        return {}
    return {planner: not news.is_new for planner, news in found.items() if news.is_new or news.still}


@contextmanager
def _noted(done: dict[str, Planned], planner: Planner) -> Iterator[None]:
    """Note what is the matter with one source, unless it would be the matter with the next one, too."""
    try:
        yield
    except ENDS_ALL:
        raise
    except CoordinationError as error:
        done[planner.coordinator.source] = Planned(error=error)


def look_together(
    planners: Mapping[Planner, Mapping[str, CompactionConfig]], slots: CompactionSlots
) -> dict[str, list[Task]]:
    """Return what :func:`run_together` would make claimable now, by source, and change nothing."""
    looked = {planner: planner.looked(configs) for planner, configs in planners.items()}
    begins = {planner: planner.planned(read, _ALL).begins for planner, read in looked.items()}
    share = _shared(looked, begins, slots)
    return {
        planner.coordinator.source: planner.planned(read, share[planner]).begins for planner, read in looked.items()
    }


def _shared(
    looked: Mapping[Planner, Looked], begins: Mapping[Planner, Sequence[Task]], slots: CompactionSlots
) -> Counter[Planner]:
    """Return how many groups of each source begin: each takes the first ones of its own row, which has this order."""
    row = [(order(task), planner) for planner, tasks in begins.items() for task in tasks]
    row.sort(key=lambda each: (each[0], each[1].coordinator.source))
    places = sum(read.seen.places for read in looked.values())
    busy = sum(busy_in(read.seen) for read in looked.values())
    taken, _ = first([(planner, 1) for _, planner in row], slots.available(places, busy))
    return Counter(taken)
