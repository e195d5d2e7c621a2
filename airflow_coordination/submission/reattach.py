"""Reattaching: a retry goes on watching over the driver elsewhere that outlived the try before, if it can.

Only when nothing is left to watch, the retry chooses as any other (:class:`~.lease_choice.Choice`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.submission.cluster_driver import ClusterDriver
from airflow_coordination.submission.task_memory import TaskMemory
from airflow_coordination.submission.tenure_book import has_begun
from airflow_coordination.submission.watch import DRIVER_GOES_ON
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.input_errors import shown

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
            lease = self._coordinator.adopt(each.key, fence)
            if lease is not None:
                self._memory.remember(each.key, fence)
                log.info("Partition %s under fence %s is adopted: its driver goes on", shown(each.key), fence)
                return lease
        return None

    def _held(self) -> list[Partition]:
        return list(self._coordinator.held_by_task())

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
