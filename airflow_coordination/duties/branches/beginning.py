"""``branches begin``: a branch is written into the view, then its partitions are reset into it, then it is whole."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from airflow_coordination.duties.branches.running import branches_of, check_enabled
from airflow_coordination.duties.branches.selection import (
    Selection,
    heads_by_key,
    named,
    selected,
    showing,
    umbrella_of,
)
from airflow_coordination.duties.compaction.revoking import release_groups
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.planning.intervals import Interval
from airflow_coordination.planning.view import changing
from airflow_coordination.planning.view.showing import branch_of
from airflow_coordination.planning.view.view import BranchState, View
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.remedies import typed
from airflow_coordination.systems.kinesis.shards import ShardLease
from airflow_coordination.values.errors import BranchError, PartitionUpdateError
from airflow_coordination.values.input_errors import CoordinationError, InvalidInputError
from airflow_coordination.values.names import check_said, identifier_of
from airflow_coordination.values.status import PartitionStatus

MOST_TRIES: Final = 5
"""How often a partition that changes meanwhile is looked at again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """What a branch would have, or has.

    :param partitions: as they were seen.
    :param there: how many of them are in the branch already.
    :param retired: how many are left out, because others stand for their rows.
    :param never_ran: how many are left out, because they have completed nowhere yet: they run as ever.
    :param running: how many are held: their owners lose the lease.
    :param interval: of the rows that they have now; ``None`` where that of one is unknown, or there are none.
    """

    partitions: tuple[Partition, ...]
    there: int = 0
    retired: int = 0
    never_ran: int = 0
    running: int = 0
    interval: Interval | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """What was begun.

    :param number: of the branch.
    :param partitions: how many partitions it has.
    :param reset: how many of them this call has reset into it.
    :param retired: how many were left out, because others stand for their rows.
    :param interval: of the rows that they replace, where that is known.
    :param never_ran: how many were left out, because they had completed nowhere yet.
    """

    number: int
    partitions: int
    reset: int
    retired: int
    interval: Interval | None = None
    never_ran: int = 0


def look(
    coordinator: SourceCoordinator,
    selection: Selection | None,
    *,
    branch: int | None = None,
    even_if_it_reopens: bool = False,
    even_if_it_never_ran: bool = False,
) -> tuple[Selection, Meant]:
    """Return what a branch would have, and change nothing; refuse what :func:`begin` would refuse.

    :param selection: the partitions; ``None`` with ``branch``: those that it was begun with.
    :param branch: go on with this one, whose beginning was interrupted.
    :param even_if_it_reopens: also partitions that read on for ever, such as shards, whose new rows then show only
        when the branch does.
    :param even_if_it_never_ran: also partitions that have completed nowhere yet. In the branch they would: nothing
        follows their endings then, and a roll back leaves them unseen.
    :raises InvalidInputError: naming the partitions that are in its way, and the ways out.
    :raises SettingsError: while older code may open the store.
    """
    check_enabled(coordinator)
    view = coordinator.documents.view()
    chosen = _chosen(coordinator, view, selection, branch)
    found = list(selected(coordinator, chosen, view, even_if_gone=branch is not None))
    if not found and not chosen.nothing and branch is None:
        raise InvalidInputError("selection", str(chosen), "means no partition", "Name those that are to run again")
    kept = [each for each in found if not coordinator.branches.others_stand(view, each)]
    _check_begun_elsewhere(view, kept, branch)
    _check_standing(coordinator, view, kept)
    if not even_if_it_reopens:
        _check_reopening(kept)
    _check_followed_up(coordinator, kept, branch)
    published, interval = _published(coordinator, view, kept)
    new = {each.key for each in kept if each.key not in published and _never_ran(each, branch)}
    if even_if_it_never_ran:
        new.clear()
    _check_some_ran(kept, new, branch)
    meant = tuple(each for each in kept if each.key not in new)
    return chosen, Meant(
        partitions=meant,
        there=sum(each.branch == branch for each in meant) if branch is not None else 0,
        retired=len(found) - len(kept),
        never_ran=len(new),
        running=sum(each.status is PartitionStatus.ASSIGNED for each in meant),
        interval=interval,
    )


