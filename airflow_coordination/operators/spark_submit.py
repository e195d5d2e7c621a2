"""The operator that processes leased partitions with spark-submit."""

from __future__ import annotations

import atexit
import inspect
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.common.compat.sdk import AirflowSkipException

from airflow_coordination.hooks.connection import DEFAULT_CONNECTION
from airflow_coordination.hooks.coordination import CoordinationHook
from airflow_coordination.hooks.credentials import Driver
from airflow_coordination.hooks.delivery import Delivery, deliver
from airflow_coordination.hooks.identity import owner_of
from airflow_coordination.hooks.retries import default_retry_policy
from airflow_coordination.hooks.spark_submit import LeasedSparkSubmitHook
from airflow_coordination.hooks.telemetry import lease_span, task_stats
from airflow_coordination.leases import HandOver, Lease, Settings, SettingsError, SourceCoordinator
from airflow_coordination.leases.errors import shown
from airflow_coordination.links.spark_ui import SparkUILink
from airflow_coordination.operators.checks import check_submission, is_foreign, warn_of_run_dates
from airflow_coordination.operators.choice import Choice, Done, Memory
from airflow_coordination.operators.conclusion import End, report, settle
from airflow_coordination.operators.elsewhere import DriverElsewhere
from airflow_coordination.operators.here import DriverHere
from airflow_coordination.operators.labels import show_partition, tell_outlets
from airflow_coordination.spark import build_archive
from airflow_coordination.spark.session import check_distributions

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context

NOTHING_TO_DO: Final = "nothing to do"


