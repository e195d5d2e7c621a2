"""Which rule decides about a partition or an interval of a dataset, why, and when that will be another one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from airflow_coordination.duties.retention.ruled import Ruled, rules_of
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.outcomes import interval_in
from airflow_coordination.planning.intervals import Interval, parse_interval
from airflow_coordination.planning.rules.choosing import choose, next_change
from airflow_coordination.planning.view.showing import hiding_interval, interval_of_head, newest, of_dataset
from airflow_coordination.planning.view.view import Hidden, View
from airflow_coordination.protocol.pages import every_head
from airflow_coordination.values.input_errors import InvalidInputError

KEPT: Final = "kept"
DROPPED: Final = "dropped"
LEFT: Final = "left as it is"
"""What becomes of an interval, in the words of all who tell it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """What becomes of an interval.

    :param interval: the interval.
    :param becomes: ``kept``, ``dropped`` or ``left as it is``.
    :param why: the rule, and how it applies.
    :param changes_at: when another rule decides, by the store's clock; ``None`` for never.
    :param then: that rule; ``None`` where it never changes.
    :param hidden: what hides it now, whoever did that.
    """

    interval: Interval
    becomes: str
    why: str
    changes_at: datetime | None
    then: str | None
    hidden: Hidden | None


def explained(coordinator: SourceCoordinator, dataset: str, what: str) -> Explained:
    """Return what becomes of a partition or an interval.

    :param what: a partition key, whose rows are of the interval with which they show, or else of that in its payload;
        or an interval, such as ``2013-01/P1M``.
    :raises InvalidKeyError: when no user's dataset has that name.
    :raises InvalidInputError: when it is neither, or the partition has no interval.
    """
    rules, view = rules_of(coordinator, dataset), coordinator.documents.view()
    interval = _interval(coordinator, view, dataset, what)
    now = coordinator.store.now()
    changes_at = next_change(rules.rules, interval, now)
    becomes, why = _verdict(rules, interval, now)
    then = None if changes_at is None else ": ".join(_verdict(rules, interval, changes_at))
    hidden = hiding_interval(view, dataset, interval)
    return Explained(interval=interval, becomes=becomes, why=why, changes_at=changes_at, then=then, hidden=hidden)


def _verdict(rules: Ruled, interval: Interval, now: datetime) -> tuple[str, str]:
    choice = choose(rules.rules, interval, now)
    if choice.rule is None or choice.index is None:
        return LEFT, choice.why
    how = "lies inside" if choice.rule.type.drops else "overlaps"
    why = f"{rules.named(choice.index)}: {interval} {how} {choice.rule.reach(now)}"
    return DROPPED if choice.rule.type.drops else KEPT, why


def _interval(coordinator: SourceCoordinator, view: View, dataset: str, what: str) -> Interval:
    partition = coordinator.looking.partition(what)
    if partition is None:
        return parse_interval("key or interval", what)
    heads = every_head(coordinator.store, partition.source, key=what)
    shown = newest(view, of_dataset(heads, dataset))
    found = (interval_of_head(shown) if shown is not None else None) or interval_in(partition)
    if found is None:
        problem, remedy = "has no interval, so that no rule says anything of it", "See `outputs set-interval`"
        raise InvalidInputError("key", what, problem, remedy)
    return found
