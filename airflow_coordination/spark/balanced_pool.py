"""A pool that holds its fair share of a source's leases, and looks for it again and again.

What others want of its leases, each of its tenures hears by itself (``lease.wanted``), and heeds while who has asked is
alive and below its share.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace

from airflow_coordination.leases.lease import Lease
from airflow_coordination.monitoring.waiting.patience import ends_soon
from airflow_coordination.spark.balance import Balance
from airflow_coordination.spark.interruption import Interrupted
from airflow_coordination.spark.tenure import DriverContext, Ended, PartitionFunction
from airflow_coordination.spark.worker_pool import WorkerPool

log = logging.getLogger(__name__)


class BalancedPool(WorkerPool):
    """Takes free leases up to its share, at each tick and whenever a tenure ends.

    It ends when nothing can be acquired and nothing runs. While something is free that others should take, or others
    were asked for some of theirs, it stays.

    :param balance: tells how many to take.
    :param supplied: runs the supplier and returns a lease, asked when nothing is free; ``None`` without a supplier.
    :param held: returns the leases that it begins with, whatever its share is, one after the other.
    """

    def __init__(
        self,
        function: PartitionFunction,
        driver: DriverContext,
        acquire: Callable[[], Lease | None],
        balance: Balance,
        *,
        places: int,
        max_leases: int | None,
        until: float | None = None,
        supplied: Callable[[], Lease | None] | None = None,
        held: Callable[[], Lease | None] | None = None,
    ) -> None:
        driver = replace(driver, heeds=balance.heeds)
        super().__init__(function, driver, acquire, places=places, max_leases=max_leases, until=until)
        self._balance, self._supplied, self._held = balance, supplied, held
        self._were_at_work = 0

    def run(self) -> Iterator[Ended]:
        """Yield the ending of each tenure, as it comes; in the end the worker is no member any more."""
        try:
            yield from super().run()
        finally:
            self._balance.leave()

    def _fill(self) -> None:
        while self._held is not None and self._goes_on and self._begin_one(self._held):
            pass
        self._held = None
        if not (self._goes_on and self._budget.left):
            self._idle = False
            self._balance.leave()  # it takes nothing more: the others need not leave anything for it
            return
        if self._balance.next_look and len(self._at_work) >= self._were_at_work:
            return  # neither a tick, nor has a place become free
        self._idle = False
        room = self._room()
        begun = 0
        while begun < room and self._begin_one(self._acquire):
            begun += 1
        while len(self._at_work) < self._places and self._begin_one(self._balance.overdue):
            begun += 1
        if not begun and self._goes_on:
            self._begin_or_wait(room)
        self._were_at_work = len(self._at_work)

    def _room(self) -> int:
        try:
            with self._stops.searching():
                return self._balance.room(len(self._at_work))
        except Interrupted:
            return 0
        except Exception as error:  # the store's; while others run, there is another look
            if self._at_work:
                log.warning("The other workers could not be looked at: %s", error)
            else:
                self._problem = self._problem or error
            return 0

    def _begin_or_wait(self, room: int) -> None:
        """Begin what the supplier lists, where nothing is free; wait for the next look where something is, or will be.

        :param room: how many leases could have been taken.
        """
        held_back = not self._at_work and ends_soon(self._driver.coordinator)
        if held_back or (not room and self._balance.expects):
            self._idle = True
        elif not room and self._supplied is not None and self._may_follow():
            self._begin_one(self._supplied)

    def _patience(self) -> float | None:
        return self._balance.next_look

    def _patiently(self, acquire: Callable[[], Lease | None]) -> Lease | None:
        return acquire()  # a member waits by its looks: who blocks would be believed gone

    def _may_follow(self) -> bool:
        return self._balance.may_follow(len(self._at_work))

    def _hear(self) -> Ended | None:
        if self._at_work:
            return super()._hear()
        ended: Ended | None = None
        with suppress(Interrupted), self._stops.searching():  # nobody else hears of SIGTERM while nothing runs
            ended = super()._hear()
        return ended
