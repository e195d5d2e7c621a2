"""The supervision of one submission: from its start to the endings of its tenures, wherever its driver runs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from airflow_coordination.hooks.task_errors import DrainCutShortError
from airflow_coordination.hooks.telemetry import lease_span
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.submission.client_mode import ClientMode
from airflow_coordination.submission.cluster_mode import ClusterMode
from airflow_coordination.submission.driver_inputs import DriverInputs
from airflow_coordination.submission.finish import SubmissionEnd, finish, raise_for_endings
from airflow_coordination.submission.spark_submit import LeasedSparkSubmitHook
from airflow_coordination.submission.task_instance import TaskMemory, show_partition, tell_of_done
from airflow_coordination.submission.tenure_book import TenureBook
from airflow_coordination.submission.watch import Watch
from airflow_coordination.values.errors import DeploymentError
from airflow_coordination.values.input_errors import SettingsError, shown

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context

log = logging.getLogger(__name__)

SubmissionMode: TypeAlias = ClientMode | ClusterMode
_LOOK: Final = "Look above for what spark-submit said"


@dataclass(frozen=True, slots=True)
class Application:
    """The application of a submission, as far as its supervision must know it.

    :param path: where it is.
    :param begins: whether it begins its tenure itself: without that, the partition function was never called.
    :param complete_on_success: exit code 0 completes the partition of a job that knows nothing of leases.
    :param several: whether it may work through more than one lease.
    """

    path: str
    begins: bool
    complete_on_success: bool = False
    several: bool = False


def check_concurrency(
    places: int, application: Application, *, balanced: bool = False, together: int | None = None
) -> None:
    """Refuse several tenures at a time, or a share of the source, for an application that works on one.

    :raises SettingsError: saying what to do instead.
    """
    if application.begins or (places == 1 and not balanced and together is None):
        return
    problem = f"cannot be had with {application.path!a}, which knows nothing of leases: it works on one partition"
    remedy = "Leave it out, or submit a function with @partition_application"
    if places > 1:
        raise SettingsError("concurrent_leases", places, problem, remedy)
    if together is not None:
        raise SettingsError("together", together, problem, remedy)
    raise SettingsError("balance", balanced, problem, remedy)


@dataclass(frozen=True, slots=True)
class _Finished:
    """The state of a submission once its task has finished it.

    :param end: its end, as the task saw it.
    :param over: false if its driver goes on without this task.
    :param not_begun: its driver never began the first tenure.
    """

    end: SubmissionEnd
    over: bool
    not_begun: bool


class Supervision:
    """Watches over one submission to its end, and finishes its tenures.

    :param hook: submits.
    :param mode: where its driver runs.
    :param coordinator: in the name of the task.
    :param memory: of the task instance.
    :param application: what is submitted.
    """

    def __init__(
        self,
        hook: LeasedSparkSubmitHook,
        mode: SubmissionMode,
        coordinator: SourceCoordinator,
        memory: TaskMemory,
        application: Application,
    ) -> None:
        self._hook, self._mode, self._coordinator = hook, mode, coordinator
        self._memory, self._application = memory, application

    def run(
        self,
        context: Context,
        lease: Lease,
        inputs: DriverInputs,
        submit: Callable[[], object],
        further: Sequence[Lease] = (),
    ) -> TenureBook:
        """Submit, watch over the driver, finish, and return the tenures if all ended well.

        :param lease: the first one.
        :param inputs: for the driver, with the tenure.
        :param submit: submits, and waits for the driver's end.
        :param further: tenures that the driver is to go on with beside the first.
        :raises DeploymentError: when the driver never began; nothing is charged.
        :raises PartitionFailedError: when the work failed.
        :raises PartitionNotOwnedError: when the lease was lost.
        :raises DrainCutShortError: when the driver ended badly, though no tenure of it did.
        """
        watch = self._mode.start(lease, inputs, further)
        try:
            with lease_span(context, self._coordinator.source, lease):
                self._supervise(context, lease, watch, submit)
        except DrainCutShortError:
            self._memory.forget()
            raise
        except BaseException:
            self._memory.remember(*watch.tenures.first_unfinished)
            raise
        self._memory.remember(lease.key, lease.fence, reported=True)
        return watch.tenures

    def _supervise(self, context: Context, lease: Lease, watch: Watch, submit: Callable[[], object]) -> None:
        log.info("Partition %s under fence %s until %s", shown(lease.key), lease.fence, lease.expires_at)
        error: BaseException | None = None
        try:
            with watch:
                submit()
        except Exception as raised:
            error = raised
        except BaseException as raised:  # Airflow's own, such as a timeout
            error, self._hook.stopped = raised, True
            raise
        finally:
            finished = self._finish(lease, watch, error)
        show_partition(context, watch.tenures.label)
        self._raise_for(lease, watch, finished)
        tell_of_done(context, watch.tenures, self._coordinator)

    def _finish(self, lease: Lease, watch: Watch, error: BaseException | None) -> _Finished:
        """End the tenures that the driver left open, unless it goes on without this task."""
        application = self._application
        stopped = self._hook.stopped or watch.lost is not None
        over = self._mode.is_over(watch, error, stopped=stopped)
        end = SubmissionEnd(watch.began, stopped, error, application.complete_on_success, application.begins)
        return _Finished(end, over, over and finish(self._coordinator, lease, watch.tenures, end))

    def _raise_for(self, lease: Lease, watch: Watch, finished: _Finished) -> None:
        """Raise what the submission deserves, from what it raised itself."""
        error, stopped = finished.end.error, self._hook.stopped
        if watch.lost is not None:
            raise watch.lost from error
        if error is not None and (stopped or not finished.over):
            raise error
        if finished.not_begun:
            reason = watch.problem or finished.end.reason
            raise DeploymentError(f"Partition {shown(lease.key)} was not begun: {reason}", _LOOK) from error
        raise_for_endings(self._coordinator, watch.tenures, error, stopped=stopped)
        if error is not None:
            self._check_drained(watch, finished.end)

    def _check_drained(self, watch: Watch, end: SubmissionEnd) -> None:
        """Look whether a driver that ended badly, though no tenure of it did, may have left work undone."""
        if watch.problem is not None:
            raise SettingsError(
                "application", self._application.path, watch.problem, "Mend it, and clear this task"
            ) from end.error
        if self._application.several:  # with one lease, all there was to do is done
            raise DrainCutShortError(len(watch.tenures.done) + watch.tenures.unnamed, end.reason) from end.error
