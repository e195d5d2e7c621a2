"""Every change of a view, as a function from one to the next; each refuses what would lose what readers can still see.

Whoever writes the result names the version it was made from, so that two changes never cross.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, Never

from airflow_coordination.planning.intervals import Interval
from airflow_coordination.planning.view.showing import hiding, interval_of_head
from airflow_coordination.planning.view.view import BY_RULES, Branch, BranchState, Hidden, HiddenState, View
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.input_errors import InvalidInputError

_FROM: Final = {
    BranchState.PUBLISHED: frozenset({BranchState.BEGUN}),
    BranchState.FINAL: frozenset({BranchState.PUBLISHED}),
    BranchState.ROLLED_BACK: frozenset({BranchState.BEGUN, BranchState.PUBLISHED}),
}
"""From which states a branch comes into another one."""
_OVER: Final = frozenset({BranchState.FINAL, BranchState.ROLLED_BACK})
"""In these nothing becomes of a branch any more; what it was begun with is in the history of the view."""
_KEYS_KEPT: Final = 5


def begun(
    view: View,
    selection: Mapping[str, Any],
    interval: Interval | None,
    by: str,
    why: str,
    now: datetime,
    *,
    then: bool = False,
) -> tuple[View, int]:
    """Return the view with one branch more, and its number. Its partitions are still to be reset into it.

    :param selection: for people.
    :param interval: of what it replaces.
    :param now: by the store's clock.
    :param then: what its partitions say to follow their endings is done.
    """
    number = view.next_number
    branch = Branch(
        number=number,
        state=BranchState.BEGUN,
        selection=selection,
        interval=interval,
        by=by,
        why=why,
        at=now,
        changed_at=now,
        then=then,
    )
    return replace(view, branches=(*view.branches, branch), next_number=number + 1), number


def complete(view: View, number: int, expected: int, interval: Interval | None) -> View:
    """Return the view that knows how many partitions a branch has: from here on it may be published.

    :param interval: of what it replaces, where that is known now.
    :raises InvalidInputError: when it is not begun, or something is being retired in it.
    """
    branch = _begun(view, number)
    if branch.retiring is not None:
        _refuse_half_retired(branch)
    return view.changed(replace(branch, expected=expected, interval=interval or branch.interval))


def retiring(view: View, number: int, selection: Mapping[str, Any]) -> View:
    """Return the view in which partitions are being retired in a branch: until that is done, it is not published.

    :param selection: which, for people.
    :raises InvalidInputError: when it is not begun, or others are being retired in it.
    """
    branch = _begun(view, number)
    if branch.retiring is not None and dict(branch.retiring) != dict(selection):
        _refuse_half_retired(branch)
    return view.changed(replace(branch, retiring=selection, retires=True))


def retired(view: View, number: int, expected: int | None) -> View:
    """Return the view in which what was being retired in a branch is.

    :param expected: how many partitions the branch has now; ``None`` where it has not all of them yet.
    :raises InvalidInputError: when it is not begun.
    """
    return view.changed(replace(_begun(view, number), retiring=None, expected=expected))


def published(view: View, number: int, now: datetime) -> View:
    """Return the view in which a branch shows.

    Whether all of its partitions have completed in it is for the caller to see.

    :raises InvalidInputError: when it is not begun, or not all of its partitions were reset into it.
    """
    branch = view.existing(number)
    if branch.begun and branch.expected is None:
        problem = "has not all of its partitions yet: whoever began it was interrupted"
        _refuse(branch, problem, f"Repeat `branches begin` with --branch {number}")
    if branch.begun and branch.retiring is not None:
        _refuse_half_retired(branch)
    return _moved(view, replace(branch, shown_at=now), BranchState.PUBLISHED, now)


def rolled_back(view: View, number: int, now: datetime) -> View:
    """Return the view in which a branch does not show any more, and never will again.

    :raises InvalidInputError: when it is final, or was rolled back before.
    """
    return _moved(view, view.existing(number), BranchState.ROLLED_BACK, now)


def finalized(view: View, number: int, now: datetime) -> View:
    """Return the view in which a branch shows for good, so that what it hides may be emptied.

    :raises InvalidInputError: when it does not show.
    """
    return _moved(view, view.existing(number), BranchState.FINAL, now)


def forgotten(view: View, number: int) -> View:
    """Return the view without a branch that was rolled back and has left nothing: what is not there counts as such.

    :raises InvalidInputError: when it was not rolled back.
    """
    branch = view.existing(number)
    if branch.state is not BranchState.ROLLED_BACK:
        _refuse(branch, "was not rolled back", "Roll it back first")
    return replace(view, branches=tuple(each for each in view.branches if each is not branch))


def hidden(view: View, dataset: str, interval: Interval, by: str, why: str, now: datetime) -> View:
    """Return the view in which an interval of a dataset is hidden, as of now.

    What is hidden already stays as it is, with its time: hiding twice does not begin the margin of a purge anew. But
    what a person hides that only rules have hidden is hidden by both: it stays when they drop it no more. And what is
    being purged does not count as hidden: when it is gone, this still is.
    """
    there = (each for each in view.hidden if each.dataset == dataset and each.interval.contains(interval))
    if any(not each.purging and (by == BY_RULES or not each.by_rules) for each in there):
        return view
    return replace(view, hidden=(*view.hidden, Hidden(dataset=dataset, interval=interval, since=now, by=by, why=why)))


def restored(view: View, dataset: str, interval: Interval) -> View:
    """Return the view in which nothing hides an interval of a dataset any more: whole entries that lie in it go.

    What is being purged stays beside them: nobody can have that back.

    :raises InvalidInputError: when nothing of it is hidden, only a part of an entry lies in it, or all is being purged.
    """
    there = [each for each in view.hidden if each.dataset == dataset and each.interval.overlaps(interval)]
    if not there:
        problem = f"hides nothing of dataset {dataset!r}"
        raise InvalidInputError("interval", str(interval), problem, "See `outputs timeline` for what is hidden")
    touched = [each for each in there if not each.purging]
    if not touched:
        problem = f"is being purged ({there[0].interval}, hidden for: {there[0].why}), and cannot come back"
        remedy = "What is published there from now on shows when nothing is left of it: `outputs purge` says what is"
        raise InvalidInputError("interval", str(interval), problem, remedy)
    for each in touched:
        if not interval.contains(each.interval):
            problem = f"has only a part of what was hidden at once, {each.interval}"
            remedy = "Restore all of it, then hide again what is to stay hidden"
            if each.by_rules:
                problem, remedy = f"{problem}, by {each.why}", "Change the rules, then run `rules apply`"
            raise InvalidInputError("interval", str(interval), problem, remedy)
    return replace(view, hidden=tuple(each for each in view.hidden if each not in touched))


def purging(view: View, entries: Iterable[Hidden], upto: datetime, showed: Collection[int] | None = None) -> View:
    """Return the view in which some hidden intervals are being deleted, from which there is no way back.

    What is deleted is fixed here, for whoever does it: what was published up to a moment, in the base and in the
    branches that have shown since before that moment.

    :param entries: as they were seen; one that was restored meanwhile, even if it was hidden again, stays as it is.
    :param upto: that moment. It lies before the time in which these entries were looked at, by the buffer: so nothing
        is published unseen that is to be deleted.
    :param showed: the branches that showed at that moment; ``None``: those that say so.
    """
    marked = list(entries)
    counted = [each for each in view.branches if each.shows and (showed is None or each.number in showed)]
    shown = tuple(each.number for each in counted if (each.shown_at or each.changed_at) <= upto)

    def mark(each: Hidden) -> Hidden:
        if each.purging or each not in marked:
            return each
        return replace(each, state=HiddenState.PURGING, upto=upto, branches=shown)

    return replace(view, hidden=tuple(mark(each) for each in view.hidden))


def purged(view: View, entries: Iterable[Hidden]) -> View:
    """Return the view without entries of which nothing is left. What is published there later shows.

    :raises InvalidInputError: when one of them is not being purged.
    """
    gone = list(entries)
    for each in gone:
        if not each.purging:
            problem = "was never marked as purging"
            remedy = "Mark it first, so that nobody restores it"
            raise InvalidInputError("interval", str(each.interval), problem, remedy)
    return replace(view, hidden=tuple(each for each in view.hidden if each not in gone))


def check_not_hidden(view: View, head: HeadRecord, start: datetime, end: datetime) -> None:
    """Refuse to move a head record out of what is hidden, or into it: the margins of a purge would not count for it.

    What is moved out may be emptied all the same, by who has seen it inside; what is moved in, at once.

    :raises InvalidInputError: naming what hides it.
    """
    for moved in (head, replace(head, interval_start=start, interval_end=end)):
        entry = hiding(view, moved)
        if entry is None:
            continue
        state = "being purged" if entry.purging else f"hidden by {entry.by} at {entry.since}"
        remedy = "Wait until that is over" if entry.purging else "Restore it first, and hide it again afterwards"
        problem = f"lies in {entry.interval}, which is {state}"
        raise InvalidInputError("interval", str(interval_of_head(moved)), problem, remedy)


def _begun(view: View, number: int) -> Branch:
    branch = view.existing(number)
    if not branch.begun:
        _refuse(branch, f"is {branch.state}, and not begun", "Begin another one")
    return branch


def _refuse_half_retired(branch: Branch) -> Never:
    what = ", ".join(f"{name} {value}" for name, value in (branch.retiring or {}).items())
    problem = f"has not all retired yet that shall be ({what}): whoever did it was interrupted, or is at it"
    _refuse(branch, problem, "Repeat `branches retire` with the same partitions")


def _moved(view: View, branch: Branch, state: BranchState, now: datetime) -> View:
    if branch.state not in _FROM[state]:
        wanted = " or ".join(sorted(_FROM[state]))
        _refuse(branch, f"is {branch.state}; this needs one that is {wanted}", "See `branches status`")
    if state in _OVER:
        branch = replace(branch, selection={}, interval=None)
    else:
        branch = replace(branch, selection=_shortened(branch.selection))
    return view.changed(replace(branch, state=state, changed_at=now))


def _shortened(selection: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a branch was begun with as people need it who look back: a document keeps many of them."""
    keys = selection.get("keys")
    if not isinstance(keys, list | tuple) or len(keys) <= _KEYS_KEPT:
        return dict(selection)
    return {**selection, "keys": [*keys[:_KEYS_KEPT], f"… and {len(keys) - _KEYS_KEPT} more"]}


def _refuse(branch: Branch, problem: str, remedy: str) -> Never:
    raise InvalidInputError("branch", branch.number, problem, remedy)