class LeasedSparkSubmitOperator(SparkSubmitOperator):
    """Everything ``SparkSubmitOperator`` does, under the lease of one partition.

    The application is one of ours (a function with ``@partition_application``), which renews and ends its
    lease itself; or any jar or script, for which this task renews. A failing partition fails its task; a
    retry takes the same partition again or learns that it is done. In cluster mode the driver outlives a task
    that dies, and the retry adopts it; what may be sent there which way: :mod:`~.hooks.credentials`.

    :param source: the source's name. (templated)
    :param hint: what to try first, from a ``PartitionsSensor``, or a partition's key; then whatever is first in
        the order. (templated)
    :param coordination_conn_id: the connection of the store.
    :param partition_prefix: keeps deployments that share a store apart. (templated)
    :param output_root: where the partition publishes its blocks; default: the connection's, the configuration's.
        (templated)
    :param complete_on_success: for jobs that know nothing of leases: exit code 0 completes the partition.
    :param max_leases: how many partitions one Spark application may work through, one after the other.
    :param max_runtime: it starts no further one after this time (timedelta or seconds).
    :param on_empty: ``"success"`` or ``"skip"``: what a task does that finds nothing to acquire.
    :param on_clear: ``"explain"`` or ``"reset"``: what clearing a finished task instance does to its partition.
    :param ownership_timeout: how long a lease lasts without renewal (timedelta or seconds).
    :param max_closed_count: so many closes complete a partition.
    :param max_failures: so many failures park a partition.
    :param max_lost_leases: so many leases lost without an ending park a partition.
    :param retry_delay_of_partition: wait after a partition's first failure; doubles each time.
    :param no_progress_timeout: work of ours that shows no progress for so long is cancelled.
    """

    template_fields: Sequence[str] = (
        *SparkSubmitOperator.template_fields,
        "source",
        "hint",
        "partition_prefix",
        "output_root",
    )
    operator_extra_links = (SparkUILink(),)
    ui_color = "#e8f0fe"

    def __init__(
        self,
        *,
        source: str,
        hint: str | None = None,
        coordination_conn_id: str = DEFAULT_CONNECTION,
        partition_prefix: str | None = None,
        output_root: str | None = None,
        complete_on_success: bool = False,
        max_leases: int = 1,
        max_runtime: timedelta | float | None = None,
        on_empty: str = "success",
        on_clear: str = "explain",
        ownership_timeout: timedelta | float | None = None,
        max_closed_count: int | None = None,
        max_failures: int | None = None,
        max_lost_leases: int | None = None,
        retry_delay_of_partition: timedelta | float | None = None,
        no_progress_timeout: timedelta | float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.retry_policy = self.retry_policy or default_retry_policy()
        self.source = source
        self.hint = hint
        self.coordination_conn_id = coordination_conn_id
        self.partition_prefix = partition_prefix
        self.output_root = output_root
        self.complete_on_success = complete_on_success
        if max_leases < 1:
            raise SettingsError("max_leases", max_leases, "is not a whole number above zero", "Give 1 or more")
        self.max_leases = max_leases
        self.max_runtime = max_runtime.total_seconds() if isinstance(max_runtime, timedelta) else max_runtime
        self.on_empty = _one_of("on_empty", on_empty, ("success", "skip"))
        self.on_clear = _one_of("on_clear", on_clear, ("explain", "reset"))
        self._arguments = {
            "ownership_timeout": ownership_timeout,
            "max_closed_count": max_closed_count,
            "max_failures": max_failures,
            "max_lost_leases": max_lost_leases,
            "retry_delay": retry_delay_of_partition,
            "no_progress_timeout": no_progress_timeout,
        }
        self._killed = False
        self._driver: DriverHere | DriverElsewhere | None = None
        self.spark_ui_url = ""
        if isinstance(source, str):
            templated = {name: getattr(self, name) for name in SparkSubmitOperator.template_fields}
            warn_of_run_dates(self.task_id, source, templated)

    def execute(self, context: Context) -> dict[str, Any] | None:  # type: ignore[override]
        """Acquire a partition, submit the application, watch over it, and report how the partition's tenure ended.

        :return: how many tenures ended in which way, and the first partitions; ``None`` without any.
        :raises SettingsError: before anything is acquired, when the submission cannot work.
        :raises PartitionFailedError: when the work failed.
        :raises PartitionNotOwnedError: when the lease was lost; nothing this task wrote counts.
        """
        check_distributions()
        self._hook = hook = self._get_hook()
        check_submission(hook, self.application, self.env_vars, durable=self.durable)
        foreign = is_foreign(self.application)
        delivery = deliver(self._coordination.connection, hook.driver, foreign=foreign)
        coordinator = self._coordinator(context)
        memory = Memory(context)
        self._driver = driver = self._driver_of(hook, coordinator, context)
        try_number = context["ti"].try_number
        found = driver.adopt(memory, try_number) or self._choice(coordinator, memory).make(try_number)
        if found is None:
            coordinator.check_known()  # a misspelt source has nothing to acquire either
            self._say_nothing_to_do(context)
            return None
        show_partition(context, found.key)
        if isinstance(found, Done):
            self.log.info(found.message)
            return None
        memory.remember(found.key, found.fence)
        handed_over = delivery.with_tenure(self._hand_over(coordinator, found, driver.task_pid))
        with lease_span(task_stats(context, self.source), found):
            summary = self._work(context, driver, coordinator, found, handed_over)
        memory.remember(found.key, found.fence, reported=True)
        return summary

    def on_kill(self) -> None:
        """End the driver and give its lease back, here or as ``execute`` unwinds."""
        self._killed = True
        if self._driver is not None:
            self._driver.kill()

    def _work(
        self,
        context: Context,
        driver: DriverHere | DriverElsewhere,
        coordinator: SourceCoordinator,
        lease: Lease,
        delivery: Delivery,
    ) -> dict[str, Any]:
        self.log.info("Partition %s under fence %s until %s", shown(lease.key), lease.fence, lease.expires_at)
        watch = driver.start(lease, delivery)
        error: BaseException | None = None
        over = False
        try:
            with watch:
                super().execute(context)
        except Exception as raised:
            error = raised
        except BaseException as raised:  # Airflow's own, such as a timeout
            error, self._killed = raised, True
            raise
        finally:
            stopped = self._killed or watch.lost is not None
            over = driver.is_over(watch, error, stopped=stopped)
            if over:
                settle(coordinator, lease, watch.tenures, End(watch.began, stopped, error, self.complete_on_success))
        if watch.lost is not None:
            raise watch.lost from error
        if error is not None and (self._killed or not over):
            raise error
        report(coordinator, watch.tenures, error, stopped=self._killed)
        tell_outlets(context, watch.tenures.done)
        return watch.tenures.summary()

    @cached_property
    def _coordination(self) -> CoordinationHook:
        return CoordinationHook(self.coordination_conn_id)

    @cached_property
    def _settings(self) -> Settings:
        return self._coordination.settings(self._arguments)

    def _coordinator(self, context: Context) -> SourceCoordinator:
        """Return the task's coordinator; the no-progress watch is the driver's affair."""
        return self._coordination.coordinator(
            self.source,
            owner_of(context),
            partition_prefix=self.partition_prefix,
            settings=replace(self._settings, no_progress_timeout=None),
            metrics=task_stats(context, self.source),
        )

    def _choice(self, coordinator: SourceCoordinator, memory: Memory) -> Choice:
        return Choice(coordinator, memory, self.hint, self.on_clear)

    def _driver_of(
        self, hook: LeasedSparkSubmitHook, coordinator: SourceCoordinator, context: Context
    ) -> DriverHere | DriverElsewhere:
        if hook.driver is Driver.HERE:
            return DriverHere(hook, coordinator, context)
        return DriverElsewhere(self, hook, coordinator, context)

    def _hand_over(self, coordinator: SourceCoordinator, lease: Lease, task_pid: int | None) -> HandOver:
        """Return the tenure for the driver."""
        return HandOver(
            source=self.source,
            partition_prefix=coordinator.partition_prefix,
            key=lease.key,
            fence=lease.fence,
            owner=coordinator.owner.text,
            settings=self._settings,
            store_id=coordinator.store.store_id,
            output_root=self._coordination.output_root(self.output_root),
            max_leases=self.max_leases,
            max_runtime=self.max_runtime,
            task_pid=task_pid,
        )

    def _get_hook(self) -> LeasedSparkSubmitHook:
        """Return the hook with this operator's arguments, each of which is an attribute of the same name."""
        names = list(inspect.signature(SparkSubmitHook.__init__).parameters)[1:]
        arguments = {name: getattr(self, name if hasattr(self, name) else f"_{name}") for name in names}
        hook = LeasedSparkSubmitHook(**arguments)
        if not is_foreign(self.application):
            hook.ship(_archive())
        return hook

    def _say_nothing_to_do(self, context: Context) -> None:
        show_partition(context, NOTHING_TO_DO)
        message = f"Source {self.source} has nothing to acquire now."
        if self.on_empty == "skip":
            raise AirflowSkipException(message)
        self.log.info(message)


@lru_cache(maxsize=1)
def _archive() -> str:
    """Return the path of our pure rooms as an archive, made once per process and removed with it."""
    scratch = tempfile.mkdtemp(prefix="coordination-")
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    return str(build_archive(Path(scratch)))


def _one_of(field: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise SettingsError(field, value, "is not a choice", f"Give one of {', '.join(known)}")
    return value
