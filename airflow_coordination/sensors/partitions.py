"""The sensor that reopens, reclaims, and waits until partitions can be acquired or a source is completed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, NoReturn

from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowFailException,
    AirflowSkipException,
    BaseSensorOperator,
    PokeReturnValue,
)

from airflow_coordination.duties.standing import observe
from airflow_coordination.hooks.connection import DEFAULT_CONNECTION
from airflow_coordination.hooks.coordination import CoordinationHook
from airflow_coordination.hooks.identity import owner_of
from airflow_coordination.hooks.policies import give_retry_policy
from airflow_coordination.hooks.settings import sweep_interval
from airflow_coordination.hooks.text_fields import TextFields
from airflow_coordination.monitoring.waiting.conclusion import (
    Conclusion,
    OnIdle,
    OnParked,
    Until,
    Waiting,
    WaitTerms,
    WaitVerdict,
)
from airflow_coordination.monitoring.waiting.idleness import Idleness
from airflow_coordination.triggers.partitions import PartitionsTrigger
from airflow_coordination.triggers.source import most_hints
from airflow_coordination.values.input_errors import SettingsError

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context


_MEMORY: Final = "coordination_looks"


class RescheduleMemory:
    """Keeps the newest :class:`Idleness` of one try in Airflow's task state store."""

    def __init__(self, context: Context) -> None:
        self._store, self._try = context.get("task_state_store"), context["ti"].try_number

    def recall(self) -> Idleness | None:
        """Return what the look before saw, ``None`` before the first of this try."""
        found = self._store.get(_MEMORY) if self._store is not None else None
        if not isinstance(found, dict) or found.get("try") != self._try:
            return None
        return Idleness.from_json(found.get("still"))

    def remember(self, idleness: Idleness | None) -> None:
        """Keep what this look saw."""
        if self._store is not None:
            self._store.set(_MEMORY, {"try": self._try, "still": idleness.to_json() if idleness else None})