def begin(
    coordinator: SourceCoordinator,
    selection: Selection | None,
    by: str,
    why: str,
    *,
    branch: int | None = None,
    then: bool = False,
    even_if_it_reopens: bool = False,
    even_if_it_never_ran: bool = False,
) -> Begun:
    """Let partitions run again aside: what they publish shows when the branch is published, all of it at once.

    Interrupted, it is repeated with the number it has got: what is in the branch already stays as it is.

    :param coordinator: of the source.
    :param selection: the partitions; ``None`` with ``branch``: those that it was begun with.
    :param by: who begins it, for the view's history and the audit.
    :param why: the reason, for both.
    :param branch: go on with this one.
    :param then: do what its partitions say to follow their endings (``then=``) while it is begun, too. Otherwise
        nothing follows: the objects and messages that they were made of are long gone.
    :param even_if_it_reopens: as for :func:`look`; so is ``even_if_it_never_ran``.
    :raises InvalidInputError: as :func:`look`.
    :raises SettingsError: while older code may open the store.
    :raises PartitionUpdateError: when one came into another branch meanwhile, or changes again and again, or the store
        was not heard: it says how to go on.
    """
    check_said(by, why)
    chosen, meant = look(
        coordinator,
        selection,
        branch=branch,
        even_if_it_reopens=even_if_it_reopens,
        even_if_it_never_ran=even_if_it_never_ran,
    )
    number = _written(coordinator, chosen, meant, by, why, then=then) if branch is None else branch
    release_groups(coordinator, meant.interval, number, by)
    try:
        reset = sum(_into(coordinator, each, number, by, why) for each in meant.partitions)
    except CoordinationError as error:
        again = f"Repeat `{typed(coordinator, 'branches begin', options=['--branch', str(number)])}`, or roll it back"
        raise PartitionUpdateError(f"begin branch {number}", "", f"it is not whole yet. {error} {again}.") from error
    there = branches_of(coordinator).branch_counts(identifier_of(coordinator), number).partitions

    def whole(view: View) -> View:
        return changing.complete(view, number, there, meant.interval)

    coordinator.documents.change_view(whole, by, f"branch {number} has {there} partition(s): {why}")
    return Begun(
        number=number,
        partitions=there,
        reset=reset,
        retired=meant.retired,
        interval=meant.interval,
        never_ran=meant.never_ran,
    )


def _chosen(coordinator: SourceCoordinator, view: View, selection: Selection | None, number: int | None) -> Selection:
    """Return the selection that is meant: that of a branch that is gone on with may not become another one."""
    if number is None:
        return selection or Selection()  # which says what to give
    coordinator.branches.begun(identifier_of(coordinator), number)
    branch = view.branch(number)
    assert branch is not None, "one that is begun is there"
    if selection is None:
        return Selection.of(branch.selection)
    if selection.said != dict(branch.selection):
        problem = f"is not what branch {number} was begun with"
        remedy = "Leave it out, to go on with that; single partitions come into it by `reset --branch`"
        raise InvalidInputError("selection", str(selection), problem, remedy)
    return selection


def _check_begun_elsewhere(view: View, partitions: Iterable[Partition], number: int | None) -> None:
    others: dict[int, list[str]] = {}
    for each in partitions:
        if each.branch not in (None, number) and view.state_of(each.branch) is BranchState.BEGUN:
            others.setdefault(each.branch, []).append(each.key)
    for other, keys in others.items():
        problem = f"has begun, and has {len(keys)} of these partitions: {named(keys)}"
        raise InvalidInputError("branch", other, problem, "Publish it or roll it back first, or leave them out")


def _check_standing(coordinator: SourceCoordinator, view: View, partitions: Iterable[Partition]) -> None:
    """Refuse what no reset takes: what was retired for them would come back beside them."""
    standing: dict[int | None, list[str]] = {}
    for each in partitions:
        if coordinator.branches.stands(view, each):
            standing.setdefault(each.branch, []).append(each.key)
    for number, keys in standing.items():
        which = f"has {len(keys)} partition(s) that stand for others, retired in branch {number}: {named(keys)}"
        finalize = typed(coordinator, "branches finalize", str(number))
        remedy = f"Make branch {number} final first: `{finalize}`; or leave them out"
        raise InvalidInputError("selection", f"{len(keys)} of them", which, remedy)


