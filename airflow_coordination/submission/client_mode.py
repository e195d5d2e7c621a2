"""Client mode: the driver runs on the worker, reports to its task, and ends with it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.submission.driver_inputs import DriverInputs
from airflow_coordination.submission.driver_reports import DriverReports
from airflow_coordination.submission.spark_submit import LeasedSparkSubmitHook
from airflow_coordination.submission.task_instance import TaskMemory
from airflow_coordination.submission.watch import Watch
from airflow_coordination.values.fence import Fence

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context


class ClientMode:
    """One submission.

    :param hook: submits.
    :param coordinator: in the name of the task.
    :param context: of the running try.
    :param several: whether the driver may work through more than one lease.
    :param places: under how many it may work at a time.
    """

    def __init__(
        self,
        hook: LeasedSparkSubmitHook,
        coordinator: SourceCoordinator,
        context: Context,
        *,
        several: bool,
        places: int = 1,
    ) -> None:
        self._several, self._places = several, places
        self._hook, self._coordinator, self._context = hook, coordinator, context
        self.task_pid: int | None = os.getpid()
        """The process without which the driver must not live."""

    def adopt(self, memory: TaskMemory, try_number: int) -> Lease | None:
        """Return ``None``: no driver outlives its task here."""
        return None

    def start(self, lease: Lease, inputs: DriverInputs, further: Sequence[Lease] = ()) -> Watch:
        """Prepare the submission, and return the watch over it.

        :param further: tenures that the driver is to go on with beside the first.
        """
        watch = Watch(self._coordinator, lease, self._hook.terminate, further=further, places=self._places)
        reports = DriverReports(self._context, watch, self._coordinator, several=self._several)
        self._hook.hand_over(inputs, reports)
        return watch

    def is_over(self, watch: Watch, error: BaseException | None, *, stopped: bool) -> bool:
        """End what the submission may have left; return whether the task may end the tenures in the driver's place."""
        self._hook.terminate()
        if self._several:
            for held in self._coordinator.tries.held_by_task():  # its last words may not have been heard
                watch.tenures.began(held.key, Fence(held.token, held.nonce))
        return True

    def kill(self) -> None:
        """End the driver; the lease is given back as the task unwinds."""
        self._hook.terminate()
