"""Rules applied to what shows: what they drop is hidden, and what they drop no more comes back.

Source: Druid, duty ``runRules``, which marks segments as unused one by one. Here one document changes, once for all
datasets of a source, and every reader sees it at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from airflow_coordination.duties.retention.ruled import Ruled, rules_of_each
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.viewing.documents import MOST_TRIES
from airflow_coordination.outputs.enabling import check_branches_enabled
from airflow_coordination.outputs.heads.pages import head_pages
from airflow_coordination.outputs.heads.showing import newest_pages, read_view
from airflow_coordination.planning.intervals import Interval
from airflow_coordination.planning.rules.choosing import choose, first_change
from airflow_coordination.planning.view.ruling import ruled
from airflow_coordination.planning.view.showing import dataset_of, hiding_interval, interval_of_head
from airflow_coordination.planning.view.view import BY_RULES, Hidden, View
from airflow_coordination.values.names import identifier_of


@dataclass(slots=True)
class Counted:
    """How much has the same interval."""

    partitions: int = 0
    rows: int = 0

    def __iadd__(self, other: Counted) -> Counted:
        self.partitions += other.partitions
        self.rows += other.rows
        return self


@dataclass(frozen=True, slots=True)
class Applied:
    """What rules do to a dataset.

    :param dataset: its name.
    :param made: intervals that they hide from now on, or hide in other pieces than before.
    :param ended: intervals that they hide no more, or hide in other pieces.
    :param vanished: what readers see no more.
    :param back: what they see again.
    :param kept: partitions that stay, whatever hides them.
    :param unruled: partitions of which no rule says anything: they are left as they are.
    :param timeless: partitions without an interval: they are left as they are, and always visible.
    :param changes_at: when time alone makes another rule decide about something of it, by the store's clock.
    """

    dataset: str
    made: tuple[Hidden, ...]
    ended: tuple[Hidden, ...]
    vanished: Counted
    back: Counted
    kept: int
    unruled: int
    timeless: int
    changes_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Seen:
    """The heads of a dataset that show, hidden or not."""

    intervals: Mapping[Interval, Counted]
    timeless: int


def apply_rules(
    coordinator: SourceCoordinator,
    datasets: Iterable[str] | None = None,
    by: str = BY_RULES,
    why: str = "rules were applied",
    *,
    dry_run: bool = False,
) -> list[Applied]:
    """Hide what the rules of datasets drop, let come back what they drop no more, and return what that is.

    All of it is one version of the view; none where nothing changes. It is judged on the head record of each partition
    that shows. The time is the store's.

    :param datasets: ``None`` for all that the source has published to, which reads every head record of it.
    :param by: who asks for it, in the history of the view; the entries themselves are by ``runRules``.
    :param why: the reason, in the history of the view.
    :param dry_run: only look.
    :raises InvalidKeyError: when no user's dataset has such a name.
    :raises InvalidInputError: when rules are corrupt, or hide so many intervals that no document takes them.
    :raises SettingsError: as long as older code may work with the store, which would show what is hidden.
    """
    if not dry_run:
        check_branches_enabled(coordinator.store)
    wanted = datasets_of(coordinator) if datasets is None else sorted(set(datasets))
    run = _Run(coordinator, wanted)
    if dry_run:
        run.changed(read_view(coordinator.store, identifier_of(coordinator)))
        return run.applied
    for _ in range(MOST_TRIES):
        coordinator.documents.change_view(run.changed, by, why)
        if rules_of_each(coordinator, wanted) == run.rules:
            break
    return run.applied


class _Run:
    """One application: what is read and decided for each try to change the view.

    Rules are read after the view, and once more when it was changed. So who sleeps in between, and wakes up when others
    have long set other rules, applies those before it goes on (promise S25).
    """

    def __init__(self, coordinator: SourceCoordinator, datasets: Sequence[str]) -> None:
        self._coordinator, self._datasets = coordinator, datasets
        self.rules: dict[str, Ruled] = {}
        self.applied: list[Applied] = []

    def changed(self, view: View) -> View:
        """Return the view that rules make of this one."""
        self.rules, self.applied = rules_of_each(self._coordinator, self._datasets), []
        after, now = view, self._coordinator.store.now()
        for dataset, its in self.rules.items():
            after, applied = _applied(self._coordinator, dataset, its, after, now)
            self.applied.append(applied)
        return after


def datasets_of(coordinator: SourceCoordinator) -> list[str]:
    """Return the datasets that a source has published to, by name; reads every head record."""
    pages = head_pages(coordinator.store, identifier_of(coordinator), None)
    return sorted({dataset_of(head) for page in pages for head in page})


def _applied(
    coordinator: SourceCoordinator, dataset: str, rules: Ruled, view: View, now: datetime
) -> tuple[View, Applied]:
    """Return the view after the rules of one dataset, and what that does."""
    seen = _seen(coordinator, dataset, view)

    def dropped(interval: Interval) -> str | None:
        index = rules.dropping(interval, now)
        return None if index is None else rules.named(index)

    after = ruled(view, dataset, seen.intervals, dropped, now)
    vanished, back, kept, unruled = Counted(), Counted(), 0, 0
    for interval, counted in seen.intervals.items():
        was, will_be = (hiding_interval(each, dataset, interval) is not None for each in (view, after))
        if will_be and not was:
            vanished += counted
        if was and not will_be:
            back += counted
        choice = choose(rules.rules, interval, now)
        unruled += counted.partitions if choice.rule is None else 0
        kept += counted.partitions if choice.rule is not None and not choice.rule.type.drops else 0
    made = tuple(each for each in after.hidden if each not in view.hidden)
    ended = tuple(each for each in view.hidden if each not in after.hidden)
    changes_at = first_change(rules.rules, seen.intervals, now)
    return after, Applied(dataset, made, ended, vanished, back, kept, unruled, seen.timeless, changes_at)


def _seen(coordinator: SourceCoordinator, dataset: str, view: View) -> _Seen:
    intervals: dict[Interval, Counted] = {}
    timeless = 0
    for page in newest_pages(coordinator.store, identifier_of(coordinator), dataset, view):
        for head in (each for each in page if each.blocks):
            if (interval := interval_of_head(head)) is None:
                timeless += 1
            else:
                its = intervals.setdefault(interval, Counted())
                its += Counted(1, head.rows)
    return _Seen(intervals, timeless)
