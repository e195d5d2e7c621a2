"""The whole loop without Airflow: acquire, work, end, again."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final

from airflow_coordination.duties.retention.supplying import RuleList, ruled_supplier
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.explaining.wording import holder
from airflow_coordination.leases.lease import Lease
from airflow_coordination.leases.supply import Supplier
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import Outlook
from airflow_coordination.spark.balance import Balance
from airflow_coordination.spark.balanced_pool import BalancedPool
from airflow_coordination.spark.one_by_one import OneByOne
from airflow_coordination.spark.tenure import DriverContext, Ended, PartitionFunction
from airflow_coordination.spark.together.course import Together
from airflow_coordination.spark.why_ended import Why, in_words, more_exactly
from airflow_coordination.spark.worker_pool import WorkerPool
from airflow_coordination.stores.opening import open_store
from airflow_coordination.systems.objects.storage import normal_root
from airflow_coordination.systems.spark.listing import capped_listing
from airflow_coordination.systems.spark.session import check_distributions, check_output_root, share_python
from airflow_coordination.values.fence import Owner
from airflow_coordination.values.input_errors import InvalidInputError, shown
from airflow_coordination.values.settings import (
    AT_ONE_TIME,
    BALANCE_INTERVAL,
    Balancing,
    Settings,
    balancing,
    check_concurrent_leases,
    check_together,
)
from airflow_coordination.values.status import Outcome
from airflow_coordination.values.whereabouts import whereabouts

log = logging.getLogger(__name__)

EXIT_STOPPED: Final = 143
"""The exit code of a process that SIGTERM has ended, as shells say it."""
MOST_IN_VAIN: Final = 3
"""Looks in a row for something to acquire that may find nothing before the drain ends."""
LOOK_PAUSE: Final = 0.5
"""Seconds between two such looks."""
_ON_STOP: Final = ("exit", "return")
_stopped = threading.Event()
"""Set when SIGTERM has ended a drain of this process, which is to end."""
RIVAL_PAUSE = 2.0
"""Seconds between two looks whether somebody else still runs the supplier."""
Course = OneByOne | WorkerPool
StoreLike = str | Mapping[str, Any] | PartitionStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """The result of a drain, as numbers of tenures.

    :param handed_over: tenures that another worker has asked for; it goes on from what was saved.
    :param lost: tenures that somebody else ended; nothing of them counts.
    :param stolen: the same, by a worker that had asked and waited in vain; no error.
    :param stopped: whether SIGTERM ended it: nothing more was begun, and no drain begins in this process any more.
    :param why: why it took no further partition.
    :param left: what the source had when it ended; ``None`` where it was stopped, or had its limit.
    :param keys: the partitions, in the order they were worked on.
    :param errors: key and text for each failure or loss, and for what was given back because the store was not heard in
        time.
    """

    completed: int = 0
    closed: int = 0
    failed: int = 0
    given_up: int = 0
    handed_over: int = 0
    lost: int = 0
    stolen: int = 0
    stopped: bool = False
    why: Why = Why.NOTHING
    left: Outlook | None = None
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
    concurrent_leases: int = 1,
    together: int | None = None,
    balance: bool = False,
    max_leases_to_steal_at_one_time: int = AT_ONE_TIME,
    hand_over_timeout: timedelta | None = None,
    steal: bool = True,
    balance_interval: timedelta = BALANCE_INTERVAL,
    on_stop: str = "exit",
    rules: RuleList | str | None = None,
    interval_from_key: str | None = None,
) -> Drained:
    """Acquire partitions and run ``main`` for each, until nothing can be acquired or ``max_leases`` are done.

    A partition that fails does not stop the others. An interrupt gives the lease back and goes on.

    :param main: a function ``main(spark, lease)`` that returns an outcome, decorated or plain.
    :param store: a URL, a ``source_coordination`` mapping, or a store.
    :param source: the source's name.
    :param spark: the session to work with; ``None`` for a function that needs none. Then no JVM is started, and its
        blocks are Parquet.
    :param output_root: where blocks go; needed by ``lease.publish``.
    :param max_leases: how many partitions at most; ``None`` = until nothing is left.
    :param ownership_timeout: how long a lease lasts without renewal.
    :param owner: who holds the leases; by default this host and process.
    :param supplier: run when nothing can be acquired. While somebody else runs it, or has died over it, this waits.
    :param partition_prefix: the source's prefix; the store's own by default.
    :param settings: all timers and limits at once.
    :param concurrent_leases: how many partitions at a time, 32 at most, not more than ``max_leases``: ``main`` is
        called in as many threads of this session, which share its executors. The loss of one lease cancels the jobs of
        its thread only (``pyspark.InheritableThread`` passes that on to threads of its own).
    :param together: call ``main(spark, leases)`` once for all that can be had, but for so many partitions at most:
        ``leases`` is a :class:`.PartitionLeases`, which writes all their rows by one Spark job. Each lease is renewed
        and ended on its own all the same. A call that fails is made again for each half, until who fails is alone.
    :param balance: share the source evenly with other drains that have it: each is a worker that can hold
        ``concurrent_leases``, takes one lease at first and its share one look later.
        Who comes late asks those who have more (``lease.wanted``). It needs ``max_leases=None``.
    :param max_leases_to_steal_at_one_time: for so many leases it asks at a time.
    :param hand_over_timeout: so long their owners may finish what they are at; by default the ownership timeout.
    :param steal: take after that time what was not handed over. Its owner's work since its last save is done again, so
        give ``False`` where functions neither save nor look at ``lease.wanted``.
    :param balance_interval: so often it looks at the others.
    :param on_stop: SIGTERM gives all leases back and ends the drain, at work or waiting; no further drain begins in
        this process. ``exit`` then ends the process with exit code 143, so that nobody takes it for done; ``return``
        returns, with ``Drained.stopped``.
    :param rules: partitions of the supplier that these drop are not created: a list as Druid's JSON has it, or a
        dataset, whose rules of the moment hold.
    :param interval_from_key: with ``rules``: how keys tell their interval where the payload has none.
    :raises InvalidInputError: naming the argument that cannot be used; for ``partition_prefix`` also when nothing was
        found under it, and the store knows the source under another one.
    """
    _check_limit(max_leases)
    if on_stop not in _ON_STOP:
        raise InvalidInputError("on_stop", on_stop, "is not a choice", f"Give one of {', '.join(_ON_STOP)}")
    if _stopped.is_set():
        return _returned(Drained(stopped=True, why=Why.STOPPED), on_stop)
    check_concurrent_leases(concurrent_leases, max_leases)
    check_together(together, max_leases, concurrent_leases, balance=balance)
    options = balancing(
        balance,
        max_leases,
        max_leases_to_steal_at_one_time=max_leases_to_steal_at_one_time,
        hand_over_timeout=hand_over_timeout,
        steal=steal,
        balance_interval=balance_interval,
    )
    root = _looked_at(spark, output_root)
    with opened(store) as opened_store:
        coordinator = SourceCoordinator(
            opened_store,
            source,
            owner or _this_process(),
            partition_prefix,
            ownership_timeout,
            settings=settings,
        )
        if rules is not None or interval_from_key is not None:
            supplier = ruled_supplier(supplier, coordinator, rules, interval_from_key)
        driver = DriverContext(spark=spark, coordinator=coordinator, output_root=root)
        if options is not None:
            course: Course = _as_balanced_pool(main, driver, supplier, concurrent_leases, options)
        else:
            course = _course(main, driver, supplier, concurrent_leases, together, max_leases)
        try:
            with capped_listing(spark):
                endings, why, left = run_to_the_end(course, coordinator)
        finally:
            driver.renewals.end()
        if not endings and why is not Why.STOPPED:
            coordinator.looking.check_prefix()
        if (pause := coordinator.pausing.current_pause()).paused:
            log.warning("Source %s is not drained: it was %s", shown(source), pause)
        drained = _summary(endings, why, left)
    return _returned(drained, on_stop)


def _looked_at(spark: Any, output_root: str | os.PathLike[str] | None) -> str | None:
    """Make sure that session and output root can be used; return the root, normalised."""
    if spark is not None:
        check_distributions()
        share_python(spark)
    root = normal_root(output_root) if output_root is not None else None
    if root is not None:
        check_output_root(spark, root)
    return root


def run_to_the_end(course: Course, coordinator: SourceCoordinator) -> tuple[list[Ended], Why, Outlook | None]:
    """Run until nothing can be acquired, and another kind of look says so, too.

    Somebody may have given back what was looked for a moment before. Where there is something, it is looked for again,
    a few times in vain at most.

    :return: the endings, why it ended, and what is left.
    """
    endings: list[Ended] = []
    in_vain = 0
    while True:
        begun = list(course.run())
        endings += begun
        if course.why is not Why.NOTHING:
            log.info("Source %s: this drain ends because %s", shown(coordinator.source), course.why)
            return endings, course.why, None
        left = coordinator.looking.outlook()
        why = more_exactly(course.why, left)
        in_vain = 0 if begun else in_vain + 1
        if why is not Why.UNREACHED or in_vain > MOST_IN_VAIN:
            level = logging.WARNING if why is Why.UNREACHED else logging.INFO
            log.log(level, "Source %s: this drain ends because %s (%s)", shown(coordinator.source), why, in_words(left))
            return endings, why, left
        if in_vain:
            time.sleep(LOOK_PAUSE)


def _returned(drained: Drained, on_stop: str) -> Drained:
    """Return what was done; who was stopped ends the process instead, unless it has asked not to.

    :raises SystemExit: with the code of a process that SIGTERM has ended.
    """
    if not drained.stopped:
        return drained
    _stopped.set()
    if on_stop == "return":
        return drained
    log.warning("This drain was stopped by SIGTERM after %d tenure(s), and ends the process", len(drained.keys))
    raise SystemExit(EXIT_STOPPED)


def _course(
    main: PartitionFunction,
    driver: DriverContext,
    supplier: Supplier | None,
    places: int,
    together: int | None,
    max_leases: int | None,
) -> Course:
    """Return the course of a drain that shares with nobody."""
    acquire = partial(next_lease, driver.coordinator, supplier)
    if together is not None:
        at_once = driver.coordinator.get_next_partition
        return Together(main, driver, acquire, at_once, together=together, max_leases=max_leases, hears=True)
    if places == 1:
        return OneByOne(main, driver, acquire, max_leases, hears=True)
    return _as_pool(main, driver, supplier, places, max_leases)


def _as_pool(
    main: PartitionFunction, driver: DriverContext, supplier: Supplier | None, places: int, max_leases: int | None
) -> WorkerPool:
    """Return the course of several tenures at a time.

    A supplier that had nothing is run again when something was acquired, or when all tenures are over: not at the end
    of each of the last ones.
    """
    had_nothing = False

    def acquire() -> Lease | None:
        nonlocal had_nothing
        lease = next_lease(driver.coordinator, None if had_nothing and pool.busy else supplier)
        had_nothing = lease is None
        return lease

    pool = WorkerPool(main, driver, acquire, places=places, max_leases=max_leases)
    return pool


def _as_balanced_pool(
    main: PartitionFunction, driver: DriverContext, supplier: Supplier | None, places: int, options: Balancing
) -> BalancedPool:
    """Return the course of as many tenures at a time as this worker's share allows."""
    coordinator = driver.coordinator
    had_nothing = False

    def supplied() -> Lease | None:
        nonlocal had_nothing
        if had_nothing and pool.busy:
            return None
        lease = next_lease(coordinator, supplier)
        had_nothing = lease is None
        return lease

    pool = BalancedPool(
        main,
        driver,
        coordinator.get_next_partition,
        Balance(coordinator, places, options),
        places=places,
        max_leases=None,
        supplied=None if supplier is None else supplied,
    )
    return pool


