"""The watch over a driver: renews until the driver does, and ends it when its lease or its task is lost."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.submission.tenure_book import TenureBook
from airflow_coordination.values.errors import PartitionNotOwnedError
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.input_errors import CoordinationError
from airflow_coordination.values.status import Outcome

log = logging.getLogger(__name__)

_TICK: Final = 0.5
DRIVER_GOES_ON: Final = frozenset(
    {Outcome.COMPLETED, Outcome.CLOSED, Outcome.FAILED, Outcome.GIVEN_UP, Outcome.HANDED_OVER, Outcome.STOLEN}
)
"""Endings of its own, and of a lease that another worker took: it hears of that itself, and works on others."""


class SupervisorGoneError(CoordinationError):
    """The process that Airflow ran this task under is gone, so nobody hears this task any more."""

    def __str__(self) -> str:
        return "The worker process above this task has died; its work is stopped and its lease given back."


def _further_lost(error: CoordinationError) -> None:
    """Say it, and no more: the driver learns of it as it begins the tenure, and works on the others."""
    log.warning("%s", error)


class Watch:
    """A thread beside one submission. Use as a context manager around it.

    Until the driver's first report it renews the lease; then the driver does, and the watch only reads. For
    a foreign job, which never reports, it renews to the end.

    :param coordinator: in the name of the task.
    :param lease: the tenure that the task started.
    :param end_driver: ends the driver's processes.
    :param further: other tenures that the driver is to go on with at the same time.
    :param places: how many tenures it may have at a time.
    """

    def __init__(
        self,
        coordinator: SourceCoordinator,
        lease: Lease,
        end_driver: Callable[[], object],
        *,
        further: Sequence[Lease] = (),
        places: int = 1,
    ) -> None:
        self._coordinator, self._end_driver, self._places = coordinator, end_driver, places
        self._heartbeat = coordinator.heartbeat(lease, on_lost=self._lost_by_renewal)
        self._further = {each.key: coordinator.heartbeat(each, on_lost=_further_lost) for each in further}
        self._parent = os.getppid()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"watch-{lease.fence}", daemon=True)
        self.tenures = TenureBook(lease.key, lease.fence, ((each.key, each.fence) for each in further))
        """The tenures of this submission."""
        for each in (lease, *further):
            self.tenures.runs_in(each.key, each.fence, each.partition.branch)
        self.began = False
        """Whether the driver speaks our protocol: it reported that it goes on with a tenure."""
        self.lost: CoordinationError | None = None
        """Why the driver was ended from here, ``None`` if it was not."""
        self.problem: str | None = None
        """Why the driver ended by itself, for a reason that is no partition's; ``None`` unless it said so."""

    def __enter__(self) -> Watch:
        for heartbeat in (self._heartbeat, *self._further.values()):
            heartbeat.__enter__()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for heartbeat in (self._heartbeat, *self._further.values()):
            heartbeat.stop()
        self._thread.join(timeout=5)

    def driver_holds(self, key: str, fence: Fence) -> None:
        """Note that the driver works under this tenure now, and renews it."""
        self.tenures.began(key, fence)
        if not self.began:
            self.began = True
            threading.Thread(target=self._heartbeat.stop, name="stop-heartbeat", daemon=True).start()
        if key in self._further:
            threading.Thread(target=self._further[key].stop, name="stop-heartbeat", daemon=True).start()

    def _run(self) -> None:
        looked = time.monotonic()
        while self.lost is None and not self._stop.wait(_TICK):
            pause = self._pause()
            if os.getppid() != self._parent:
                self._orphaned()
            elif pause is not None and time.monotonic() - looked >= pause:
                self._look()
                looked = time.monotonic()

    def _pause(self) -> float | None:
        """Return the seconds between two looks at the store, ``None`` for no look: the renewals see as much."""
        return self._coordinator.settings.renewal_interval.total_seconds() if self.began else None

    def _orphaned(self) -> None:
        """End the driver: nobody would hear of its end."""
        self._lose(SupervisorGoneError())

    def _look(self) -> None:
        """End the driver if its tenure was ended by somebody else: it may not have noticed, or be stuck."""
        if self._places > 1:
            self._look_at_all()
            return
        key, fence = self.tenures.current
        try:
            partition = self._coordinator.partition(key)
        except Exception as error:  # none of them says that the lease is over
            log.warning("The lease of partition %a could not be looked at: %s", key, error)
            return
        if partition is None or partition.held_under(fence) or self.tenures.current != (key, fence):
            return
        ending = partition.ending_of(fence)
        if ending is None or ending.outcome not in DRIVER_GOES_ON:
            self._lose(PartitionNotOwnedError(key, fence, partition.fence, ending, partition.owner))

    def _look_at_all(self) -> None:
        """End the driver if it has lost all of its tenures; of one among several it cancels the work itself."""
        known = self.tenures.open
        try:
            if self._coordinator.tries.held_by_task():
                return
            losses = [self._loss(key, fence) for key, fence in known.items()]
        except Exception as error:  # none of them says that the leases are over
            log.warning("The leases of this task could not be looked at: %s", error)
            return
        if losses and None not in losses and self.tenures.open == known:
            self._lose(next(loss for loss in losses if loss is not None))

    def _loss(self, key: str, fence: Fence) -> CoordinationError | None:
        partition = self._coordinator.partition(key)
        ending = partition.ending_of(fence) if partition is not None else None
        if partition is None or (ending is not None and ending.outcome in DRIVER_GOES_ON):
            return None
        return PartitionNotOwnedError(key, fence, partition.fence, ending, partition.owner)

    def _lost_by_renewal(self, error: CoordinationError) -> None:
        """End the driver, unless it has ended the tenure itself and the task has not heard of it yet."""
        ending = error.ending if isinstance(error, PartitionNotOwnedError) else None
        if ending is None or ending.outcome not in DRIVER_GOES_ON:
            self._lose(error)

    def _lose(self, error: CoordinationError) -> None:
        if self.lost is None:
            self.lost = error
            log.error("%s", error)
            self._end_driver()
