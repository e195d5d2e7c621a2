"""The whole loop without Airflow: acquire, work, end, again."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.errors import InvalidInputError, PartitionNotOwnedError, SettingsError, shown
from airflow_coordination.leases.lease import Lease
from airflow_coordination.leases.port import PartitionStore
from airflow_coordination.leases.settings import Settings
from airflow_coordination.leases.status import Outcome
from airflow_coordination.leases.supply import Supplier
from airflow_coordination.outputs.storage import normal_root
from airflow_coordination.spark.interruption import Stopped
from airflow_coordination.spark.session import check_distributions, check_output_root, usable
from airflow_coordination.spark.tenure import DriverContext, Ended, PartitionFunction, run_tenure
from airflow_coordination.stores import open_store

log = logging.getLogger(__name__)

RIVAL_PAUSE = 2.0
"""Seconds between two looks whether somebody else still runs the supplier."""
StoreLike = str | Mapping[str, Any] | PartitionStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """The result of a drain, as numbers of tenures.

    :param lost: tenures that somebody else ended; nothing of them counts.
    :param keys: the partitions, in the order they were worked on.
    :param errors: key and text for each failure or loss.
    """

    completed: int = 0
    closed: int = 0
    failed: int = 0
    given_up: int = 0
    lost: int = 0
    keys: tuple[str, ...] = ()
    errors: tuple[tuple[str, str], ...] = ()


@contextmanager
def opened(store: StoreLike) -> Iterator[PartitionStore]:
    """Give a store: opened here from a URL or mapping, and closed again; or the given one, left open."""
    if not isinstance(store, str | Mapping):
        yield store
        return
    own = open_store(store)
    try:
        yield own
    finally:
        own.close()


def drain(
    main: PartitionFunction,
    *,
    store: StoreLike,
    source: str,
    spark: Any,
    output_root: str | os.PathLike[str] | None = None,
    max_leases: int | None = 1,
    ownership_timeout: timedelta | None = None,
    owner: str | None = None,
    supplier: Supplier | None = None,
    partition_prefix: str | None = None,
    settings: Settings | None = None,
) -> Drained:
    """Acquire partitions and run ``main`` for each, until nothing can be acquired or ``max_leases`` are done.

    A partition that fails does not stop the others. An interrupt gives the lease back and goes on.

    :param main: a function ``main(spark, lease)`` that returns an outcome, decorated or plain.
    :param store: a URL, a ``source_coordination`` mapping, or a store.
    :param source: the source's name.
    :param spark: the session to work with.
    :param output_root: where blocks go; needed by ``lease.publish``.
    :param max_leases: how many partitions at most; ``None`` = until nothing is left.
    :param ownership_timeout: how long a lease lasts without renewal.
    :param owner: who holds the leases; by default this host and process.
    :param supplier: run when nothing can be acquired. While somebody else runs it, or has died over it, this waits.
    :param partition_prefix: the source's prefix; the store's own by default.
    :param settings: all timers and limits at once.
    :raises InvalidInputError: naming the argument that cannot be used; for ``partition_prefix`` also when nothing was
        found under it, and the store knows the source under another one.
    """
    _check_limit(max_leases)
    check_distributions()
    root = normal_root(output_root) if output_root is not None else None
    if root is not None:
        check_output_root(spark, root)
    with opened(store) as opened_store:
        coordinator = SourceCoordinator(
            opened_store,
            source,
            owner or f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}",
            partition_prefix,
            ownership_timeout,
            settings=settings,
        )
        driver = DriverContext(spark=spark, coordinator=coordinator, output_root=root)
        endings = list(work_through(main, driver, lambda: next_lease(coordinator, supplier), max_leases))
        if not endings:
            coordinator.check_prefix()
        if (pause := coordinator.current_pause()).paused:
            log.warning("Source %s is not drained: it was %s", shown(source), pause)
        return _summary(endings)


def next_lease(coordinator: SourceCoordinator, supplier: Supplier | None) -> Lease | None:
    """Return the next lease, ``None`` when there is nothing to do and this is known.

    While somebody else holds the supplier's lease nobody knows it: what they list is about to come, or, if they are
    dead, it is this process's to list once their lease is over. So this waits.
    """
    lease = coordinator.get_next_partition(supplier)
    told: str | None = None
    while lease is None and supplier is not None and (rival := coordinator.supplier_rival()) is not None:
        if rival.owner != told:
            log.warning(
                "Nothing can be acquired, and %s holds the lease of the supplier until %s, if it does not renew it; "
                "waiting for what it lists",
                shown(rival.owner),
                rival.ownership_timeout,
            )
            told = rival.owner
        time.sleep(RIVAL_PAUSE)
        lease = coordinator.get_next_partition(supplier)
    if lease is None and supplier is not None:
        return coordinator.get_next_partition()  # what a rival listed that ended between the two looks
    return lease


def _check_limit(value: object) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool) and value > 0
    if value is not None and not whole:
        raise InvalidInputError("max_leases", value, "is not a whole number above zero", "Give 1 or more, or None")


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
            _set_aside(lease, driver.coordinator)
            lease = acquire()
            continue
        done += 1
        more = (max_leases is None or done < max_leases) and (until is None or time.monotonic() < until)
        ended = run_tenure(function, lease, driver, fetch_next=more)
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


def _session_stopped(key: str) -> SettingsError:
    problem = "its function has stopped the Spark session, so that this driver takes no further partition"
    return SettingsError("partition", key, problem, "Leave spark.stop() out of the function: the driver does that")


def _set_aside(lease: Lease, coordinator: SourceCoordinator) -> None:
    """Give a partition back that this driver gave up before, for a while, so that the others get their turn."""
    with suppress(PartitionNotOwnedError):
        coordinator.give_up(lease, max(coordinator.settings.retry_delay, timedelta(seconds=1)))


def _summary(endings: list[Ended]) -> Drained:
    counts = Counter(ended.outcome for ended in endings)
    return Drained(
        completed=counts[Outcome.COMPLETED],
        closed=counts[Outcome.CLOSED],
        failed=counts[Outcome.FAILED],
        given_up=counts[Outcome.GIVEN_UP],
        lost=counts[Outcome.LOST],
        keys=tuple(ended.key for ended in endings),
        errors=tuple(
            (ended.key, ended.message or "") for ended in endings if ended.outcome in (Outcome.FAILED, Outcome.LOST)
        ),
    )
