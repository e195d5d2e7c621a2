"""Which head records nobody will ever see, whatever is published, restored or rolled back from now on (promise S23).

There are three causes. An interval is being purged, from which there is no way back. A newer head record of the same
partition covers it, which is in the base or in a branch that is final: neither ever goes. Its branch was rolled back.
Each head record is judged by itself, so that any number of them may be emptied, in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from airflow_coordination.planning.view.showing import branch_of, dataset_of, interval_of_head
from airflow_coordination.planning.view.view import Branch, BranchState, Hidden, View
from airflow_coordination.protocol.results import HeadRecord


@dataclass(frozen=True, slots=True)
class Unseen:
    """A head record that nobody will ever see.

    :param head: it has blocks.
    :param since: from when on that is so: margins are counted from there.
    :param because: what hides it: an interval that is being purged, a branch, or what the base has published since.
    """

    head: HeadRecord
    since: datetime
    because: Hidden | Branch | HeadRecord

    @property
    def why(self) -> str:
        """What hides it and who has done that, for the audit."""
        if isinstance(self.because, Hidden):
            entry = self.because
            return f"{entry.interval} of {entry.dataset!r} was hidden by {entry.by} at {entry.since}: {entry.why}"
        if isinstance(self.because, Branch):
            branch = self.because
            what = "was rolled back" if branch.state is BranchState.ROLLED_BACK else "is final and hides it"
            return f"branch {branch.number} of {branch.by} {what} since {branch.changed_at}: {branch.why}"
        return f"the partition has published again at {self.because.published_at}"


def unseen(view: View, heads: Iterable[HeadRecord]) -> Iterator[Unseen]:
    """Yield those of the head records of one partition and one dataset that nobody will ever see.

    :param heads: in the base and in all branches. One of a branch that the view does not know yet is left out.
    """
    row = list(heads)
    for head in row:
        if head.blocks and head.published_at is not None:
            found = _purging(view, head) or _rolled_back(view, head) or _covered(view, head, row)
            if found:
                yield found


def may_show(view: View, head: HeadRecord) -> bool:
    """Return whether a head record is in the base, or in a branch that shows."""
    branch = branch_of(head)
    return branch is None or branch in view.shown


def lies_in(entry: Hidden, head: HeadRecord) -> bool:
    """Return whether a head record lies in a hidden interval of its dataset, whichever branch it is of."""
    interval = interval_of_head(head)
    return interval is not None and dataset_of(head) == entry.dataset and entry.interval.contains(interval)


def is_purged(view: View, entry: Hidden, head: HeadRecord) -> bool:
    """Return whether a head record goes with an interval that is being purged.

    What was published after the mark stays, and so does what a branch brings that did not show then.
    """
    if not entry.purging or entry.upto is None or head.published_at is None or not lies_in(entry, head):
        return False
    branch = branch_of(head)
    return head.published_at <= entry.upto and (branch is None or (branch in entry.branches and may_show(view, head)))


def last_change(view: View, entry: Hidden, head: HeadRecord) -> datetime:
    """Return when something has last come into a hidden interval with a head record: margins begin anew there."""
    branch = view.branch(branch_of(head) or 0)
    moments = (entry.since, head.published_at, branch.changed_at if branch else None)
    return max(moment for moment in moments if moment is not None)


def _purging(view: View, head: HeadRecord) -> Unseen | None:
    return next((Unseen(head, each.since, each) for each in view.hidden if is_purged(view, each, head)), None)


def _rolled_back(view: View, head: HeadRecord) -> Unseen | None:
    number = branch_of(head)
    branch = None if number is None else view.branch(number)
    if branch is None or branch.state is not BranchState.ROLLED_BACK or head.published_at is None:
        return None
    return Unseen(head, max(branch.changed_at, head.published_at), branch)


def _covered(view: View, head: HeadRecord, heads: Iterable[HeadRecord]) -> Unseen | None:
    """Return what covers a head record for good, by the earliest that does: the others add nothing."""
    if not may_show(view, head):
        return None
    found = (_covering(view, head, other) for other in heads)
    return min((each for each in found if each), key=lambda each: each.since, default=None)


def _covering(view: View, head: HeadRecord, other: HeadRecord) -> Unseen | None:
    if _place(other) <= _place(head) or other.published_at is None:
        return None
    number = branch_of(other)
    if number is None:
        return Unseen(head, other.published_at, other)
    branch = view.branch(number)
    if branch is None or branch.state is not BranchState.FINAL:
        return None
    return Unseen(head, max(branch.changed_at, other.published_at), branch)


def _place(head: HeadRecord) -> tuple[int, bool]:
    return head.token, branch_of(head) is not None
