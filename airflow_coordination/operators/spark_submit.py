"""The operator that processes leased partitions with spark-submit."""

from __future__ import annotations

import atexit
import inspect
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

from airflow_coordination.hooks.credentials import Driver
from airflow_coordination.hooks.delivery import deliver
from airflow_coordination.hooks.retries import DrainCutShortError
from airflow_coordination.hooks.spark_submit import LeasedSparkSubmitHook
from airflow_coordination.hooks.telemetry import lease_span
from airflow_coordination.leases import HandOver, Lease, SourceCoordinator
from airflow_coordination.leases.errors import DeploymentError, SettingsError, shown
from airflow_coordination.links.spark_ui import SparkUILink
from airflow_coordination.operators.checks import check_submission, is_foreign, warn_of_run_dates
from airflow_coordination.operators.choice import Memory
from airflow_coordination.operators.conclusion import End, report, settle
from airflow_coordination.operators.elsewhere import DriverElsewhere
from airflow_coordination.operators.here import DriverHere
from airflow_coordination.operators.labels import show_partition, tell_outlets
from airflow_coordination.operators.leasing import LeasedOperator
from airflow_coordination.operators.watch import Watch
from airflow_coordination.operators.worker import local_file
from airflow_coordination.outputs.places import check_writable
from airflow_coordination.spark import build_archive
from airflow_coordination.spark.session import check_distributions

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context

_LOOK: Final = "Look above for what spark-submit said"