class PartitionsSensor(TextFields, BaseSensorOperator):
    """Sweeps a source at every poke: reopens what is due, reclaims what its owner lost; and waits.

    Until ``claimable`` it returns hints, short strings to expand a ``LeasedSparkSubmitOperator`` over. When nothing
    can be acquired and nothing can become so, it fails if partitions are parked, naming them, and skips otherwise.
    Until ``completed`` it fails when partitions are parked, and when work waits that nobody takes.

    :param source: the source's name. (templated)
    :param until: ``"claimable"`` or ``"completed"``.
    :param max_hints: at most so many hints; default all, capped by ``[core] max_map_length``. With tasks that drain the
        source (``max_leases=None``): how many of them there are.
    :param wait: whether to wait at all; without, it skips when nothing can be acquired now. For a DAG that a
        ``ClaimablePartitionsTrigger`` starts when something can.
    :param on_parked: ``"fail"``, or ``"ignore"``: succeed or skip as if parked partitions were completed.
    :param on_idle: until ``completed``, when work can be acquired and nobody has taken any for a few looks: ``"fail"``,
        ``"succeed"`` (a later run takes it), or ``"wait"`` (the tasks of another DAG take it).
    :param deferrable: wait in the triggerer, without a worker slot.
    :param poke_interval: time between two looks; default ``[coordination] sweep_interval``, 30 s.
    :param coordination_conn_id: the connection of the store.
    :param partition_prefix: keeps deployments that share a store apart. (templated)
    """

    template_fields: Sequence[str] = ("source", "partition_prefix")
    text_fields: Sequence[str] = template_fields
    ui_color = "#fdf3d8"

    def __init__(
        self,
        *,
        source: str,
        until: str = "claimable",
        max_hints: int | None = None,
        wait: bool = True,
        on_parked: str = "fail",
        on_idle: str = "fail",
        deferrable: bool = True,
        poke_interval: timedelta | float | None = None,
        coordination_conn_id: str = DEFAULT_CONNECTION,
        partition_prefix: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(poke_interval=sweep_interval() if poke_interval is None else poke_interval, **kwargs)
        give_retry_policy(self)
        if until not in list(Until):
            raise SettingsError("until", until, "is nothing to wait for", "Give 'claimable' or 'completed'")
        if on_parked not in list(OnParked):
            raise SettingsError("on_parked", on_parked, "is not a choice", "Give 'fail' or 'ignore'")
        if on_idle not in list(OnIdle):
            raise SettingsError("on_idle", on_idle, "is not a choice", "Give 'fail', 'succeed' or 'wait'")
        if max_hints is not None and max_hints < 1:
            raise SettingsError("max_hints", max_hints, "is not above zero", "Give 1 or more")
        self.source = source
        self.until = until
        self.max_hints = max_hints
        self.wait = wait
        self.on_parked = on_parked
        self.on_idle = on_idle
        self.deferrable = deferrable
        self.coordination_conn_id = coordination_conn_id
        self.partition_prefix = partition_prefix
        self._waiting: Waiting | None = None

    def execute(self, context: Context) -> Any:
        """Look once; then wait in the triggerer, or poke."""
        self._waiting = None
        return super().execute(context)

    def poke(self, context: Context) -> PokeReturnValue:
        """Look once, and go to the triggerer if it is to wait there: so Airflow treats a first look as any other."""
        memory = RescheduleMemory(context) if self.reschedule and not self.deferrable else None
        waiting = self._waiting = self._waiting or self._start_waiting(memory.recall() if memory else None)
        found = self._look(context, waiting)
        if memory:
            memory.remember(waiting.idleness)
        if found.verdict is WaitVerdict.WAIT:
            return self._defer() if self.deferrable else PokeReturnValue(False)
        return PokeReturnValue(True, self._conclude(found))

    def execute_complete(self, context: Context, event: dict[str, Any]) -> list[str] | None:
        """Conclude from the trigger's event."""
        return self._conclude(Conclusion.from_event(event))

    def _start_waiting(self, idleness: Idleness | None) -> Waiting:
        terms = WaitTerms(
            Until(self.until), self._most_hints(), OnParked(self.on_parked), OnIdle(self.on_idle), wait=self.wait
        )
        return Waiting(terms, idleness)

    def _look(self, context: Context, waiting: Waiting) -> Conclusion:
        coordinator = CoordinationHook(self.coordination_conn_id).coordinator(
            self.source, owner_of(context), partition_prefix=self.partition_prefix
        )
        found = waiting.conclude(observe(coordinator, waiting.terms.max_hints))
        self.log.info(found.message)
        return found

    def _most_hints(self) -> int:
        """Return how many hints there may be at most."""
        most = most_hints()
        if self.max_hints is not None and self.max_hints > most:
            self.log.warning(
                "max_hints=%d is more than Airflow maps: [core] max_map_length is %d, and so many hints there will be.",
                self.max_hints,
                most,
            )
        return min(self.max_hints or most, most)

    def _defer(self) -> NoReturn:
        self.defer(
            trigger=PartitionsTrigger(
                coordination_conn_id=self.coordination_conn_id,
                source=self.source,
                partition_prefix=self.partition_prefix,
                until=self.until,
                max_hints=self._most_hints(),
                poke_interval=self.poke_interval,
                on_parked=self.on_parked,
                on_idle=self.on_idle,
            ),
            method_name="execute_complete",
            timeout=timedelta(seconds=self.timeout),
        )

    def _conclude(self, found: Conclusion) -> list[str] | None:
        """Return the hints, or end the task as the look says."""
        if found.verdict is WaitVerdict.NOTHING:
            raise AirflowSkipException(found.message)
        if found.verdict in (WaitVerdict.PARKED, WaitVerdict.IDLE):
            raise AirflowFailException(found.message)
        if found.verdict is WaitVerdict.ERROR:
            raise AirflowException(found.message)
        self.log.info(found.message)
        return found.hints if self.until == Until.CLAIMABLE else None
