"""``branches status``, ``publish``, ``roll-back``, ``finalize``: how far branches are, and the instant of a change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from airflow_coordination.duties.branches.beginning import MOST_TRIES
from airflow_coordination.duties.branches.emptying import publish_nothing_as_seen
from airflow_coordination.duties.branches.running import branches_of, partitions_of
from airflow_coordination.duties.branches.selection import NAMED, heads_by_key, named, showing
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.viewing.branches import retired_in
from airflow_coordination.planning.view import changing
from airflow_coordination.planning.view.showing import as_if_published, branch_of, dataset_of
from airflow_coordination.planning.view.view import Branch, BranchState, View
from airflow_coordination.protocol.beside.documents import BranchCounts
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.remedies import typed
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import check_said, identifier_of
from airflow_coordination.values.status import PartitionStatus

_COUNTED: Final = (BranchState.BEGUN, BranchState.PUBLISHED, BranchState.ROLLED_BACK)


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchStatus:
    """How far one branch is.

    :param branch: as the view has it.
    :param counts: of the partitions that run in it; of none where it is final.
    :param waits_for: what is missing before it can be published; empty where nothing is, or it is not begun.
    """

    branch: Branch
    counts: BranchCounts
    waits_for: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetChange:
    """What becomes of one dataset when a branch is published.

    :param dataset: as users name it.
    :param partitions: of how many partitions readers see something else then.
    :param rows_before: rows of theirs that readers see now.
    :param rows_after: rows of theirs that readers see then.
    :param bytes_before: the same in bytes.
    :param bytes_after: the same in bytes.
    """

    dataset: str
    partitions: int
    rows_before: int
    rows_after: int
    bytes_before: int
    bytes_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """What partitions of a branch have published nothing to, although they did before.

    :param key: of the partition.
    :param datasets: whose old rows stay.
    :param seen: the partition, as it was read before its head records.
    """

    key: str
    datasets: tuple[str, ...]
    seen: Partition = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What publishing a branch would change.

    :param status: how far it is.
    :param datasets: what becomes of each dataset.
    :param missing: partitions that keep old rows of some, because they have published none of them in the branch.
    """

    status: BranchStatus
    datasets: tuple[DatasetChange, ...]
    missing: tuple[Missing, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RolledBack:
    """What a roll back leaves behind.

    :param number: of the branch.
    :param kept: keys of those that have published since it showed: they keep what they published then.
    :param left: keys of partitions in it that have not completed: they run for nobody, and are parked when they end.
    :param unseen: keys of those that have completed in it, or were retired in it, and have published nowhere else:
        readers see nothing of them, and they do not run again by themselves. What stood for others is not among them.
    """

    number: int
    kept: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()


def status(coordinator: SourceCoordinator) -> list[BranchStatus]:
    """Return how far each branch of a source is, by number. No head record is read."""
    return [_status(coordinator, branch) for branch in coordinator.documents.view().branches]


def _status(coordinator: SourceCoordinator, branch: Branch, looked: BranchCounts | None = None) -> BranchStatus:
    if branch.state not in _COUNTED:
        return BranchStatus(branch=branch, counts=BranchCounts())
    counts = looked or branches_of(coordinator).branch_counts(identifier_of(coordinator), branch.number)
    return BranchStatus(branch=branch, counts=counts, waits_for=_waits_for(branch, counts) if branch.begun else "")


def _waits_for(branch: Branch, counts: BranchCounts) -> str:
    """Return in words what is missing before a begun branch can be published, nothing if nothing is."""
    if branch.expected is None:
        return "its beginning, which was interrupted"
    if branch.retiring is not None:
        return "partitions that are to be retired in it"
    if not counts.partitions:
        return "partitions: it has none"
    if gone := max(branch.expected - counts.partitions, 0):
        return f"{gone} partition(s) that are gone from it"
    running = counts.partitions - counts.completed - counts.parked
    parts = [f"{running} partition(s) to complete"] if running else []
    return " and ".join(parts + ([f"a person, because of {counts.parked} parked"] if counts.parked else []))


def one(coordinator: SourceCoordinator, number: int) -> tuple[View, BranchStatus]:
    """Return the view and how far one branch is.

    :raises InvalidInputError: when there is no such branch.
    """
    view = coordinator.documents.view()
    return view, _status_in(coordinator, view, number)


def _status_in(coordinator: SourceCoordinator, view: View, number: int) -> BranchStatus:
    return _status(coordinator, view.existing(number), view.looked.counts if view.looked else None)


def check_ready(coordinator: SourceCoordinator, found: BranchStatus) -> None:
    """Refuse to publish half a backfill.

    :raises InvalidInputError: naming what is missing, and the way out.
    """
    branch = found.branch
    if not branch.begun:
        problem = f"is {branch.state}; this needs one that is begun"
        raise InvalidInputError("branch", branch.number, problem, "See `branches status`")
    if not found.waits_for:
        return
    problem, counts = f"waits for {found.waits_for}", found.counts
    again = f"Repeat `{typed(coordinator, 'branches begin', options=['--branch', str(branch.number)])}`"
    if branch.expected is None:
        raise InvalidInputError("branch", branch.number, problem, again)
    if branch.retiring is not None or not counts.partitions:
        remedy = (
            "Repeat `branches retire`" if branch.retiring is not None else "Create partitions in it, or roll it back"
        )
        raise InvalidInputError("branch", branch.number, problem, remedy)
    if counts.partitions < branch.expected:
        raise InvalidInputError("branch", branch.number, problem, f"{again}, which counts anew, or roll it back")
    keys = [each.key for each in _unfinished(coordinator, branch.number, NAMED + 1)]
    left = named(keys[:NAMED]) + (", …" if len(keys) > NAMED else "")
    remedy = "Wait for them; reopen or finish what is parked"
    raise InvalidInputError("branch", branch.number, f"{problem}: {left}", remedy)


def _unfinished(coordinator: SourceCoordinator, number: int, limit: int | None = None) -> list[Partition]:
    found: list[Partition] = []
    for each in partitions_of(coordinator, number):
        if each.status is not PartitionStatus.COMPLETED:
            found.append(each)
            if len(found) == limit:
                break
    return found


def preview(coordinator: SourceCoordinator, number: int) -> Preview:
    """Return what publishing a branch would change, and change nothing. It reads every head record of the source.

    :raises InvalidInputError: when there is no such branch, or it was rolled back.
    """
    view, found = one(coordinator, number)
    then = as_if_published(view, number)
    inside = {each.key: each for each in partitions_of(coordinator, number) if retired_in(each) is None}
    sums: dict[str, Counter[str]] = {}
    missing = []
    for key, heads in heads_by_key(coordinator):
        before = {dataset_of(head): head for head in showing(view, heads)}
        after = {dataset_of(head): head for head in showing(then, heads)}
        for dataset in before.keys() | after.keys():
            _add_up(sums.setdefault(dataset, Counter()), before.get(dataset), after.get(dataset))
        there = {dataset_of(head) for head in heads if branch_of(head) == number}
        if key in inside and (left := sorted(before.keys() - there)):
            missing.append(Missing(key=key, datasets=tuple(left), seen=inside[key]))
    names = ("partitions", "rows_before", "rows_after", "bytes_before", "bytes_after")
    changes = tuple(
        DatasetChange(dataset=dataset, **{name: counted[name] for name in names})
        for dataset, counted in sorted(sums.items())
        if counted["partitions"]
    )
    return Preview(status=found, datasets=changes, missing=tuple(missing))


def _add_up(counted: Counter[str], old: HeadRecord | None, new: HeadRecord | None) -> None:
    if old != new:
        counted.update(partitions=1, rows_before=old.rows if old else 0, rows_after=new.rows if new else 0)
        counted.update(bytes_before=old.bytes if old else 0, bytes_after=new.bytes if new else 0)


def publish(
    coordinator: SourceCoordinator,
    number: int,
    by: str,
    why: str,
    *,
    empty_missing: bool = False,
    check: Callable[[Any], object] | None = None,
    look: Callable[[SourceCoordinator, int], Any] | None = None,
) -> Branch:
    """Let readers see a branch: all of it from one instant on.

    A partition that has published nothing to a dataset in it keeps its old rows of that.

    :param coordinator: of the source.
    :param number: of the branch.
    :param by: who publishes it, for the view's history.
    :param why: the reason, for the same.
    :param empty_missing: let partitions have nothing of the datasets that they have published nothing to in it.
    :param check: is given what ``look`` returns, and may raise: then nothing is published, and nothing was emptied.
    :param look: returns what a check looks at.
    :return: the branch, which shows.
    :raises InvalidInputError: when it is not begun, or something is missing: which, and what to do.
    :raises PartitionUpdateError: when partitions of it have run while the check looked at it.
    """
    check_said(by, why)
    if empty_missing or check is not None:
        check_ready(coordinator, one(coordinator, number)[1])
    if check is not None:
        _checked(coordinator, number, check, look or preview)
    if empty_missing:
        _empty_missing(coordinator, number, by, why)

    def published(view: View) -> View:
        check_ready(coordinator, _status_in(coordinator, view, number))
        return changing.published(view, number, view.now)

    return coordinator.documents.change_view(published, by, why, number).existing(number)


def _empty_missing(coordinator: SourceCoordinator, number: int, by: str, why: str) -> None:
    """Let what has published nothing in a branch have nothing there; what runs meanwhile is looked at again.

    :raises PartitionUpdateError: when one cannot be had, or partitions of it change again and again.
    """
    for _ in range(MOST_TRIES):
        missing = [each for each in preview(coordinator, number).missing if _has_completed(each.seen)]
        done = [publish_nothing_as_seen(coordinator, each.seen, number, each.datasets, by, why) for each in missing]
        if all(done):
            return
    problem = "partitions of it change again and again. Wait for them, and repeat it."
    raise PartitionUpdateError(f"publish branch {number}", "", problem)


def _has_completed(partition: Partition) -> bool:
    return partition.status is PartitionStatus.COMPLETED


def _checked(
    coordinator: SourceCoordinator,
    number: int,
    check: Callable[[Any], object],
    look: Callable[[SourceCoordinator, int], Any],
) -> None:
    """Let a check look at a branch, and see that what it has looked at is what is there afterwards."""
    before = _stamp(coordinator, number)
    check(look(coordinator, number))
    if _stamp(coordinator, number) != before:
        problem = "has changed while it was checked: partitions of it have run"
        raise InvalidInputError("branch", number, problem, "Check it again")


def _stamp(coordinator: SourceCoordinator, number: int) -> str:
    digest = sha256()
    for each in partitions_of(coordinator, number):
        digest.update(f"{each.key}\0{each.last_op}\n".encode())
    return digest.hexdigest()


def roll_back(coordinator: SourceCoordinator, number: int, by: str, why: str) -> RolledBack:
    """Let nobody see a branch, now and for ever: each partition has again what it had, unless it has published since.

    :param coordinator: of the source.
    :param number: of the branch; it is begun, or shows and is not final.
    :param by: who does it, for the view's history.
    :param why: the reason, for the same.
    :raises InvalidInputError: when it is final, or was rolled back before.
    """
    check_said(by, why)
    shown = False

    def rolled_back(view: View) -> View:
        nonlocal shown
        shown = number in view.shown
        return changing.rolled_back(view, number, view.now)

    after = coordinator.documents.change_view(rolled_back, by, why)
    return _left_behind(coordinator, number, after, shown=shown)


def foresee_roll_back(coordinator: SourceCoordinator, number: int) -> RolledBack:
    """Return what a roll back would leave behind, and change nothing.

    :raises InvalidInputError: as :func:`roll_back`.
    """
    view = coordinator.documents.view()
    after = changing.rolled_back(view, number, coordinator.store.now())
    return _left_behind(coordinator, number, after, shown=number in view.shown)


def _left_behind(coordinator: SourceCoordinator, number: int, after: View, *, shown: bool) -> RolledBack:
    branch = after.branch(number)
    left: list[str] = []
    unseen: dict[str, None] = {}
    for each in partitions_of(coordinator, number):
        if each.status is not PartitionStatus.COMPLETED:
            left.append(each.key)
        elif branch is None or not branch.retires or retired_in(each) is not None:
            unseen[each.key] = None
    kept = []
    for key, heads in heads_by_key(coordinator) if shown or unseen else ():
        if shown and _published_since(number, after, heads):
            kept.append(key)
        if any(branch_of(head) is None or branch_of(head) in after.shown for head in heads):
            unseen.pop(key, None)
    return RolledBack(number=number, kept=tuple(kept), left=tuple(left), unseen=tuple(unseen))


def _published_since(number: int, view: View, heads: Sequence[HeadRecord]) -> bool:
    """Return whether a partition's newest publication that counts is newer than that in the branch."""
    in_branch = {dataset_of(head): head.token for head in heads if branch_of(head) == number}
    now = {dataset_of(head): head.token for head in showing(view, heads)}
    return any(now.get(dataset, 0) > token for dataset, token in in_branch.items())


def finalize(coordinator: SourceCoordinator, number: int, by: str, why: str) -> Branch:
    """Let a branch show for good: it cannot be rolled back any more, and what it hides may be purged.

    :param coordinator: of the source.
    :param number: of the branch, which shows.
    :param by: who does it, for the view's history.
    :param why: the reason, for the same.
    :raises InvalidInputError: when it does not show, or is final.
    """
    check_said(by, why)

    def final(view: View) -> View:
        return changing.finalized(view, number, view.now)

    return coordinator.documents.change_view(final, by, why).existing(number)
