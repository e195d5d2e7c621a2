"""Work in the task's own process: one partition after the other, and what the task reports of them."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.leases.outcomes import GiveUp
from airflow_coordination.spark.balance import Balance
from airflow_coordination.spark.balanced_pool import BalancedPool
from airflow_coordination.spark.interruption import Stopped
from airflow_coordination.spark.one_by_one import OneByOne
from airflow_coordination.spark.tenure import DriverContext, Ended, PartitionFunction
from airflow_coordination.spark.together.course import Together
from airflow_coordination.spark.worker_pool import WorkerPool
from airflow_coordination.submission.driver_reports import log_report
from airflow_coordination.submission.finish import raise_for_endings
from airflow_coordination.submission.task_instance import Label, TaskMemory, tell_of_done
from airflow_coordination.submission.tenure_book import TenureBook
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.input_errors import CoordinationError, shown
from airflow_coordination.values.settings import Balancing
from airflow_coordination.values.status import Outcome

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context

log = logging.getLogger(__name__)

_KILLED: Final = "Airflow ends this task"


class InProcessReports:
    """Takes the reports of the tenures that a task works through: for the grid, the log, and its next try.

    :param context: of the task.
    :param memory: of the task instance.
    :param lease: the first one.
    :param further: others that the task goes on with at the same time.
    """

    def __init__(self, context: Context, memory: TaskMemory, lease: Lease, further: Sequence[Lease] = ()) -> None:
        self._lock = threading.Lock()
        self._context, self._memory = context, memory
        self._label = Label(context, lease.key)
        self.tenures = TenureBook(lease.key, lease.fence, ((each.key, each.fence) for each in further))
        """The tenures of this task."""

    def __call__(self, event: str, **facts: Any) -> None:
        """Take one report; tenures that run at the same time may make theirs at once."""
        with self._lock:
            log_report(event, facts)
            if event == "began":
                self._begin(facts["key"], Fence.parse(facts["fence"]), facts.get("branch"))
            elif event == "ended" and self.tenures.open.get(facts["key"]) == Fence.parse(facts["fence"]):
                how = Outcome(facts["outcome"])
                self.tenures.ended(facts["key"], how, cut=facts.get("cut", False), rows=facts.get("rows", 0))

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
        tell_of_done(self._context, self.tenures, coordinator)

    def _begin(self, key: str, fence: Fence, branch: int | None) -> None:
        self.tenures.began(key, fence)
        self.tenures.runs_in(key, fence, branch)
        self._label.show(key)


def work_in_process(
    function: Callable[[Any, Any], Any],
    driver: DriverContext,
    held: Sequence[Lease],
    *,
    places: int,
    most: int | None,
    max_runtime: float | None,
    killed: Callable[[], bool],
    balance: Balancing | None = None,
    together: int | None = None,
) -> BaseException | None:
    """Call ``function(spark, lease)`` for one partition after the other, or for several at a time.

    :param driver: what it works with.
    :param held: the leases to begin with, not more than ``places``.
    :param places: for how many partitions at a time, each in a thread of its own.
    :param most: how many partitions at most, ``None`` for all there are.
    :param max_runtime: seconds after which no further partition is begun.
    :param killed: whether Airflow ends the task: then no further function is called.
    :param balance: how it shares the source with other workers, ``None`` when it does not.
    :param together: for how many of them a function is called once, ``None`` for one at a time.
    :return: why the work was stopped, ``None`` if it was not.
    """
    leases = list(held)

    def begun() -> Lease | None:
        return leases.pop(0) if leases else None

    def another() -> Lease | None:
        return None if killed() else driver.coordinator.get_next_partition()

    def acquire() -> Lease | None:
        return begun() or another()

    def call(spark: Any, lease: Any) -> Any:
        return GiveUp(_KILLED) if killed() else function(spark, lease)

    until = None if max_runtime is None else time.monotonic() + max_runtime
    pool: WorkerPool | None = None
    if balance is not None:
        shares = Balance(driver.coordinator, places, balance)
        pool = BalancedPool(call, driver, another, shares, places=places, max_leases=most, until=until, held=begun)
    elif places > 1:
        pool = WorkerPool(call, driver, acquire, places=places, max_leases=most, until=until)
    if pool is not None:
        stopped = _as_pool(pool, driver, leases)
    else:
        stopped = _in_turn(_one_after_the_other(call, driver, acquire, together, max_leases=most, until=until))
    return stopped or (Stopped(_KILLED) if killed() else None)


def _one_after_the_other(
    call: PartitionFunction,
    driver: DriverContext,
    acquire: Callable[[], Lease | None],
    together: int | None,
    *,
    max_leases: int | None,
    until: float | None,
) -> OneByOne:
    """Return the course of one lease after the other, or of one batch of leases after the other."""
    if together is None:
        return OneByOne(call, driver, acquire, max_leases, until)
    return Together(call, driver, acquire, acquire, together=together, max_leases=max_leases, until=until)


def _in_turn(course: OneByOne) -> BaseException | None:
    """Work through one call after the other; return why the work was stopped, ``None`` if it was not."""
    stops = [ended.stop for ended in course.run()]
    return next((stop for stop in stops if stop is not None), None)


def _as_pool(pool: WorkerPool, driver: DriverContext, leases: list[Lease]) -> BaseException | None:
    """Work through several tenures at a time; return why all were stopped, ``None`` if they were not."""
    try:
        for ended in pool.run():
            log.info("Partition %s: %s", shown(ended.key), ended.outcome)
    finally:
        for lease in leases:  # of the try before; it was stopped before it came to them
            with suppress(CoordinationError):
                driver.coordinator.give_up(lease)
    return pool.stopped


def end_process(ended: Ended) -> None:
    """End the process of a task whose function neither comes back nor lets itself be interrupted."""
    log.critical(
        "The function for partition %a does not stop; its tenure is over, and this process ends now", ended.key
    )
    os._exit(1)
