"""One batch of tenures after the other, as one driver works them with ``together``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import nullcontext

from airflow_coordination.leases.lease import Lease
from airflow_coordination.spark.interruption import Interrupted
from airflow_coordination.spark.one_by_one import OneByOne, give_back_unbegun, set_aside
from airflow_coordination.spark.tenure import DriverContext, Ended, PartitionFunction
from airflow_coordination.spark.together.batch import Batch
from airflow_coordination.systems.spark.error_text import error_text
from airflow_coordination.values.input_errors import CoordinationError

log = logging.getLogger(__name__)


class Together(OneByOne):
    """Works through batches of leases: as many as can be had at once, ``together`` at most.

    :param function: called as ``function(spark, leases)``.
    :param driver: what the tenures share.
    :param acquire: returns the first lease of a batch, or ``None`` when there is nothing to do.
    :param more: returns one that can be had at once, or ``None``.
    :param together: how many a batch may have.
    :param max_leases: how many at most in all.
    :param until: own monotonic time after which no further lease is started.
    :param hears: take SIGTERM between two batches, too.
    """

    def __init__(
        self,
        function: PartitionFunction,
        driver: DriverContext,
        acquire: Callable[[], Lease | None],
        more: Callable[[], Lease | None],
        *,
        together: int,
        max_leases: int | None,
        until: float | None = None,
        hears: bool = False,
    ) -> None:
        super().__init__(function, driver, acquire, max_leases, until, hears=hears)
        self._more, self._together = more, together

    def _worked(self, lease: Lease) -> Iterator[Ended]:
        """Yield the endings of a batch that begins with this lease; none where it was stopped before its call."""
        self._driver.coordinator.tries.gone.look_now_and_then()
        batch = Batch(self._function, lease, self._driver, lambda: self.stopped)
        while len(batch) < self._together and self._take() and (another := self._another()) is not None:
            batch.add(another)
        if self.stopped is None:
            yield from batch.run()
            return
        batch.give_back()
        give_back_unbegun(self._driver.coordinator)  # what was just acquired as the search was cut short

    def _another(self) -> Lease | None:
        """Return a lease that can be had now, ``None`` if there is none; SIGTERM cuts the search short."""
        try:
            with nullcontext() if self._stops is None else self._stops.searching():
                lease = self._more()
                while lease is not None and lease.key in self._given_up:
                    set_aside(lease, self._driver.coordinator)
                    lease = self._more()
        except Interrupted:
            return None
        except CoordinationError as error:  # the next search says so; these go on
            log.warning("No further partition is taken together with those at hand: %s", error_text(error))
            return None
        if lease is not None and self._left is not None:
            self._left -= 1
        return lease
