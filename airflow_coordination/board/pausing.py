"""Pauses on the board: people hold a whole source back, and let it go on (promise X12)."""

from __future__ import annotations

import logging
from datetime import timedelta

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser

from airflow_coordination.board.acting import UNKNOWN, open_to_act
from airflow_coordination.board.action_models import PauseDryRunRequest, PauseDryRunResult, PauseRequest, PauseResult
from airflow_coordination.board.models import Offer
from airflow_coordination.board.stores import StoreDoesNotAnswerError
from airflow_coordination.board.visibility import VisibleSource, coordinator_of
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.monitoring.counts import foreseen
from airflow_coordination.protocol import remedies
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.pause import Pause
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import Outlook
from airflow_coordination.values.errors import OutcomeUnknownError, PartitionUpdateError
from airflow_coordination.values.input_errors import CoordinationError, InvalidInputError

_DOES = {
    "pause": "Hold new leases back until somebody resumes the source, or for a time; who holds one finishes it",
    "resume": "Let the source go on",
}
_log = logging.getLogger(__name__)


def offered(user: BaseUser, store: PartitionStore, seen: VisibleSource) -> Offer | None:
    """Return what the user may do now; nothing where the user may not act, or the store knows of no pauses."""
    if not seen.may_act or parts_of(store).pauses is None:
        return None
    action = "resume" if coordinator_of(user, store, seen).pausing.current_pause().paused else "pause"
    typed = remedies.about(remedies.shell_of(store), action, seen.identifier)
    return Offer(action=action, does=_DOES[action], typed=typed)


def dry_run(user: BaseUser, asked: PauseDryRunRequest) -> PauseDryRunResult:
    """Say what would be held back, or go on; nothing is changed.

    :raises NotVisibleError: when the user does not see such a source.
    :raises MayNotActError: when the user may not change it.
    """
    with open_to_act(user, asked.store, asked.source) as (_, coordinator):
        outlook = coordinator.looking.outlook()
        refusal = None
        try:
            coordinator.pausing.check_pause(asked.paused, outlook.pause)
        except PartitionUpdateError as error:
            refusal = str(error)
        sentence = _at_stake(asked.paused, outlook)
        return PauseDryRunResult(sentence=sentence, refusal=refusal, stamp=outlook.pause.op or "")


def set_pause(user: BaseUser, asked: PauseRequest) -> PauseResult:
    """Pause or resume a source as the user saw it, in the user's own name.

    :raises NotVisibleError: when the user does not see such a source.
    :raises MayNotActError: when the user may not change it.
    :raises InvalidInputError: when no reason is given.
    :raises StoreDoesNotAnswerError: when the store has refused nothing and done nothing.
    """
    by = user.get_name() or user.get_id()
    with open_to_act(user, asked.store, asked.source) as (_, coordinator):
        try:
            seen = _as_seen(coordinator, asked)
            if asked.paused:
                lasts = None if asked.minutes is None else timedelta(minutes=asked.minutes)
                now = coordinator.pausing.pause(by, asked.why, seen, lasts=lasts)
            else:
                now = coordinator.pausing.resume(by, asked.why, seen)
        except InvalidInputError:
            raise
        except OutcomeUnknownError:
            return PauseResult(done=False, sentence=UNKNOWN)
        except PartitionUpdateError as error:
            return PauseResult(done=False, sentence=str(error))
        except CoordinationError as error:
            _log.warning("The board could not pause or resume in the store of connection %s: %s", asked.store, error)
            raise StoreDoesNotAnswerError(asked.store) from error
        return PauseResult(done=True, sentence=f"Source {coordinator.source} was {now}.")


def _as_seen(coordinator: SourceCoordinator, asked: PauseRequest) -> Pause:
    """Return the pause that the user saw; if there has been another one since, the store refuses what names this."""
    now = coordinator.pausing.current_pause()
    return now if (now.op or "") == asked.stamp else Pause(paused=not asked.paused, op=asked.stamp or None)


def _at_stake(paused: bool, outlook: Outlook) -> str:
    seen = foreseen(outlook)
    expired = f" and {seen.expired:,} expired" if seen.expired else ""
    claimable, held = f"{seen.claimable:,} claimable{expired} partition(s)", f"{seen.held:,} held one(s)"
    if paused:
        return f"{claimable} would wait, {held} would be finished by who holds them."
    return f"{claimable} could be acquired again."