def _check_reopening(partitions: Iterable[Partition]) -> None:
    keys = [each.key for each in partitions if reopens(each)]
    if keys:
        problem = f"has {len(keys)} partition(s) that open again and again: {named(keys)}"
        remedy = "What they read would not show before the branch does: leave them out, or say even_if_it_reopens"
        raise InvalidInputError("selection", f"{len(keys)} of them", problem, remedy)


def reopens(partition: Partition) -> bool:
    """Return whether a partition is one of those that read on and on: closed for now, or before, or a shard."""
    if partition.status is PartitionStatus.COMPLETED or partition.parked:
        return False
    return partition.status is PartitionStatus.CLOSED or partition.closed_count > 0 or _is_shard(partition)


def _is_shard(partition: Partition) -> bool:
    try:
        ShardLease.of(partition.key, partition.payload)
    except InvalidInputError:
        return False
    return True


def _check_followed_up(coordinator: SourceCoordinator, partitions: Iterable[Partition], number: int | None) -> None:
    """Refuse what no reset takes: what a note still has in hand would be done to what is to be worked on again."""
    anew = {each.key for each in partitions if number is None or each.branch != number}
    keys = sorted({note.key for note in coordinator.follow_ups.follow_ups() if note.key in anew})
    if keys:
        problem = f"has {len(keys)} partition(s) after which something is still to be done: {named(keys)}"
        remedy = f"Do it first: `{typed(coordinator, 'finish-actions')}`"
        raise InvalidInputError("selection", f"{len(keys)} of them", problem, remedy)


def _never_ran(partition: Partition, number: int | None) -> bool:
    """Return whether a partition has completed nowhere, nor was closed; what is in the branch already stays there."""
    done = partition.status is PartitionStatus.COMPLETED or reopens(partition) or partition.closed_count > 0
    return not done and (number is None or partition.branch != number)


def _check_some_ran(partitions: Sequence[Partition], new: Collection[str], number: int | None) -> None:
    """Refuse to begin with nothing, because all that was meant is left out."""
    if new and len(new) == len(partitions) and number is None:
        problem = f"means only partitions that have completed nowhere yet: {named(sorted(new))}"
        remedy = "They run as ever, and show then: there is nothing to run again. Or say even_if_it_never_ran"
        raise InvalidInputError("selection", f"{len(new)} of them", problem, remedy)


def _published(
    coordinator: SourceCoordinator, view: View, partitions: Sequence[Partition]
) -> tuple[set[str], Interval | None]:
    """Return the keys of those that have published where it counts, and of which time the rows are that show now."""
    keys, published, shown = {each.key for each in partitions}, set(), []
    for key, heads in heads_by_key(coordinator) if keys else ():
        if key in keys:
            shown += showing(view, heads)
            if any(branch_of(head) is None or branch_of(head) in view.shown for head in heads):
                published.add(key)
    return published, umbrella_of(shown) if keys else None


def _written(
    coordinator: SourceCoordinator, selection: Selection, meant: Meant, by: str, why: str, *, then: bool
) -> int:
    """Write one branch more into the view, and return its number."""
    number = 0

    def begun(view: View) -> View:
        nonlocal number
        after, number = changing.begun(view, selection.said, meant.interval, by, why, view.now, then=then)
        return after

    coordinator.documents.change_view(begun, by, why)
    return number


def _into(coordinator: SourceCoordinator, seen: Partition, number: int, by: str, why: str) -> bool:
    """Reset a partition into a branch, and return whether that was to be done; one that was deleted is left out."""
    found: Partition | None = seen
    for left in reversed(range(MOST_TRIES)):
        if found is None or found.branch == number:
            return False
        try:
            coordinator.people.reset(found.key, by, why, found, branch=number)
            return True
        except BranchError:
            raise
        except PartitionUpdateError:
            if not left:
                raise
        found = coordinator.partition(seen.key)
    return False
