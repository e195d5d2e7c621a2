"""One partition again: it is reset, and a run of its DAG is triggered that tries it first (docs/decisions/0159)."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.providers.common.compat.sdk import AirflowException

from airflow_coordination.board.acting import UNKNOWN, MayNotActError
from airflow_coordination.board.action_models import (
    AgainDryRunRequest,
    AgainDryRunResult,
    AgainRequest,
    AgainResult,
)
from airflow_coordination.board.models import Offer
from airflow_coordination.board.permissions import Permissions
from airflow_coordination.board.stores import StoreDoesNotAnswerError
from airflow_coordination.board.visibility import NotVisibleError, VisibleSource, coordinator_of, open_visible
from airflow_coordination.hooks.runs import UI, AirflowRuns
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.monitoring.acting import as_counted, at_stake, offered, stamp
from airflow_coordination.protocol import remedies
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.writes import Action
from airflow_coordination.values.asking import asking_for
from airflow_coordination.values.errors import OutcomeUnknownError, PartitionNotFoundError, PartitionUpdateError
from airflow_coordination.values.input_errors import CoordinationError, InvalidInputError, shown
from airflow_coordination.values.names import check_key, storable
from airflow_coordination.values.status import PartitionStatus

AGAIN: Final = "reset and run"
_DOES: Final = "Start a partition afresh, and trigger a run of its DAG, whose tasks try it first"
_RUNS: Final = AirflowRuns(UI)
_log = logging.getLogger(__name__)


class MayNotTriggerError(MayNotActError):
    """The user may change the source and not trigger runs of the DAG.

    :param dag: its id.
    """

    def __init__(self, dag: str) -> None:
        super().__init__(dag)
        self.dag = dag

    def __str__(self) -> str:
        right = "that takes the right to create runs of it. Nothing was changed"
        return f"You may act on this source and not trigger DAG {shown(self.dag)}: {right}."


@dataclass(frozen=True, slots=True)
class _Meant:
    """What is meant: the partition as it is now, and of which DAG a run would be triggered."""

    store: PartitionStore
    coordinator: SourceCoordinator
    partition: Partition
    dags: list[str]
    dag: str | None

    @property
    def conf(self) -> dict[str, Any]:
        return asking_for(self.partition.source, self.partition.key)


def offer(user: BaseUser, store: PartitionStore, seen: VisibleSource, partition: Partition) -> Offer | None:
    """Return what the user may do now; nothing to who may not act, or not trigger a run of any of the source's DAGs."""
    if not seen.may_act or Action.RESET not in offered(partition):
        return None
    permissions = Permissions(user, seen.dags)
    if not any(map(permissions.may_trigger, permissions.known)):
        return None
    shell = remedies.shell_of(store)
    typed = remedies.about(shell, Action.RESET.value, seen.identifier, partition.key, options=["--run"])
    return Offer(action=AGAIN, does=_DOES, typed=typed, final=True)


def dry_run(user: BaseUser, asked: AgainDryRunRequest) -> AgainDryRunResult:
    """Say what would happen, checking what doing it would check; nothing is changed.

    :raises NotVisibleError: when the user does not see such a source, or the partition is not there.
    :raises MayNotActError: when the user may not change the source, or not trigger a run of the DAG.
    :raises InvalidInputError: when the key is none.
    """
    with _meant(user, asked) as meant:
        return AgainDryRunResult(
            sentences=_sentences(meant),
            refusal=_refusal(meant),
            dags=meant.dags,
            dag=meant.dag,
            conf=json.dumps(meant.conf),
            stamp=stamp(meant.partition),
        )


def act(user: BaseUser, asked: AgainRequest) -> AgainResult:
    """Reset a partition as the user saw it, then trigger a run of its DAG, both in the user's own name.

    Nothing is reset where the run would be refused. If Airflow does not take it then, the answer says how to do so.

    :raises NotVisibleError: when the user does not see such a source, or the partition is not there.
    :raises MayNotActError: when the user may not change the source, or not trigger a run of the DAG.
    :raises InvalidInputError: when the key is none, or no reason is given.
    :raises StoreDoesNotAnswerError: when the store has refused nothing and done nothing.
    """
    by = user.get_name() or user.get_id()
    with _meant(user, asked) as meant:
        refusal = _refusal(meant)
        if refusal is not None or meant.dag is None:
            return AgainResult(done=False, sentence=refusal or "", dag=meant.dag)
        people = meant.coordinator.people
        try:
            seen = as_counted(meant.coordinator, Action.RESET, asked.key, asked.stamp)
            people.act(Action.RESET, seen.key, by, asked.why, seen)
        except InvalidInputError:
            raise
        except OutcomeUnknownError:
            return AgainResult(done=False, sentence=f"{UNKNOWN} No run was triggered.", dag=meant.dag)
        except (PartitionUpdateError, PartitionNotFoundError) as error:
            return AgainResult(done=False, sentence=f"{error} No run was triggered.", dag=meant.dag)
        except CoordinationError as error:
            _log.warning("The board could not reset in the store of connection %s: %s", asked.store, error)
            raise StoreDoesNotAnswerError(asked.store) from error
    return _triggered(meant.dag, meant.conf, asked.key, by)


