"""The base of every operator that works on leased partitions: its arguments, its settings, its lease."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException

from airflow_coordination.hooks.connection import DEFAULT_CONNECTION
from airflow_coordination.hooks.coordination import CoordinationHook
from airflow_coordination.hooks.identity import owner_of
from airflow_coordination.hooks.policies import give_retry_policy
from airflow_coordination.hooks.settings import time_given
from airflow_coordination.hooks.telemetry import task_stats
from airflow_coordination.hooks.text_fields import TextFields
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.protocol.pause import Pause
from airflow_coordination.sensors.partitions import PartitionsSensor
from airflow_coordination.submission.lease_choice import Done, LeaseChoice
from airflow_coordination.submission.task_instance import TaskMemory, show_partition
from airflow_coordination.values.asking import asked_for
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.names import identifier_of
from airflow_coordination.values.program import TYPED
from airflow_coordination.values.settings import (
    AT_ONE_TIME,
    BALANCE_INTERVAL,
    Settings,
    balancing,
    check_concurrent_leases,
    check_together,
    check_way_out,
)

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from airflow.sdk.definitions.context import Context


NOTHING_TO_DO: Final = "nothing to do"
PAUSED: Final = "the source is paused"


class LeasedOperator(TextFields):
    """Takes the arguments of leased work, and chooses the lease of a try. Goes before the operator that does the work.

    :param source: the source's name. (templated)
    :param hint: what to try first, from a ``PartitionsSensor``, or a partition's key; then whatever is first in
        the order. (templated)
    :param coordination_conn_id: the connection of the store.
    :param partition_prefix: keeps deployments that share a store apart. (templated)
    :param output_root: where the partition publishes its blocks; default: the connection's, the configuration's.
        (templated)
    :param max_leases: how many partitions one task may work through in one Spark application, one after the other or
        several at a time; ``None`` = until nothing is left to acquire.
    :param concurrent_leases: how many partitions it works on at a time, in as many threads of that application, which
        share its executors: 1 to 32, not more than ``max_leases``. The hint is for the first; the others take what
        comes next. A retry takes all that the try before held.
    :param together: call the function once for all that can be had, but for so many partitions at most (500): it gets
        ``leases``, a ``PartitionLeases``, and writes all their rows by one Spark job; each lease ends on its own.
        Not with ``concurrent_leases`` or ``balance``. A retry retakes one, and acquires the others again.
    :param balance: share the source evenly with other tasks that have it: take over from the dead, hand over to who
        comes late, and ask others for leases where nothing is free. It needs ``max_leases=None``.
    :param max_leases_to_steal_at_one_time: for so many leases it asks at a time.
    :param hand_over_timeout: so long their owners may finish what they are at (timedelta or seconds); by default the
        ownership timeout.
    :param steal: whether it takes after that time what was not handed over.
    :param balance_interval: so often it looks at the others (timedelta or seconds), 10 s by default.
    :param max_runtime: it starts no further one after this time (timedelta or seconds).
    :param on_empty: ``"success"`` or ``"skip"``: what a task does that finds nothing to acquire. It succeeds in any
        case where a ``PartitionsSensor`` after it would be skipped, too, by its trigger rule.
    :param on_clear: ``"explain"`` or ``"reset"``: what clearing a finished task instance does to its partition.
    :param ownership_timeout: how long a lease lasts without renewal (timedelta or seconds).
    :param reassign_grace: so much longer only the next try of this task gets the work (timedelta or seconds). Those who
        look know of it what the connection or ``[coordination]`` says.
    :param renewals_per_lease: how often it is renewed in that time, at least twice; by default ten times.
    :param max_closed_count: so many closes complete a partition.
    :param max_failures: so many failures in a row park a partition.
    :param max_lost_leases: so many leases lost in a row, without an ending, park a partition; also where a sensor
        sweeps.
    :param retry_delay_of_partition: wait after a partition's first failure; doubles each time.
    :param no_progress_timeout: work of ours that shows no progress for so long is cancelled.
    :param acknowledgment_timeout: how long one ``lease.deliver`` may take (timedelta or seconds).
    :param brake_after: so many partitions that fail one after the other of one error pause the source; 0 = never.
    :param on_negative: ``"fail"`` or ``"give up"``: what becomes of a partition when a delivery fails.
    """

    lease_fields: Sequence[str] = ("source", "hint", "partition_prefix", "output_root")
    text_fields: Sequence[str] = lease_fields

    def __init__(
        self,
        *,
        source: str,
        hint: str | None = None,
        coordination_conn_id: str = DEFAULT_CONNECTION,
        partition_prefix: str | None = None,
        output_root: str | None = None,
        max_leases: int | None = 1,
        concurrent_leases: int = 1,
        together: int | None = None,
        balance: bool = False,
        max_leases_to_steal_at_one_time: int = AT_ONE_TIME,
        hand_over_timeout: timedelta | float | None = None,
        steal: bool = True,
        balance_interval: timedelta | float = BALANCE_INTERVAL,
        max_runtime: timedelta | float | None = None,
        on_empty: str = "success",
        on_clear: str = "explain",
        ownership_timeout: timedelta | float | None = None,
        reassign_grace: timedelta | float | None = None,
        renewals_per_lease: int | None = None,
        max_closed_count: int | None = None,
        max_failures: int | None = None,
        max_lost_leases: int | None = None,
        retry_delay_of_partition: timedelta | float | None = None,
        no_progress_timeout: timedelta | float | None = None,
        acknowledgment_timeout: timedelta | float | None = None,
        brake_after: int | None = None,
        on_negative: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        give_retry_policy(self)
        self.source = source
        self.hint = hint
        self.coordination_conn_id = coordination_conn_id
        self.partition_prefix = partition_prefix
        self.output_root = output_root
        if max_leases is not None and max_leases < 1:
            remedy = "Give 1 or more, or None for all there is"
            raise SettingsError("max_leases", max_leases, "is not a whole number above zero", remedy)
        if max_leases != 1 and on_clear == "reset":
            problem = f"cannot be had with max_leases={max_leases}: a task does not remember thousands of partitions"
            raise SettingsError("on_clear", on_clear, problem, f"Use `{TYPED} reset`, or max_leases=1")
        self.max_leases = max_leases
        self.concurrent_leases = check_concurrent_leases(concurrent_leases, max_leases)
        self.together = check_together(together, max_leases, concurrent_leases, balance=balance)
        self.balancing = balancing(
            balance,
            max_leases,
            max_leases_to_steal_at_one_time=max_leases_to_steal_at_one_time,
            hand_over_timeout=time_given("hand_over_timeout", hand_over_timeout),
            steal=steal,
            balance_interval=time_given("balance_interval", balance_interval),
        )
        runtime = time_given("max_runtime", max_runtime, zero=True)  # then it is the first one's only
        self.max_runtime = None if runtime is None else runtime.total_seconds()
        self.on_empty = _one_of("on_empty", on_empty, ("success", "skip"))
        self.on_clear = _one_of("on_clear", on_clear, ("explain", "reset"))
        if on_negative is not None:
            check_way_out(on_negative)
        self._arguments = {
            "ownership_timeout": ownership_timeout,
            "reassign_grace": reassign_grace,
            "renewals_per_lease": renewals_per_lease,
            "max_closed_count": max_closed_count,
            "max_failures": max_failures,
            "max_lost_leases": max_lost_leases,
            "retry_delay": retry_delay_of_partition,
            "no_progress_timeout": no_progress_timeout,
            "acknowledgment_timeout": acknowledgment_timeout,
            "brake_after": brake_after,
            "on_negative": on_negative,
        }

    @cached_property
    def coordination(self) -> CoordinationHook:
        """The hook of the store."""
        return CoordinationHook(self.coordination_conn_id)

    @cached_property
    def settings(self) -> Settings:
        """The settings of this task: its own arguments before the connection's, the configuration's, the defaults."""
        return self.coordination.settings(self._arguments)

    def coordinator(self, context: Context, settings: Settings | None = None) -> SourceCoordinator:
        """Return the coordinator in the name of the running try, whose counts carry the tags of the task."""
        return self.coordination.coordinator(
            self.source,
            owner_of(context),
            partition_prefix=self.partition_prefix,
            settings=settings or self.settings,
            metrics=task_stats(context, self.source),
        )

    def choose(
        self, context: Context, coordinator: SourceCoordinator, memory: TaskMemory, adopted: Lease | None = None
    ) -> list[Lease]:
        """Return the leases of this try, the first shown on the grid; none when there is nothing for it to do.

        :param adopted: the lease of a driver that outlived the try before.
        :raises AirflowSkipException: when nothing can be acquired and ``on_empty="skip"``: see it.
        :raises AirflowFailException: when the source has paused itself.
        """
        run = context.get("dag_run")  # one that was triggered by reset --run says for which partition
        hint = asked_for(getattr(run, "conf", None), identifier_of(coordinator)) or self.hint
        choice = LeaseChoice(coordinator, memory, hint, self.on_clear, self.concurrent_leases, self.balancing)
        found = adopted or choice.choose(context["ti"].try_number)
        if found is None:
            coordinator.looking.check_known()  # a misspelt source has nothing to acquire either
            self._say_nothing_to_do(context, coordinator.pausing.current_pause())
            return []
        if isinstance(found, Done):
            show_partition(context, found.key)
            self.log.info(found.message)
            return []
        try:
            show_partition(context, found.key)
            memory.remember(found.key, found.fence)
        except BaseException:  # Airflow does not answer, or ends this task
            if adopted is None:
                for lease in (found, *choice.further):
                    coordinator.give_up(lease)
            raise
        return [found, *choice.further]

    def _say_nothing_to_do(self, context: Context, pause: Pause) -> None:
        show_partition(context, PAUSED if pause.paused else NOTHING_TO_DO)
        message = f"Source {self.source} has nothing to acquire now."
        if pause.paused:
            message = f"Nothing of source {self.source} is acquired: it was {pause}."
        if pause.braked:  # nobody has decided that: without a failure run after run is green, and nothing is done
            raise AirflowFailException(message)
        if self.on_empty == "skip":
            self._skip(message)
        self.log.info(message)

    def _skip(self, message: str) -> None:
        """Skip, unless that would make a run green that nobody has looked at."""
        # loads the sensor

        sensor = silenced_by(self)
        if sensor is None:
            raise AirflowSkipException(message)
        self.log.warning(
            "on_empty='skip' would skip task %r, too, which looks for parked partitions; this task succeeds instead. "
            "Leave on_empty out.",
            sensor,
        )


def _one_of(field: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise SettingsError(field, value, "is not a choice", f"Give one of {', '.join(known)}")
    return value


_RUN_AFTER_SKIPPED: Final = frozenset({"all_done", "always", "none_failed"})
"""The trigger rules with which a task runs though one before it was skipped."""


def silenced_by(task: BaseOperator) -> str | None:
    """Return the id of a sensor that Airflow would skip with ``task``, directly or through others; ``None`` if none.

    Airflow calls a run whose last task was skipped a success, whatever happened before.
    """
    return next((each.task_id for each in _skipped_with(task, set()) if _is_sensor(each)), None)


def _skipped_with(task: Any, seen: set[str]) -> Iterator[Any]:
    for each in task.downstream_list:
        if each.task_id not in seen and each.trigger_rule not in _RUN_AFTER_SKIPPED:
            seen.add(each.task_id)
            yield each
            yield from _skipped_with(each, seen)


def _is_sensor(task: Any) -> bool:
    return issubclass(task.operator_class if task.is_mapped else type(task), PartitionsSensor)
