"""One tenure after the other, as one driver works them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import timedelta

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.monitoring.waiting.patience import patiently
from airflow_coordination.spark.interruption import Interrupted, Stopped, Stops
from airflow_coordination.spark.tenure import DriverContext, Ended, PartitionFunction, run_tenure
from airflow_coordination.spark.why_ended import Why
from airflow_coordination.systems.spark.jobs import unmarked_at_the_end
from airflow_coordination.systems.spark.session import usable
from airflow_coordination.values.errors import PartitionNotFoundError, PartitionNotOwnedError
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.input_errors import CoordinationError, SettingsError
from airflow_coordination.values.status import Outcome


class OneByOne:
    """Works through one tenure after the other.

    :param function: the partition function.
    :param driver: what the tenures share.
    :param acquire: returns a lease, or ``None`` when there is nothing to do.
    :param max_leases: how many at most.
    :param until: own monotonic time after which no further lease is started.
    :param hears: take SIGTERM between two tenures, too: the search for a lease is cut short, and nothing more begins.
    """

    def __init__(
        self,
        function: PartitionFunction,
        driver: DriverContext,
        acquire: Callable[[], Lease | None],
        max_leases: int | None,
        until: float | None = None,
        *,
        hears: bool = False,
    ) -> None:
        self._function, self._acquire, self._until = function, acquire, until
        self._stops = Stops(driver.why_stopped) if hears else None
        self._driver = driver if self._stops is None else replace(driver, why_stopped=self._stops.asked)
        self._left = max_leases
        self._given_up = GivenUp()
        self.why = Why.NOTHING
        """Why the last run began no further tenure."""

    @property
    def stopped(self) -> BaseException | None:
        """Why no further tenure may begin, ``None`` as long as one may."""
        return self._stops.reason if self._stops is not None else None

    def run(self) -> Iterator[Ended]:
        """Yield the ending of one tenure after the other.

        :raises DeploymentError: when a partition could not be begun; it is given back.
        :raises SettingsError: when a function has stopped the session, or publishes without a place for it.
        """
        self.why = Why.NOTHING
        with nullcontext() if self._stops is None else self._stops.heard(), unmarked_at_the_end():
            lease = self._next()
            while lease is not None:
                endings: list[Ended] = []
                for ended in self._worked(lease):
                    endings.append(ended)
                    yield ended.alone()
                lease = self._after(endings)
            if self.stopped is not None:
                self.why = Why.STOPPED

    def _worked(self, lease: Lease) -> Iterator[Ended]:
        """Yield the endings of what begins with this lease."""
        yield run_tenure(self._function, lease, self._driver, fetch_next=self._take)

    def _take(self) -> bool:
        """Return whether a further tenure may begin."""
        return self._left != 0 and (self._until is None or time.monotonic() < self._until) and self.stopped is None

    def _next(self, following: Lease | None = None) -> Lease | None:
        """Return a lease to go on with, ``None`` when there is none or none may begin any more."""
        lease = following or self._search()
        while lease is not None and lease.key in self._given_up and self.stopped is None:
            set_aside(lease, self._driver.coordinator)
            lease = self._search()
        if lease is not None and self.stopped is not None:
            with suppress(CoordinationError):  # then it runs out
                self._driver.coordinator.give_up(lease)
            return None
        if lease is not None and self._left is not None:
            self._left -= 1
        return lease

    def _search(self) -> Lease | None:
        """Return what ``acquire`` finds, if not at once, when a pause is over that ends soon.

        SIGTERM cuts it short, and what was just acquired is given back.
        """
        if self._stops is None:
            return self._acquire() or patiently(self._driver.coordinator, self._acquire)
        try:
            with self._stops.searching():
                if self.stopped is not None:
                    return None
                return self._acquire() or patiently(self._driver.coordinator, self._acquire)
        except Interrupted:
            give_back_unbegun(self._driver.coordinator)
            return None

    def _after(self, endings: Sequence[Ended]) -> Lease | None:
        """Return the lease to go on with after these endings, ``None`` after the last ones; say why it was."""
        for ended in endings:
            _raise_what_goes_on(ended)
            self._given_up.note(ended)
        if not endings or any(ended.stop is not None for ended in endings):
            self.why = Why.STOPPED
            return None
        last = endings[-1]
        if last.following is None and self.stopped is None:
            if not self._take():
                self.why = Why.LIMIT
                return None
            if not usable(self._driver.spark):
                self.why = Why.SESSION
                if last.outcome is Outcome.FAILED:
                    return None  # its JVM is gone or its session stopped: every further partition would fail, too
                raise _session_stopped(last.key)
        return self._next(last.following)


class GivenUp:
    """The partitions that a driver has given up and leaves to others for a while; safe under threads.

    What was cut short, because the store was not heard in time, is tried once more: nothing is wrong with it.
    """

    def __init__(self) -> None:
        self._keys: set[str] = set()
        self._cut: set[str] = set()

    def note(self, ended: Ended) -> None:
        """Note the ending of a tenure."""
        if ended.outcome is not Outcome.GIVEN_UP:
            return
        again = ended.cut and ended.key not in self._cut
        (self._cut if again else self._keys).add(ended.key)

    def __contains__(self, key: object) -> bool:
        return key in self._keys


def give_back_unbegun(coordinator: SourceCoordinator) -> None:
    """Give back what this owner holds and has not begun: acquired as its search for a lease was cut short."""
    with suppress(CoordinationError):  # then it runs out
        for held in coordinator.tries.held_by_task():
            if held.owner == coordinator.owner.text and held.last_op == held.nonce:
                coordinator.tries.give_up_for_dead_owner(held.key, Fence(held.token, held.nonce))


def _raise_what_goes_on(ended: Ended) -> None:
    if ended.stop is not None and not isinstance(ended.stop, Stopped):
        raise ended.stop
    if ended.problem is not None:
        raise ended.problem


def _session_stopped(key: str) -> SettingsError:
    problem = "its function has stopped the Spark session, so that this driver takes no further partition"
    return SettingsError("partition", key, problem, "Leave spark.stop() out of the function: the driver does that")


def set_aside(lease: Lease, coordinator: SourceCoordinator) -> None:
    """Give a partition back that this driver gave up before, for a while, so that the others get their turn."""
    with suppress(PartitionNotOwnedError, PartitionNotFoundError):
        coordinator.give_up(lease, max(coordinator.settings.retry_delay, timedelta(seconds=1)))
