"""Hiding an interval of a dataset, and showing it again, after counting what vanishes or comes back.

Nothing is deleted: one document changes, however many partitions there are, and every reader sees all of it at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from airflow_coordination.duties.retention.ruled import rules_of
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.outputs.enabling import check_branches_enabled
from airflow_coordination.outputs.heads.showing import newest_pages, steadily
from airflow_coordination.planning.intervals import Interval, interval_of
from airflow_coordination.planning.view import changing
from airflow_coordination.planning.view.showing import hiding, interval_of_head
from airflow_coordination.planning.view.view import BY_RULES, View
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.blocks import MAX_DATASET_BYTES
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import check_said, check_users_name, identifier_of

KEPT: Final = 20
"""How many head records are kept to be shown."""


@dataclass(slots=True)
class Effect:
    """What a change of a view does to a dataset.

    :param partitions: of how many partitions the rows vanish, or come back.
    :param rows: how many rows that are.
    :param bytes: how many bytes.
    :param first: the head records of the first :data:`KEPT` of them.
    :param intervals: the intervals of all of them, each once.
    :param sticking_out: how many overlap the interval without lying in it: they stay as they are.
    :param timeless: how many have no interval, so that nothing hides them.
    """

    partitions: int = 0
    rows: int = 0
    bytes: int = 0
    first: tuple[HeadRecord, ...] = ()
    intervals: frozenset[Interval] = frozenset()
    sticking_out: int = 0
    timeless: int = 0


def effect_of(
    coordinator: SourceCoordinator, dataset: str, interval: Interval, change: Callable[[View], View]
) -> Effect:
    """Return what a change of the view would do to what readers see of a dataset, counted page by page.

    :param interval: what it is about.
    :raises InvalidInputError: what ``change`` refuses.
    """
    store = coordinator.store
    identifier = identifier_of(coordinator)

    def read(view: View) -> Effect:
        after, effect, found = change(view), Effect(), set()
        for page in newest_pages(store, identifier, dataset, view):
            for head in (each for each in page if each.blocks):
                its = interval_of_head(head)
                if its is None:
                    effect.timeless += 1
                elif (hiding(view, head) is None) is not (hiding(after, head) is None):
                    found.add(its)
                    _count(effect, head)
                elif its.overlaps(interval) and not interval.contains(its):
                    effect.sticking_out += 1
        effect.intervals = frozenset(found)
        return effect

    return steadily(store, identifier, read)


def hidden_again(coordinator: SourceCoordinator, dataset: str, effect: Effect) -> list[tuple[str, int]]:
    """Return which rules of a dataset would hide again what comes back, and how many of its intervals.

    :param effect: of a restore.
    """
    ruled, now = rules_of(coordinator, dataset), coordinator.store.now()
    found = Counter(ruled.dropping(interval, now) for interval in effect.intervals)
    rules = sorted((index, number) for index, number in found.items() if index is not None)
    return [(ruled.named(index), number) for index, number in rules]


def _count(effect: Effect, head: HeadRecord) -> None:
    effect.partitions += 1
    effect.rows += head.rows
    effect.bytes += head.bytes
    if len(effect.first) < KEPT:
        effect.first += (head,)


def check_hide(coordinator: SourceCoordinator, dataset: object, interval: object) -> tuple[str, Interval]:
    """Return dataset and interval if such a thing can be hidden.

    :param interval: a text such as ``2013-01/P1M``, or an interval.
    :raises InvalidKeyError: when no user's dataset has that name.
    :raises InvalidInputError: when that is no interval.
    :raises SettingsError: as long as older code may work with the store, which would show what is hidden.
    """
    said = check_users_name(dataset, "dataset", MAX_DATASET_BYTES), interval_of("interval", interval)
    check_branches_enabled(coordinator.store)
    return said


def would_hide(coordinator: SourceCoordinator, dataset: str, interval: object) -> Effect:
    """Return what :func:`hide` would do; raises what it raises."""
    dataset, said = check_hide(coordinator, dataset, interval)
    now = coordinator.store.now()
    return effect_of(coordinator, dataset, said, lambda view: changing.hidden(view, dataset, said, "-", "-", now))


def hide(coordinator: SourceCoordinator, dataset: str, interval: object, by: str, why: str) -> View:
    """Hide what lies in an interval of a dataset from all readers, until somebody restores it; return the view.

    What is published there later is hidden, too. What is hidden already keeps its time.

    :param interval: a text such as ``2013-01/P1M``, or an interval.
    :param by: who does it; not ``runRules``, whose intervals rules restore.
    :param why: the reason, kept with it.
    :raises InvalidKeyError: when no user's dataset has that name.
    :raises InvalidInputError: when that is no interval, or nobody or no reason is named.
    :raises SettingsError: as long as older code may work with the store, which would show what is hidden.
    """
    name, said = check_users_name(dataset, "dataset", MAX_DATASET_BYTES), interval_of("interval", interval)
    check_said(by, why)
    if by.strip() == BY_RULES:
        raise InvalidInputError("by", by, "is what rules hide as, and what they restore again", "Give your own name")

    def change(view: View) -> View:
        if view.is_new or not (view.branches or view.hidden):  # otherwise it was asked before, and nothing undoes it
            check_branches_enabled(coordinator.store)
        return changing.hidden(view, name, said, by, why, view.now)

    return coordinator.documents.change_view(change, by, f"hide {said} of {name}: {why}")


def would_restore(coordinator: SourceCoordinator, dataset: str, interval: object) -> Effect:
    """Return what :func:`restore` would do; raises what it raises."""
    said = interval_of("interval", interval)
    return effect_of(coordinator, dataset, said, lambda view: changing.restored(view, dataset, said))


def restore(coordinator: SourceCoordinator, dataset: str, interval: object, by: str, why: str) -> View:
    """Let readers see again what was hidden in an interval of a dataset, whoever has hidden it; return the view.

    :param interval: with all of an interval that was hidden at once in it.
    :param by: who does it.
    :param why: the reason, kept in the history of the view.
    :raises InvalidInputError: when nothing of it is hidden, only a part of what was hidden at once lies in it, it is
        being purged, or nobody or no reason is named.
    """
    said = interval_of("interval", interval)
    return coordinator.documents.change_view(
        lambda view: changing.restored(view, dataset, said), by, f"restore {said} of {dataset}: {why}"
    )