def next_lease(coordinator: SourceCoordinator, supplier: Supplier | None) -> Lease | None:
    """Return the next lease, ``None`` when there is nothing to do and this is known.

    What processes of this machine have left that are gone is done now, and not once its lease has run out.

    While somebody else holds the supplier's lease nobody knows it: what they list is about to come, or, if they are
    dead, it is this process's to list once their lease is over. So this waits.
    """
    lease = coordinator.get_next_partition(supplier)
    if lease is None and coordinator.tries.gone.look():
        lease = coordinator.get_next_partition()
    told: str | None = None
    while lease is None and supplier is not None and (rival := coordinator.supplying.supplier_rival()) is not None:
        if rival.owner != told:
            log.warning(
                "Nothing can be acquired, and %s holds the lease of the supplier until %s, if it does not renew it; "
                "waiting for what it lists",
                holder(rival.owner),
                rival.ownership_timeout,
            )
            told = rival.owner
        time.sleep(RIVAL_PAUSE)
        lease = coordinator.get_next_partition(supplier)
    if lease is None and supplier is not None:
        return coordinator.get_next_partition()  # what a rival listed that ended between the two looks
    return lease


def _this_process() -> str:
    name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
    return Owner.of_process(name, whereabouts()).text


def _check_limit(value: object) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool) and value > 0
    if value is not None and not whole:
        raise InvalidInputError("max_leases", value, "is not a whole number above zero", "Give 1 or more, or None")


def _summary(endings: list[Ended], why: Why, left: Outlook | None) -> Drained:
    counts = Counter(ended.outcome for ended in endings)
    return Drained(
        completed=counts[Outcome.COMPLETED],
        closed=counts[Outcome.CLOSED],
        failed=counts[Outcome.FAILED],
        given_up=counts[Outcome.GIVEN_UP],
        handed_over=counts[Outcome.HANDED_OVER],
        lost=counts[Outcome.LOST],
        stolen=counts[Outcome.STOLEN],
        stopped=why is Why.STOPPED,
        why=why,
        left=left,
        keys=tuple(ended.key for ended in endings),
        errors=tuple(
            (ended.key, ended.message or "")
            for ended in endings
            if ended.cut or ended.outcome in (Outcome.FAILED, Outcome.LOST)
        ),
    )
