"""Changes of what readers see, on the board: tried first, and done in the name of Airflow's user, if it is as seen."""

from __future__ import annotations

import logging

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser

from airflow_coordination.board.acting import UNKNOWN, open_to_act
from airflow_coordination.board.showing.effects import Foreseen, branch_meant, foresee, interval_meant
from airflow_coordination.board.showing.models import (
    ViewAction,
    ViewChangeRequest,
    ViewChangeResult,
    ViewDryRunRequest,
    ViewDryRunResult,
)
from airflow_coordination.board.showing.offering import typed
from airflow_coordination.board.stores import StoreDoesNotAnswerError
from airflow_coordination.duties.branches import showing
from airflow_coordination.duties.branches.selection import named
from airflow_coordination.duties.retention import hiding
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol import remedies
from airflow_coordination.protocol.beside.documents import VIEW, Document
from airflow_coordination.systems.objects.storage import OutputError
from airflow_coordination.values.errors import OutcomeUnknownError, PartitionUpdateError
from airflow_coordination.values.input_errors import CoordinationError, InvalidInputError
from airflow_coordination.values.names import check_said

_REFUSED = (InvalidInputError, PartitionUpdateError, OutputError)
_log = logging.getLogger(__name__)


def dry_run(user: BaseUser, asked: ViewDryRunRequest) -> ViewDryRunResult:
    """Say what a change would do to what readers see, and why it would be refused; nothing is changed.

    :raises NotVisibleError: when the user does not see such a source.
    :raises MayNotActError: when the user may not change it.
    """
    with open_to_act(user, asked.store, asked.source) as (store, coordinator):
        stamp, refusal, foreseen = _stamp(coordinator), None, Foreseen(sentences=())
        try:
            foreseen = foresee(coordinator, asked)
        except _REFUSED as error:
            refusal = str(error)
        return ViewDryRunResult(
            sentences=list(foreseen.sentences),
            refusal=refusal,
            counted=foreseen.counted,
            effects=list(foreseen.effects),
            stamp=stamp,
            typed=typed(store, asked.source, asked.action, asked.branch, asked.dataset, asked.interval),
        )


def change(user: BaseUser, asked: ViewChangeRequest) -> ViewChangeResult:
    """Change what readers see, in the user's own name, if nobody has changed it since the user saw it.

    :raises NotVisibleError: when the user does not see such a source.
    :raises MayNotActError: when the user may not change it.
    :raises InvalidInputError: when no reason is given.
    :raises StoreDoesNotAnswerError: when the store has refused nothing and done nothing.
    """
    by = user.get_name() or user.get_id()
    check_said(by, asked.why)
    with open_to_act(user, asked.store, asked.source) as (_, coordinator):
        if (now := _newest(coordinator)) is not None and str(now.version) != asked.stamp:
            return ViewChangeResult(done=False, sentence=_changed(now))
        try:
            return ViewChangeResult(done=True, sentence=_done(coordinator, asked, by))
        except _REFUSED as error:
            return ViewChangeResult(done=False, sentence=str(error))
        except OutcomeUnknownError:
            return ViewChangeResult(done=False, sentence=UNKNOWN)
        except CoordinationError as error:
            what = f"{asked.action} in the store of connection {asked.store}"
            _log.warning("The board could not %s: %s", what, error)
            raise StoreDoesNotAnswerError(asked.store) from error


def _newest(coordinator: SourceCoordinator) -> Document | None:
    return coordinator.documents.newest(VIEW)


def _stamp(coordinator: SourceCoordinator) -> str:
    found = _newest(coordinator)
    return "" if found is None else str(found.version)


def _changed(now: Document) -> str:
    what = f"{now.author} has changed what readers see of this source since ({now.comment})"
    return f"{what}. Look at it again and repeat the action if it still fits."


def _done(coordinator: SourceCoordinator, asked: ViewChangeRequest, by: str) -> str:
    """Do it, and return what readers see now."""
    if asked.action in (ViewAction.HIDE, ViewAction.RESTORE):
        dataset, interval = interval_meant(asked)
        act = hiding.hide if asked.action is ViewAction.HIDE else hiding.restore
        act(coordinator, dataset, interval, by, asked.why)
        seen = "do not see" if asked.action is ViewAction.HIDE else "see again"
        return f"Readers {seen} what lies in {interval} of {dataset}."
    number = branch_meant(asked)
    if asked.action is ViewAction.PUBLISH:
        showing.publish(coordinator, number, by, asked.why)
        return f"Branch {number} is published: readers see it."
    if asked.action is ViewAction.FINALIZE:
        showing.finalize(coordinator, number, by, asked.why)
        return f"Branch {number} is final."
    return _told(coordinator, showing.roll_back(coordinator, number, by, asked.why))


def _told(coordinator: SourceCoordinator, done: showing.RolledBack) -> str:
    """Return what a roll back leaves behind, and what to do about it."""
    told = [f"Branch {done.number} was rolled back."]
    if done.kept:
        told.append(f"{len(done.kept):,} partition(s) keep what they have published since: {named(done.kept)}.")
    if done.left:
        told.append(
            f"{len(done.left):,} partition(s) of it have not completed, and would be parked: {named(done.left)}."
        )
        finish, reset = (remedies.typed(coordinator, name, done.left[0]) for name in ("finish", "reset"))
        told.append(f"To leave such a one with what it has published before: {finish}")
        told.append(f"To let it run outside of any branch: {reset}")
    return " ".join(told)