@contextmanager
def _meant(user: BaseUser, asked: AgainDryRunRequest) -> Iterator[_Meant]:
    """Open the store at what is meant, after looking at the user's rights: the source's first, then the DAG's."""
    with open_visible(user, asked.store, asked.source) as (store, seen):
        if not seen.may_act:
            raise MayNotActError
        permissions = Permissions(user, seen.dags)
        known = permissions.known
        dag = known[0] if asked.dag is None and len(known) == 1 else asked.dag
        if dag is not None and dag in known and not permissions.may_trigger(dag):
            raise MayNotTriggerError(dag)
        coordinator = coordinator_of(user, store, seen)
        partition = coordinator.partition(check_key(asked.key))
        if partition is None:
            raise NotVisibleError
        yield _Meant(store, coordinator, partition, known, dag)


def _refusal(meant: _Meant) -> str | None:
    """Return why nothing would be reset: by its DAG, by the partition, or because the run would not get it."""
    source, partition = shown(meant.coordinator.source), meant.partition
    if not meant.dags:
        return f"Airflow knows no DAG that makes the partitions of source {source}: reset alone, and run it yourself."
    if meant.dag is None:
        return f"Several DAGs make the partitions of source {source}: choose one."
    if meant.dag not in meant.dags:
        return f"DAG {shown(meant.dag)} is none of those that make the partitions of source {source}."
    if hindrance := _RUNS.hindrance(meant.dag):
        return f"DAG {shown(meant.dag)} {hindrance}, or reset the partition alone."
    pause = meant.coordinator.pausing.current_pause()
    if pause.paused:
        return f"Source {source} was {pause}: the run would get no partition of it. Resume it, or reset alone."
    try:
        meant.coordinator.people.check_action(Action.RESET, partition)
    except CoordinationError as error:
        return str(error)
    if partition.waits_for:
        parents = ", ".join(map(shown, partition.waits_for))
        return f"Partition {shown(partition.key)} waits for {parents}: no run takes it before that has completed."
    return None


def _sentences(meant: _Meant) -> list[str]:
    """Return what would happen, and what the reset takes from whom."""
    partition, key = meant.partition, shown(meant.partition.key)
    dag = "a DAG" if meant.dag is None else f"DAG {shown(meant.dag)}"
    said = [f"Partition {key} would be reset, then a run of {dag} be triggered, whose tasks try it first."]
    if partition.status is PartitionStatus.ASSIGNED:
        said.append(f"{shown(partition.owner)} holds it and loses it; what that still writes does not count.")
    published = at_stake(meant.store, Action.RETRACT, partition)
    if published.get("datasets"):
        rows = f"{int(published['rows'] or 0):,} row(s) of {published['datasets']}"
        said.append(f"Readers keep its {rows} until the run has published others in their place.")
    else:
        said.append("It has published nothing: readers lose nothing.")
    if (released := at_stake(meant.store, Action.RESET, partition)).get("released"):
        said.append(f"What was released after it goes on: {released['named']}.")
    return said


def _triggered(dag: str, conf: dict[str, Any], key: str, by: str) -> AgainResult:
    try:
        run = _RUNS.trigger(dag, conf, by)
    except Exception as error:  # Airflow's, of many kinds; the reset is done, and what is left can be typed
        _log.warning("The board has reset a partition and could not trigger DAG %s", dag, exc_info=True)
        told = storable(error) if isinstance(error, AirflowException | ValueError) else type(error).__name__
        sentence = f"Partition {shown(key)} was reset, and DAG {shown(dag)} was not triggered: {told}"
        return AgainResult(done=True, sentence=sentence, dag=dag, typed=remedies.triggering(dag, conf))
    return AgainResult(
        done=True, sentence=f"Partition {shown(key)} was reset, and run {run} was triggered.", dag=dag, run=run
    )
