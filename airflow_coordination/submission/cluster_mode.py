"""Cluster mode: the driver runs elsewhere, the store tells of it, it outlives its task; a retry goes on watching."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from airflow.providers.common.compat.sdk import AirflowException

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.submission.cluster_driver import ClusterDriver
from airflow_coordination.submission.cluster_watch import ClusterWatch
from airflow_coordination.submission.driver_inputs import DriverInputs
from airflow_coordination.submission.spark_submit import LeasedSparkSubmitHook
from airflow_coordination.submission.task_instance import TaskMemory
from airflow_coordination.submission.tenure_book import has_begun
from airflow_coordination.submission.watch import DRIVER_GOES_ON, Watch
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.input_errors import CoordinationError, shown

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context

    from airflow_coordination.submission.spark_provider import ProviderOperator


log = logging.getLogger(__name__)

PAUSE: Final = 2.0
"""Seconds between two looks at a driver that this try does not watch over."""
LONGEST_WAIT_FOR_END: Final = 60.0
"""Seconds that a driver without a lease has to leave before the retry goes on without it."""


class Reattachment:
    """Finds the tenure that a driver elsewhere still works on.

    :param coordinator: in the name of this try.
    :param memory: what earlier tries left.
    :param driver: the driver of an earlier try, if any.
    :param pause: waits between two looks.
    """

    def __init__(
        self,
        coordinator: SourceCoordinator,
        memory: TaskMemory,
        driver: ClusterDriver,
        pause: Callable[[float], Any] = time.sleep,
    ) -> None:
        self._coordinator, self._memory, self._driver, self._pause = coordinator, memory, driver, pause

    def adopt(self, try_number: int) -> Lease | None:
        """Return the tenure to watch over to its end, ``None`` when this try chooses and submits as any other.

        :raises Exception: what the Spark provider raises when the cluster cannot be asked while a lease is held.
        """
        recalled = self._memory.recall()
        if (recalled is None and try_number == 1) or (recalled is not None and recalled["reported"]):
            self._driver.forget()
            return None
        lease = None
        if self._driver.recall():
            lease = self._of_known_driver()
        else:
            self._await_unknown_driver()
        if lease is None:
            self._driver.forget()
        return lease

    def _of_known_driver(self) -> Lease | None:
        waited, ending = 0.0, False
        while self._is_active() and waited < LONGEST_WAIT_FOR_END:
            if (lease := self._adopted(self._held())) is not None:
                return lease
            if not ending and self._was_taken():
                log.warning("Driver %s has lost its lease; it is ended before this try goes on", self._driver.name)
                self._driver.end()
                ending = True
            self._pause(PAUSE)
            waited += PAUSE
        held = self._held()
        if held and not any(map(has_begun, held)) and self._driver.has_succeeded():
            return self._adopted(held)  # it knew nothing of leases: its end is this tenure's
        return None

    def _is_active(self) -> bool:
        try:
            return self._driver.is_active()
        except Exception:  # the provider raises many kinds
            if any(self._is_running(each) for each in self._held()):
                raise
            log.warning("The cluster could not be asked for driver %s; it holds no lease", self._driver.name)
            return False

    def _await_unknown_driver(self) -> None:
        """Wait for the tenures of a driver that speaks our protocol, but whose name was lost; then choose."""
        adopted: set[str] = set()
        while held := [each for each in self._held() if has_begun(each) and self._is_running(each)]:
            new = [each for each in held if each.nonce not in adopted]
            self._adopted(new)  # once: it renews, and a dead driver's lease must run out
            adopted.update(each.nonce for each in new)
            self._pause(PAUSE)

    def _adopted(self, held: list[Partition]) -> Lease | None:
        for each in held:
            fence = Fence(each.token, each.nonce)
            lease = self._coordinator.tries.adopt(each.key, fence)
            if lease is not None:
                self._memory.remember(each.key, fence)
                log.info("Partition %s under fence %s is adopted: its driver goes on", shown(each.key), fence)
                return lease
        return None

    def _held(self) -> list[Partition]:
        return list(self._coordinator.tries.held_by_task())

    def _is_running(self, partition: Partition) -> bool:
        """Return whether the tenure's lease has not run out: its driver lives."""
        until = partition.ownership_timeout
        return until is not None and until > self._coordinator.store.now()

    def _was_taken(self) -> bool:
        """Return whether the remembered tenure was ended by somebody else."""
        recalled = self._memory.recall()
        partition = self._coordinator.partition(str(recalled["key"])) if recalled else None
        if recalled is None or partition is None:
            return True
        ending = partition.ending_of(Fence.parse(recalled["fence"]))
        return ending is None or ending.outcome not in DRIVER_GOES_ON


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
            for held in self._coordinator.tries.held_by_task():
                self._coordinator.tries.give_up_for_dead_owner(held.key, Fence(held.token, held.nonce))
        except CoordinationError as error:
            log.error("The lease could not be given back: %s", error)

    def _pause(self, seconds: float) -> None:
        if self._killed.wait(seconds):
            raise AirflowException("The task was ended while it looked after a driver of an earlier try")