class LeasedSparkSubmitOperator(LeasedOperator, SparkSubmitOperator):
    """Everything ``SparkSubmitOperator`` does, under the lease of one partition, or of several one after the other.

    The application is one of ours (a function with ``@partition_application``), which renews and ends its
    lease itself; or any jar or script, for which this task renews. A failing partition fails its task; a
    retry takes the same partition again or learns that it is done. In cluster mode the driver outlives a task
    that dies, and the retry adopts it; what may be sent there which way: :mod:`~.hooks.credentials`. Pushes how
    many tenures ended in which way, and the first partitions.

    :param complete_on_success: for jobs that know nothing of leases: exit code 0 completes the partition.
    """

    template_fields: Sequence[str] = (*SparkSubmitOperator.template_fields, *LeasedOperator.lease_fields)
    operator_extra_links = (SparkUILink(),)
    ui_color = "#e8f0fe"

    def __init__(self, *, complete_on_success: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.complete_on_success = complete_on_success
        self._killed = False
        self._driver: DriverHere | DriverElsewhere | None = None
        self.spark_ui_url = ""
        templated = {name: getattr(self, name) for name in SparkSubmitOperator.template_fields}
        warn_of_run_dates(self.task_id, self.source, templated)

    def execute(self, context: Context) -> dict[str, Any] | None:  # type: ignore[override]
        """Acquire a partition, submit the application, watch over it, and report how the partition's tenure ended.

        :return: how many tenures ended in which way, and the first partitions; ``None`` without any.
        :raises SettingsError: before anything is acquired, when the submission cannot work.
        :raises DeploymentError: when this worker cannot do it; nothing is charged, and what was acquired is free again.
        :raises PartitionFailedError: when the work failed.
        :raises PartitionNotOwnedError: when the lease was lost; nothing this task wrote counts.
        """
        check_distributions()
        self._hook = hook = self._get_hook()
        if hook.driver is not Driver.STANDALONE:  # there the node that starts the driver looks for the file
            self.application = local_file(self.application)
        check_submission(hook, self.application, self.env_vars, durable=self.durable)
        if hook.driver is Driver.HERE and (root := self.coordination.output_root(self.output_root)):
            check_writable(root)
        delivery = deliver(self.coordination.connection, hook.driver, foreign=is_foreign(self.application))
        # The no-progress watch is the driver's affair.
        coordinator = self.coordinator(context, replace(self.settings, no_progress_timeout=None))
        memory = Memory(context)
        self._driver = driver = self._driver_of(hook, coordinator, context)
        lease = self.choose(context, coordinator, memory, driver.adopt(memory, context["ti"].try_number))
        if lease is None:
            return None
        hook.call_it(self.source if self.max_leases != 1 else f"{self.source} {lease.key}")
        watch = driver.start(lease, delivery.with_tenure(self._hand_over(coordinator, lease, driver.task_pid)))
        try:
            with lease_span(context, self.source, lease):
                self._work(context, driver, coordinator, lease, watch)
        except DrainCutShortError:
            memory.forget()
            raise
        except BaseException:
            memory.remember(*watch.tenures.first_unfinished)
            raise
        memory.remember(lease.key, lease.fence, reported=True)
        return watch.tenures.summary()

    def on_kill(self) -> None:
        """End the driver and give its lease back, here or as ``execute`` unwinds."""
        self._killed = True
        if isinstance(self._hook, LeasedSparkSubmitHook):
            self._hook.stopped = True
        if self._driver is not None:
            self._driver.kill()

    def _work(
        self,
        context: Context,
        driver: DriverHere | DriverElsewhere,
        coordinator: SourceCoordinator,
        lease: Lease,
        watch: Watch,
    ) -> None:
        self.log.info("Partition %s under fence %s until %s", shown(lease.key), lease.fence, lease.expires_at)
        error: BaseException | None = None
        over = not_begun = False
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
                end = End(watch.began, stopped, error, self.complete_on_success, self._is_ours)
                not_begun = settle(coordinator, lease, watch.tenures, end)
        show_partition(context, watch.tenures.label)
        if watch.lost is not None:
            raise watch.lost from error
        if error is not None and (self._killed or not over):
            raise error
        if not_begun:
            reason = watch.problem or end.reason
            raise DeploymentError(f"Partition {shown(lease.key)} was not begun: {reason}", _LOOK) from error
        report(coordinator, watch.tenures, error, stopped=self._killed)
        if error is not None:
            self._check_drained(watch, end)
        tell_outlets(context, watch.tenures.done)

    def _check_drained(self, watch: Watch, end: End) -> None:
        """Look whether a driver that ended badly, though no tenure of it did, may have left work undone."""
        if watch.problem is not None:
            raise SettingsError(
                "application", self.application, watch.problem, "Mend it, and clear this task"
            ) from end.error
        if self.max_leases != 1:  # with one lease, all there was to do is done
            raise DrainCutShortError(len(watch.tenures.done), end.reason) from end.error

    @property
    def _is_ours(self) -> bool:
        """Whether the application begins its tenure itself; one that does not needs ``complete_on_success``."""
        return not is_foreign(self.application) and not self.complete_on_success

    def _driver_of(
        self, hook: LeasedSparkSubmitHook, coordinator: SourceCoordinator, context: Context
    ) -> DriverHere | DriverElsewhere:
        if hook.driver is Driver.HERE:
            return DriverHere(hook, coordinator, context, several=self.max_leases != 1)
        return DriverElsewhere(self, hook, coordinator, context)

    def _hand_over(self, coordinator: SourceCoordinator, lease: Lease, task_pid: int | None) -> HandOver:
        """Return the tenure for the driver."""
        return HandOver(
            source=self.source,
            partition_prefix=coordinator.partition_prefix,
            key=lease.key,
            fence=lease.fence,
            owner=coordinator.owner.text,
            settings=self.settings,
            store_id=coordinator.store.store_id,
            output_root=self.coordination.output_root(self.output_root),
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


@lru_cache(maxsize=1)
def _archive() -> str:
    """Return the path of our pure rooms as an archive, made once per process and removed with it."""
    scratch = tempfile.mkdtemp(prefix="coordination-")
    atexit.register(_remove, scratch, os.getpid())
    return str(build_archive(Path(scratch)))


def _remove(scratch: str, made_by: int) -> None:
    """Remove the archive with the process that made it; a forked child that ends leaves it alone."""
    if os.getpid() == made_by:
        shutil.rmtree(scratch, ignore_errors=True)
