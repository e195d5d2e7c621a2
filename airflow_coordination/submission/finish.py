"""The end of a submission: the task reads the endings of its tenures, and makes those that the driver left out."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from airflow.providers.common.compat.sdk import redact

from airflow_coordination.hooks.task_errors import PartitionFailedError
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.remedies import shell_of
from airflow_coordination.submission.tenure_book import TenureBook, has_begun, is_of_task
from airflow_coordination.values.errors import (
    BranchError,
    OutcomeUnknownError,
    PartitionNotFoundError,
    PartitionNotOwnedError,
)
from airflow_coordination.values.fence import Ending, Fence
from airflow_coordination.values.input_errors import CoordinationError, printable, shown
from airflow_coordination.values.scrubbing import MAX_TEXT, without_secrets
from airflow_coordination.values.status import Outcome, PartitionStatus

log = logging.getLogger(__name__)

MAX_REASON: Final = 1_500
_STOPPED: Final = "its driver was stopped"
_CUT_SHORT: Final = "the store was not heard in time, so its work was cut short and it was given back"
_WELL: Final = frozenset({Outcome.COMPLETED, Outcome.CLOSED, Outcome.GIVEN_UP, Outcome.HANDED_OVER, Outcome.STOLEN})
"""Endings after which a task has nothing to complain of; what another worker has taken is that one's now."""


@dataclass(frozen=True, slots=True)
class SubmissionEnd:
    """The end of a submission, as its task saw it.

    :param began: whether its driver spoke our protocol.
    :param stopped: whether it was ended on purpose (Airflow ended the task), so that it counts as no failure.
    :param error: what the submission raised, ``None`` for exit code 0.
    :param may_complete: complete the partition of a foreign job that ended with exit code 0.
    :param ours: its driver begins the tenure itself: without that, the partition function was never called.
    """

    began: bool
    stopped: bool
    error: BaseException | None
    may_complete: bool = False
    ours: bool = False

    @property
    def reason(self) -> str:
        """Why a tenure without an ending is ended by the task."""
        if self.error is not None:
            return f"The driver ended without an outcome: {_without_secrets(self.error)}"
        if self.began:
            return "The driver ended with exit code 0 but without an outcome: return Complete(), Close(…) or GiveUp(…)"
        return (
            "The job ended with exit code 0 and said nothing of its partition. If exit code 0 means that the partition "
            "is done, set complete_on_success=True"
        )


def _without_secrets(error: BaseException) -> str:
    """Return the end of the error's text as the store may keep it: a driver can print anything (promise X4)."""
    text = without_secrets(str(redact(str(error)[-MAX_TEXT:])))[-MAX_REASON:]
    return printable(text, keep="\n\t") or type(error).__name__


def finish(coordinator: SourceCoordinator, lease: Lease, tenures: TenureBook, end: SubmissionEnd) -> bool:
    """End the tenures that their driver left open, so that their leases are free at once; note how they ended.

    The newest is looked up in any case. Only what the store shows as this task's own is ended.

    :return: whether the driver never began its first tenure, which is given back: no work on it has failed.
    """
    not_begun = False
    for key, fence in {**tenures.open, **dict([tenures.current])}.items():
        partition = coordinator.partition(key)
        if partition is not None and partition.held_under(fence) and is_of_task(partition, coordinator.owner):
            tenures.began(key, fence)
            tenures.runs_in(key, fence, partition.branch)
            if end.ours and not end.stopped and fence in tenures.handed_over and not has_begun(partition):
                not_begun = not_begun or fence == lease.fence
                coordinator.tries.give_up_for_dead_owner(key, fence)
            else:
                _end(coordinator, lease, key, fence, end)
            partition = coordinator.partition(key)
        ending = partition.ending_of(fence) if partition is not None else None
        tenures.ended(key, ending.outcome if ending is not None else Outcome.LOST)
    return not_begun


def _end(coordinator: SourceCoordinator, lease: Lease, key: str, fence: Fence, end: SubmissionEnd) -> None:
    if end.stopped:
        coordinator.tries.give_up_for_dead_owner(key, fence)
    elif end.error is None and end.may_complete and not end.began:
        try:
            coordinator.complete(lease)
        except BranchError as error:  # what the job did is done, and no try of it would count
            coordinator.fail(lease, str(error), park=True)
    else:
        coordinator.tries.fail_for_dead_owner(key, fence, end.reason)


def raise_for_endings(
    coordinator: SourceCoordinator, tenures: TenureBook, cause: BaseException | None, *, stopped: bool = False
) -> None:
    """Say how the newest tenure ended, and those that failed; raise what the first that did not end well deserves.

    :param cause: what the submission raised.
    :param stopped: whether the submission was ended on purpose, so that giving up was not its own decision.
    :raises PartitionFailedError: it failed, and waits or is parked; or it was given back by nobody's decision.
    :raises PartitionNotOwnedError: somebody else ended it.
    """
    newest = dict([tenures.current])
    why = _STOPPED if stopped or cause is not None else None
    found = (
        _error_of(coordinator, key, fence, _CUT_SHORT if tenures.was_cut_short(fence) else why)
        for key, fence in {**tenures.unfinished, **newest}.items()
    )
    errors = [error for error in found if error is not None]
    for error in errors[1:]:
        log.error("%s", error)
    if errors:
        raise errors[0] from cause


def _error_of(coordinator: SourceCoordinator, key: str, fence: Fence, why: str | None) -> CoordinationError | None:
    """Return what is wrong with how a tenure ended; ``why`` says why giving up was not its own decision, if so."""
    partition = coordinator.partition(key)
    if partition is None:
        return PartitionNotFoundError(key, coordinator.source)
    ending = partition.ending_of(fence)
    if ending is None:
        return OutcomeUnknownError(f"the work on partition {shown(key)}", "the store no longer remembers this tenure")
    if ending.outcome is Outcome.FAILED:
        return _failed(coordinator, partition, ending, partition.last_error or "it failed")
    if ending.outcome is Outcome.GIVEN_UP and why is not None:
        return _failed(coordinator, partition, ending, why)
    if ending.outcome in _WELL:
        log.info("%s", _told(partition, ending))
        return None
    return PartitionNotOwnedError(key, fence, partition.fence, ending, partition.owner)


def _failed(coordinator: SourceCoordinator, partition: Partition, ending: Ending, reason: str) -> PartitionFailedError:
    available_at = None if partition.parked else partition.available_at or ending.at
    shell = shell_of(coordinator.store)
    return PartitionFailedError(partition.key, reason, available_at, partition.source, shell)


def _told(partition: Partition, ending: Ending) -> str:
    told = f"Partition {shown(partition.key)}: {ending}"
    if partition.status is PartitionStatus.CLOSED and partition.reopen_at is not None:
        told += f"; it opens again at {partition.reopen_at.isoformat(timespec='seconds')}"
    return told
