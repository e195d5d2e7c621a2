"""Actions on the board: what people do, in the name of Airflow's user, on what that user has counted."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser

from airflow_coordination.board.action_models import (
    ActionRequest,
    ActionResult,
    DryRunRequest,
    DryRunResult,
    Meant,
    Narrowing,
    OfferedAction,
    Refusal,
    Sample,
)
from airflow_coordination.board.showing.notes import view_for
from airflow_coordination.board.stores import StoreDoesNotAnswerError
from airflow_coordination.board.views import row
from airflow_coordination.board.visibility import NotVisibleError, coordinator_of, open_visible
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.monitoring import selection
from airflow_coordination.monitoring.acting import TOLD, as_counted, at_stake, each, stamp
from airflow_coordination.monitoring.selection import AT_ONCE, Filter, Selection
from airflow_coordination.planning.view.view import BranchState
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.writes import Action
from airflow_coordination.values.errors import (
    BranchError,
    OutcomeUnknownError,
    PartitionNotFoundError,
    PartitionUpdateError,
)
from airflow_coordination.values.input_errors import CoordinationError, InvalidInputError

ROWS: Final = 2_000
"""The most partitions that one request reads."""
UNKNOWN: Final = "It is not known whether this was done: the store's answer was lost. Look at it again."
_log = logging.getLogger(__name__)


class MayNotActError(Exception):
    """The user sees the source and may not change it, or may not do what it takes."""

    def __str__(self) -> str:
        return "You may look at this source and not act on it: that takes the right to edit all of its DAGs."


def dry_run(user: BaseUser, asked: DryRunRequest) -> DryRunResult:
    """Say what an action would do, checking what it would check.

    :raises NotVisibleError: when the user does not see such a source, or one of the partitions is not there.
    :raises MayNotActError: when the user may not change it.
    :raises InvalidInputError: when the request names neither partitions nor a filter, or both, or a branch for what is
        no reset.
    """
    action, told = Action(asked.action), _told(asked)
    with open_to_act(user, asked.store, asked.source) as (store, coordinator):
        found = _selected(coordinator, asked)
        matching, meant = asked.matching + found.matching, asked.meant + len(found.partitions)
        tried = list(each(found.partitions, lambda one: coordinator.people.check_action(action, one, **told)))
        refusals = [_refusal(one, error) for one, error in zip(found.partitions, tried, strict=True) if error]
        return DryRunResult(
            sentence=_sentence(coordinator.source, found, matching, meant),
            matching=matching,
            fit=len(tried) - len(refusals),
            refused=len(refusals),
            refusals=refusals[:TOLD],
            samples=_samples(store, action, found),
            meant=[Meant(key=one.key, stamp=stamp(one)) for one in found.partitions],
            after=found.after,
            locked_in=_locked_in(store, found.partitions, tried) if action is Action.RESET else None,
        )


def act(user: BaseUser, asked: ActionRequest) -> ActionResult:
    """Do something to partitions as they were counted; what is refused for one keeps no other from it.

    :raises NotVisibleError: when the user does not see such a source.
    :raises MayNotActError: when the user may not change it.
    :raises InvalidInputError: when no reason is given, or a branch for what is no reset.
    """
    told = _told(asked)
    by, action = user.get_name() or user.get_id(), Action(asked.action)
    with open_to_act(user, asked.store, asked.source) as (_, coordinator):

        def do(meant: Meant) -> None:
            seen = as_counted(coordinator, action, meant.key, meant.stamp)
            coordinator.people.act(action, seen.key, by, asked.why, seen, batch=asked.batch, **told)

        result = ActionResult(done=0, refusals=[])
        for meant, error in zip(asked.meant, each(asked.meant, do), strict=True):
            if error is None:
                result.done += 1
            elif isinstance(error, InvalidInputError):
                raise error
            elif isinstance(error, PartitionUpdateError | PartitionNotFoundError | OutcomeUnknownError):
                result.refusals.append(_refusal(meant, error))
            else:
                _log.warning("The board could not %s in the store of connection %s: %s", action, asked.store, error)
                result.problem = str(StoreDoesNotAnswerError(asked.store))
                break
        return result


@contextmanager
def open_to_act(user: BaseUser, connection: str, source: str) -> Iterator[tuple[PartitionStore, SourceCoordinator]]:
    """Open a store at a source that the user may change.

    :raises NotVisibleError: when the user does not see such a source.
    :raises MayNotActError: when the user may not change it.
    """
    with open_visible(user, connection, source) as (store, seen):
        if not seen.may_act:
            raise MayNotActError
        yield store, coordinator_of(user, store, seen)


def _told(asked: DryRunRequest | ActionRequest) -> dict[str, Any]:
    """Return what an action is told beside its partition: the branch of a reset."""
    if asked.branch is None:
        return {}
    if asked.action is not OfferedAction.RESET:
        problem = f"is named for {asked.action}, which leaves a partition in its branch"
        raise InvalidInputError("branch", asked.branch, problem, "Name a branch for a reset only")
    return {"branch": asked.branch}


def _locked_in(
    store: PartitionStore, found: Sequence[Partition], tried: Sequence[CoordinationError | None]
) -> int | None:
    """Return the branch that has begun and that all of these run in, if resetting them out of it was refused."""
    branches = {one.branch for one in found}
    if len(branches) != 1 or not all(isinstance(error, BranchError) for error in tried):
        return None
    [number] = branches
    begun = number is not None and view_for(store, found).state_of(number) is BranchState.BEGUN
    return number if begun else None


def _selected(coordinator: SourceCoordinator, asked: DryRunRequest) -> Selection:
    chosen = _filter(asked.filter or Narrowing())
    if bool(asked.keys) == bool(chosen):
        problem = "names partitions beside a filter" if chosen else "names no partition, and its filter nothing"
        raise InvalidInputError("keys", asked.keys, problem, "Name partitions, or narrow them by state, error or key")
    if chosen:
        return selection.count(coordinator, chosen, asked.after, max(0, AT_ONCE - asked.meant), ROWS)
    found = [each for key in asked.keys if (each := coordinator.partition(key))]
    if len(found) < len(asked.keys):
        raise NotVisibleError
    return Selection(found, len(found))


def _filter(narrowing: Narrowing) -> Filter:
    status = narrowing.status and str(narrowing.status)
    texts = (narrowing.error_like, narrowing.key_prefix, narrowing.owner_like, None, narrowing.error_alike)
    return Filter(status, *texts, narrowing.key_from, narrowing.key_to)


def _sentence(source: str, found: Selection, matching: int, meant: int) -> str | None:
    if not found.scope or found.after is not None:
        return None
    said = selection.sentence(source, found.scope, matching, meant)
    return f"{said}: act again for the others." if matching > meant else said


def _samples(store: PartitionStore, action: Action, found: Selection) -> list[Sample]:
    now, view = store.now(), view_for(store, found.shown)
    return [
        Sample.model_validate({**row(one, now, view).model_dump(), **at_stake(store, action, one)})
        for one in found.shown
    ]


def _refusal(of: Partition | Meant, error: CoordinationError) -> Refusal:
    return Refusal(key=of.key, reason=UNKNOWN if isinstance(error, OutcomeUnknownError) else str(error))
