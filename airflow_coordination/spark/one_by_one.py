"""One tenure after the other, as one driver works them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.errors import PartitionNotOwnedError, SettingsError
from airflow_coordination.leases.lease import Lease
from airflow_coordination.leases.status import Outcome
from airflow_coordination.spark.interruption import Stopped
from airflow_coordination.spark.session import usable
from airflow_coordination.spark.tenure import DriverContext, Ended, PartitionFunction, run_tenure


def work_through(
    function: PartitionFunction,
    driver: DriverContext,
    acquire: Callable[[], Lease | None],
    max_leases: int | None,
    until: float | None = None,
) -> Iterator[Ended]:
    """Yield the ending of one tenure after the other.

    :param acquire: returns a lease, or ``None`` when there is nothing to do.
    :param max_leases: how many at most.
    :param until: own monotonic time after which no further lease is started.
    :raises DeploymentError: when a partition could not be begun; it is given back.
    :raises SettingsError: when a function has stopped the session, or publishes without a place for it.
    """
    lease = acquire()
    given_up: set[str] = set()
    done = 0
    while lease is not None:
        if lease.key in given_up:
            set_aside(lease, driver.coordinator)
            lease = acquire()
            continue
        done += 1
        more = (max_leases is None or done < max_leases) and (until is None or time.monotonic() < until)
        ended = run_tenure(function, lease, driver, fetch_next=_always if more else _never)
        yield ended
        _raise_what_goes_on(ended)
        if ended.outcome is Outcome.GIVEN_UP:
            given_up.add(ended.key)
        if ended.stop is not None or not more:
            return
        if ended.following is None and not usable(driver.spark):
            if ended.outcome is Outcome.FAILED:
                return  # its JVM is gone or its session stopped: every further partition would fail, too
            raise _session_stopped(ended.key)
        lease = ended.following or acquire()


def _raise_what_goes_on(ended: Ended) -> None:
    if ended.stop is not None and not isinstance(ended.stop, Stopped):
        raise ended.stop
    if ended.problem is not None:
        raise ended.problem


def _always() -> bool:
    return True


def _never() -> bool:
    return False


def _session_stopped(key: str) -> SettingsError:
    problem = "its function has stopped the Spark session, so that this driver takes no further partition"
    return SettingsError("partition", key, problem, "Leave spark.stop() out of the function: the driver does that")


def set_aside(lease: Lease, coordinator: SourceCoordinator) -> None:
    """Give a partition back that this driver gave up before, for a while, so that the others get their turn."""
    with suppress(PartitionNotOwnedError):
        coordinator.give_up(lease, max(coordinator.settings.retry_delay, timedelta(seconds=1)))
