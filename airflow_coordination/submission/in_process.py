"""Work in the task's own process: one partition after the other, and what the task reports of them."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from airflow_coordination.leases import Fence, Lease, Outcome, SourceCoordinator
from airflow_coordination.spark import GiveUp
from airflow_coordination.spark.draining import work_through
from airflow_coordination.spark.interruption import Stopped
from airflow_coordination.spark.tenure import DriverContext, Ended
from airflow_coordination.submission.driver_reports import log_report
from airflow_coordination.submission.labels import Label
from airflow_coordination.submission.outlets import tell_outlets
from airflow_coordination.submission.settle import raise_for_endings
from airflow_coordination.submission.task_memory import TaskMemory
from airflow_coordination.submission.tenure_book import TenureBook

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context

log = logging.getLogger(__name__)

_KILLED: Final = "Airflow ends this task"


class InProcessReports:
    """Takes the reports of the tenures that a task works through: for the grid, the log, and its next try.

    :param context: of the task.
    :param memory: of the task instance.
    :param lease: the first one.
    """

    def __init__(self, context: Context, memory: TaskMemory, lease: Lease) -> None:
        self._context, self._memory = context, memory
        self._label = Label(context, lease.key)
        self.tenures = TenureBook(lease.key, lease.fence)
        """The tenures of this task."""

    def __call__(self, event: str, **facts: Any) -> None:
        """Take one report."""
        log_report(event, facts)
        if event == "began":
            self._begin(facts["key"], Fence.parse(facts["fence"]))
        elif event == "ended":
            self.tenures.ended(facts["key"], Outcome(facts["outcome"]))

    def conclude(self, coordinator: SourceCoordinator, stop: BaseException | None) -> None:
        """Tell Airflow how the tenures ended; raise what the first that did not end well deserves.

        :param stop: why the work was stopped, ``None`` if it was not.
        """
        try:
            raise_for_endings(coordinator, self.tenures, stop)
        except Exception:
            self._memory.remember(*self.tenures.first_unfinished)
            log.info("Ended with %s", self.tenures.summary())
            raise
        tell_outlets(self._context, self.tenures.done)

    def _begin(self, key: str, fence: Fence) -> None:
        self.tenures.began(key, fence)
        self._label.show(key)


def work_in_process(
    function: Callable[[Any, Any], Any],
    driver: DriverContext,
    first: Lease,
    *,
    most: int | None,
    max_runtime: float | None,
    killed: Callable[[], bool],
) -> BaseException | None:
    """Call ``function(spark, lease)`` for one partition after the other.

    :param driver: what it works with.
    :param first: the lease to begin with.
    :param most: how many partitions at most, ``None`` for all there are.
    :param max_runtime: seconds after which no further partition is begun.
    :param killed: whether Airflow ends the task: then no further function is called.
    :return: why the work was stopped, ``None`` if it was not.
    """
    leases = [first]

    def acquire() -> Lease | None:
        if leases:
            return leases.pop()
        return None if killed() else driver.coordinator.get_next_partition()

    def call(spark: Any, lease: Any) -> Any:
        return GiveUp(_KILLED) if killed() else function(spark, lease)

    until = None if max_runtime is None else time.monotonic() + max_runtime
    *_, last = work_through(call, driver, acquire, most, until)
    return last.stop or (Stopped(_KILLED) if killed() else None)


def end_process(ended: Ended) -> None:
    """End the process of a task whose function neither comes back nor lets itself be interrupted."""
    log.critical(
        "The function for partition %a does not stop; its tenure is over, and this process ends now", ended.key
    )
    os._exit(1)
