"""``branches retire``: others stand for the rows of these partitions, so in the branch they have none."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_coordination.duties.branches.emptying import publish_nothing
from airflow_coordination.duties.branches.running import branches_of, check_enabled
from airflow_coordination.duties.branches.selection import Selection, selected
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.viewing.branches import as_retired, retired_in
from airflow_coordination.planning.view import changing
from airflow_coordination.planning.view.showing import branch_of
from airflow_coordination.planning.view.view import View
from airflow_coordination.protocol.pages import every_head
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.remedies import WHY, typed
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.input_errors import CoordinationError, InvalidInputError
from airflow_coordination.values.names import check_said, identifier_of
from airflow_coordination.values.status import PartitionStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Retired:
    """What was retired.

    :param number: of the branch.
    :param partitions: how many partitions were meant.
    :param retired: how many of them this call has retired.
    """

    number: int
    partitions: int
    retired: int


def look(coordinator: SourceCoordinator, number: int, selection: Selection) -> list[Partition]:
    """Return what would be retired, and change nothing.

    Where it was interrupted before, what is gone since is left out.

    :raises InvalidInputError: when the branch is not begun, or the selection means none, or would cut some.
    """
    check_enabled(coordinator)
    view = coordinator.branches.begun(identifier_of(coordinator), number)
    branch = view.branch(number)
    again = branch is not None and branch.retiring is not None
    found = list(selected(coordinator, selection, view, even_if_gone=again))
    if not found and not again:
        raise InvalidInputError("selection", str(selection), "means no partition", "Name those that are to be retired")
    return found


def retire(coordinator: SourceCoordinator, number: int, selection: Selection, by: str, why: str) -> Retired:
    """Let partitions have nothing in a branch, because others in it stand for their rows: hours that become days.

    They are taken from whoever would work on them, and completed in the branch. All of it shows when the branch does;
    until then readers see their rows. Interrupted, it is repeated: until it is done, the branch cannot be published.

    :param coordinator: of the source.
    :param number: of the branch, which has begun.
    :param selection: the partitions.
    :param by: who retires them, for the audit.
    :param why: the reason, for the audit.
    :raises InvalidInputError: as :func:`look`, or while others are being retired in it.
    :raises PartitionUpdateError: when one cannot be taken, and how to go on.
    """
    check_said(by, why)
    found = look(coordinator, number, selection)

    def begun(view: View) -> View:
        return changing.retiring(view, number, selection.said)

    coordinator.documents.change_view(begun, by, why)
    try:
        done = sum(_retired(coordinator, each, number, by, why) for each in found)
    except CoordinationError as error:
        repeated = typed(coordinator, "branches retire", str(number), WHY)
        again = f"Repeat `{repeated}` with the same partitions"
        raise PartitionUpdateError(f"retire in branch {number}", "", f"it is not done yet. {error} {again}.") from error
    there = branches_of(coordinator).branch_counts(identifier_of(coordinator), number).partitions

    def whole(view: View) -> View:
        branch = view.branch(number)
        expected = None if branch is None or branch.expected is None else there
        return changing.retired(view, number, expected)

    coordinator.documents.change_view(whole, by, f"retired {len(found)} partition(s): {why}")
    return Retired(number=number, partitions=len(found), retired=done)


def _retired(coordinator: SourceCoordinator, seen: Partition, number: int, by: str, why: str) -> bool:
    """Retire one partition, and return whether that was to be done; what readers see of it stays until then."""
    if seen.status is PartitionStatus.COMPLETED and retired_in(seen) == number and not _has_rows(coordinator, seen):
        return False
    publish_nothing(coordinator, seen.key, number, by, why, as_retired(number))
    return True


def _has_rows(coordinator: SourceCoordinator, seen: Partition) -> bool:
    """Return whether a partition has rows in its branch: a worker took it while its retirement was interrupted."""
    heads = every_head(coordinator.store, seen.source, key=seen.key)
    return any(head.blocks and branch_of(head) == seen.branch for head in heads)
