"""Which head record of a partition readers see: the newest that counts, unless its interval is hidden (promise S22).

Tokens of a partition only rise. So among what it has published in the base and in the branches that show, the highest
token is the last publication that counts, in whatever order branches were shown. Tokens of two partitions say nothing
of each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from airflow_coordination.planning.intervals import Interval
from airflow_coordination.planning.view.view import BranchState, Hidden, View
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import split_dataset


def newest(view: View, heads: Iterable[HeadRecord]) -> HeadRecord | None:
    """Return the head record that shows of those that one partition has of one dataset, ``None`` if none does.

    It may be of no block: then the partition has nothing, whatever others of its head records say.

    :param heads: in the base and in any branches.
    """
    shown = set(view.shown)
    counted = [(head.token, branch_of(head) is not None, head) for head in heads if _counts(head, shown)]
    return max(counted, key=lambda each: each[:2])[2] if counted else None


def _counts(head: HeadRecord, shown: set[int]) -> bool:
    branch = branch_of(head)
    return branch is None or branch in shown


def branch_of(head: HeadRecord) -> int | None:
    """Return the branch that a head record is of, ``None`` for the base."""
    return split_dataset(head.dataset)[0]


def dataset_of(head: HeadRecord) -> str:
    """Return the dataset that a head record is of, as users name it."""
    return split_dataset(head.dataset)[1]


def of_dataset(heads: Iterable[HeadRecord], dataset: str) -> list[HeadRecord]:
    """Return the head records of a dataset, in the base and in any branches.

    :param dataset: as users name it.
    """
    return [head for head in heads if dataset_of(head) == dataset]


def by_dataset(heads: Iterable[HeadRecord]) -> dict[str, list[HeadRecord]]:
    """Return head records by the datasets that they are of, each in the base and in any branches."""
    found: dict[str, list[HeadRecord]] = {}
    for head in heads:
        found.setdefault(dataset_of(head), []).append(head)
    return found


def interval_of_head(head: HeadRecord) -> Interval | None:
    """Return of which time the rows of a head record are, ``None`` where nobody has said."""
    if head.interval_start is None or head.interval_end is None:
        return None
    return Interval(head.interval_start, head.interval_end)


def hiding(view: View, head: HeadRecord) -> Hidden | None:
    """Return what hides a head record that would show, ``None`` if nothing does.

    It is judged on the one that would show, never on others of its partition: so a new version that is hidden does not
    uncover the old one (Druid 8853). One without an interval is always visible.
    """
    interval = interval_of_head(head)
    return None if interval is None else hiding_interval(view, dataset_of(head), interval)


def hiding_interval(view: View, dataset: str, interval: Interval) -> Hidden | None:
    """Return what hides rows of an interval of a dataset, ``None`` if nothing does."""
    return next((each for each in view.hidden if each.dataset == dataset and each.interval.contains(interval)), None)


def seen(view: View, heads: Iterable[HeadRecord]) -> HeadRecord | None:
    """Return the head record that readers see of those that one partition has of one dataset, ``None`` if none."""
    found = newest(view, heads)
    return None if found is None or hiding(view, found) else found


def may_show(view: View, head: HeadRecord) -> bool:
    """Return whether readers see a head record or may come to see it: not if it is of a branch that was rolled back."""
    branch = branch_of(head)
    return branch is None or view.state_of(branch) is not BranchState.ROLLED_BACK


def unseen(view: View, head: HeadRecord, heads: Iterable[HeadRecord]) -> str | None:
    """Return in words why readers do not see a head record, ``None`` if they do.

    :param heads: all that its partition has of its dataset.
    """
    branch = branch_of(head)
    if branch is not None and not _counts(head, set(view.shown)):
        return f"branch {branch} is {view.state_of(branch)}"
    shows = newest(view, heads)
    if shows is not None and shows != head:
        other = branch_of(shows)
        return f"what tenure {shows.token} published {'' if other is None else f'in branch {other} '}takes its place"
    if (entry := hiding(view, head)) is not None:
        return f"{entry.interval} is {entry.state}, by {entry.by}: {entry.why}"
    return None


def as_if_published(view: View, number: int) -> View:
    """Return the view as it would be if a branch that has begun were published now, with everything else as it is.

    :raises InvalidInputError: when there is no such branch, or it was rolled back.
    """
    branch = view.branch(number)
    if branch is None or branch.state is BranchState.ROLLED_BACK:
        problem = "was rolled back" if branch or 0 < number < view.next_number else "is not there"
        raise InvalidInputError("branch", number, problem, f"Name one of those there are: {view.named}")
    if branch.shows:
        return view
    return view.changed(replace(branch, state=BranchState.PUBLISHED))
