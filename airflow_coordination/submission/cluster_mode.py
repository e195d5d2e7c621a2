"""Cluster mode: the driver runs elsewhere, the store tells of it, and it outlives its task."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from airflow.providers.common.compat.sdk import AirflowException

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.submission.cluster_driver import ClusterDriver
from airflow_coordination.submission.cluster_watch import ClusterWatch
from airflow_coordination.submission.driver_inputs import DriverInputs
from airflow_coordination.submission.reattach import Reattachment
from airflow_coordination.submission.spark_submit import LeasedSparkSubmitHook
from airflow_coordination.submission.task_memory import TaskMemory
from airflow_coordination.submission.watch import Watch
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.input_errors import CoordinationError

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context

    from airflow_coordination.submission.spark_provider import ProviderOperator

log = logging.getLogger(__name__)

TIME_TO_GIVE_BACK: Final = 3.0
"""Seconds; Airflow ends a task 5 seconds after it asked it to end."""


class ClusterMode:
    """One submission, or what is left of that of an earlier try.

    :param operator: the Spark operator, which knows how to ask its cluster.
    :param hook: submits.
    :param coordinator: in the name of the task.
    :param context: of the running try.
    :param several: whether the driver may work through more than one lease.
    :param places: under how many it may work at a time.
    """

    def __init__(
        self,
        operator: ProviderOperator,
        hook: LeasedSparkSubmitHook,
        coordinator: SourceCoordinator,
        context: Context,
        *,
        several: bool,
        places: int = 1,
    ) -> None:
        self._hook, self._coordinator = hook, coordinator
        self._several, self._places = several, places
        self._driver = ClusterDriver(operator, hook, context)
        self._killed = threading.Event()
        self.task_pid: int | None = None
        """Nothing the driver could look at."""

    def adopt(self, memory: TaskMemory, try_number: int) -> Lease | None:
        """Return the tenure of a driver that outlived the try before, ``None`` when there is none to watch over."""
        return Reattachment(self._coordinator, memory, self._driver, self._pause).adopt(try_number)

    def start(self, lease: Lease, inputs: DriverInputs, further: Sequence[Lease] = ()) -> Watch:
        """Prepare the submission, and return the watch over it.

        :param further: tenures that the driver is to go on with beside the first.
        """
        self._hook.hand_over(inputs, lambda report: None)
        return ClusterWatch(
            self._coordinator, lease, self._driver.end, several=self._several, further=further, places=self._places
        )

    def is_over(self, watch: Watch, error: BaseException | None, *, stopped: bool) -> bool:
        """Return whether the task may end the tenures in the driver's place; what it missed of them it looks up."""
        if stopped:
            self._driver.end()
        over = stopped or error is None or self._has_ended()
        if isinstance(watch, ClusterWatch) and watch.lost is None:
            watch.look()
        if not over:
            name, renews = self._driver.name, "renews its lease" if watch.began else "is renewed by nobody"
            log.warning("Driver %s goes on without this task, and %s; the next try adopts it", name, renews)
        return over

    def kill(self) -> None:
        """Have the cluster end the driver, and give back what it holds: a poll may last longer than Airflow waits."""
        self._killed.set()
        giver = threading.Thread(target=self._give_back, name="give-back", daemon=True)
        giver.start()
        self._driver.end()
        giver.join(TIME_TO_GIVE_BACK)

    def _has_ended(self) -> bool:
        if self._hook.polled and self._driver.name is not None:
            return self._driver.is_surely_over()
        self._hook.terminate()
        return not self._hook.was_interrupted

    def _give_back(self) -> None:
        try:
            for held in self._coordinator.held_by_task():
                self._coordinator.give_up_for_dead_owner(held.key, Fence(held.token, held.nonce))
        except CoordinationError as error:
            log.error("The lease could not be given back: %s", error)

    def _pause(self, seconds: float) -> None:
        if self._killed.wait(seconds):
            raise AirflowException("The task was ended while it looked after a driver of an earlier try")
