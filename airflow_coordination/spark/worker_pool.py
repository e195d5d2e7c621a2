"""Several tenures at a time in one Spark application, each in a thread of its own, within one budget (KCL).

The calling thread acquires, hears of SIGTERM, which Python gives to the main thread only, and yields the endings. A
member's thread goes on by itself with a partition that it acquired as it completed the one before, because nobody else
would renew that lease.
"""

from __future__ import annotations

import contextvars
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from airflow_coordination.leases.lease import Lease
from airflow_coordination.leases.outcomes import GiveUp
from airflow_coordination.monitoring.waiting.patience import patiently
from airflow_coordination.spark.interruption import Interrupted, Stopped, Stops
from airflow_coordination.spark.lease import PartitionLease
from airflow_coordination.spark.one_by_one import GivenUp, give_back_unbegun, set_aside
from airflow_coordination.spark.tenure import DriverContext, Ended, PartitionFunction, run_tenure
from airflow_coordination.spark.why_ended import Why
from airflow_coordination.systems.spark.error_text import error_text
from airflow_coordination.systems.spark.session import context_of, usable
from airflow_coordination.values.errors import DeploymentError
from airflow_coordination.values.input_errors import CoordinationError, SettingsError, shown
from airflow_coordination.values.status import Outcome


class Budget:
    """Counts the leases that a pool begins; safe under threads.

    :param max_leases: how many at most, ``None`` for all there are.
    :param until: own monotonic time after which no further lease is begun.
    """

    def __init__(self, max_leases: int | None, until: float | None) -> None:
        self._left, self._until = max_leases, until
        self._begun = False
        self._lock = threading.Lock()

    @property
    def left(self) -> bool:
        """Whether there is one more lease's worth. The first is there at any time, as for one tenure."""
        late = self._begun and self._until is not None and time.monotonic() >= self._until
        return not late and self._left != 0

    def take(self) -> bool:
        """Take one lease's worth; return whether there was one."""
        with self._lock:
            if not self.left:
                return False
            self._begun = True
            if self._left is not None:
                self._left -= 1
            return True

    def give_back(self) -> None:
        """Give back what no lease was found for."""
        with self._lock:
            if self._left is not None:
                self._left += 1


class Following:
    """The question whether a tenure that completes may acquire the next partition in the same step.

    :param budget: of the pool.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._taken = False

    def __call__(self) -> bool:
        """Take from the budget."""
        self._taken = self._budget.take()
        return self._taken

    def settle(self, *, found: bool) -> None:
        """Give back what was taken for nothing."""
        if self._taken and not found:
            self._budget.give_back()


_POOL = "spark.scheduler.pool"


def check_threads(spark: Any) -> None:
    """Refuse a Spark whose JVM has one thread for all of Python's: cancelling one tenure would cancel another's jobs.

    :raises SettingsError: naming what to leave out.
    """
    context = context_of(spark)
    if context is None:  # a Spark Connect client keeps the tags of each thread apart
        return
    if type(context._gateway).__name__ != "ClientServer":  # py4j's, which keeps the threads of both sides together
        problem = "gives all threads of Python the same thread of the JVM, so that jobs cannot be told apart"
        remedy = "Leave PYSPARK_PIN_THREAD out of the driver's environment, or give concurrent_leases=1"
        raise SettingsError("PYSPARK_PIN_THREAD", "false", problem, remedy)


def member_thread(spark: Any, place: int, work: Callable[[], object]) -> threading.Thread:
    """Return a thread, not yet started, in which ``work`` runs Spark jobs beside those of other threads.

    :param place: which of the pool's places it has; names its scheduler pool where Spark shares executors fairly.
    """
    if spark is None:
        return threading.Thread(target=work, name=f"lease-{place}", daemon=True)
    from pyspark import InheritableThread

    context = context_of(spark)

    def run() -> None:
        if context is not None:
            _enter_pool(context, place)
        work()

    session = spark if context is None else None
    thread: threading.Thread = InheritableThread(target=run, session=session, name=f"lease-{place}", daemon=True)
    return thread


def _enter_pool(context: Any, place: int) -> None:
    """Share executors between tenures, not jobs, with ``spark.scheduler.mode=FAIR``: in one pool the first job wins."""
    try:
        if context.getConf().get("spark.scheduler.mode") == "FAIR" and context.getLocalProperty(_POOL) is None:
            context.setLocalProperty(_POOL, f"lease-{place}")
    except Exception:  # the JVM is gone: the tenure finds out, and says so
        return


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _News:
    """A message from a member's thread to the calling one.

    :param place: of the member.
    :param ended: the ending of a tenure, ``None`` where the thread itself came to grief.
    :param over: whether the place is free.
    :param error: what the thread came to grief of.
    """

    place: int
    ended: Ended | None
    over: bool
    error: BaseException | None = None


class WorkerPool:
    """Runs up to ``places`` tenures at a time. The failure, or the loss, of one of them ends no other.

    What concerns the driver (a stopped session, a store that does not answer as a lease is acquired) lets no further
    tenure begin; those that run go on to their ends, and then it is raised.

    :param function: called as ``function(spark, lease)``, in several threads at a time.
    :param driver: what the tenures share. Each cancels its own jobs only, whatever ``alone`` says.
    :param acquire: returns a lease, or ``None`` when there is nothing to do; called in this thread only.
    :param places: how many tenures at a time.
    :param max_leases: how many at most, over all of them.
    :param until: own monotonic time after which no further lease is begun.
    :raises SettingsError: when this Spark cannot tell the jobs of threads apart.
    """

    def __init__(
        self,
        function: PartitionFunction,
        driver: DriverContext,
        acquire: Callable[[], Lease | None],
        *,
        places: int,
        max_leases: int | None,
        until: float | None = None,
    ) -> None:
        check_threads(driver.spark)
        self._function, self._acquire, self._places = function, acquire, places
        self._stops = Stops(driver.why_stopped)
        self._leaves_stuck = driver.on_stuck is not None
        self._driver = replace(driver, alone=False, pooled=True, within=self._stops.within)
        self._budget = Budget(max_leases, until)
        self._at_work: set[int] = set()
        self._given_up = GivenUp()
        self._news: queue.SimpleQueue[_News] = queue.SimpleQueue()
        self._no_more = False
        self._problem: BaseException | None = None
        self._idle = False
        self.left_behind = False
        """Whether a function neither came back nor let itself be interrupted: its thread is still there."""

    @property
    def stopped(self) -> BaseException | None:
        """Why all tenures were stopped, ``None`` if they were not."""
        return self._stops.reason

    @property
    def busy(self) -> bool:
        """Whether a tenure runs."""
        return bool(self._at_work)

    @property
    def why(self) -> Why:
        """Why it begins no further tenure, once :meth:`run` is over."""
        if self.stopped is not None:
            return Why.STOPPED
        if self._no_more:
            return Why.SESSION
        return Why.NOTHING if self._budget.left else Why.LIMIT

    def run(self) -> Iterator[Ended]:
        """Yield the ending of each tenure, as it comes.

        :raises DeploymentError: when a partition could not be begun; it is given back.
        :raises SettingsError: when a function has stopped the session, or publishes without a place for it.
        """
        with self._stops.heard():
            yield from self._endings()
        if self._problem is not None:
            raise self._problem

    def _endings(self) -> Iterator[Ended]:
        try:
            self._fill()
            while self._at_work or self._idle:
                ended = self._hear()
                if ended is not None:
                    yield ended
                self._fill()
        except BaseException as error:  # a key, Airflow's timeout, or whoever asked for the endings asks no more
            self._stops.ask(Stopped(type(error).__name__))
            while self._at_work:
                self._hear()
            raise

    def _fill(self) -> None:
        """Begin a tenure in each free place, as far as there is something to do."""
        while len(self._at_work) < self._places and self._goes_on and self._begin_one(self._acquire):
            pass

    def _begin_one(self, acquire: Callable[[], Lease | None]) -> bool:
        """Begin what ``acquire`` returns; say whether there was something, and leases to spend."""
        if not self._budget.take():
            return False
        lease = self._next(acquire)
        if lease is None:
            self._budget.give_back()
            return False
        self._begin(lease)
        return True

    def _patience(self) -> float | None:
        """Return for how many seconds to wait for news, ``None`` for as long as it takes."""
        return None

    def _may_follow(self) -> bool:
        """Return whether a tenure that completes may acquire the next partition in the same step."""
        return True

    def _begin(self, lease: Lease) -> None:
        place = min(set(range(self._places)) - self._at_work)
        work = partial(contextvars.copy_context().run, self._work, place, lease)
        try:
            member_thread(self._driver.spark, place, work).start()
        except Exception as error:  # its session was stopped, its JVM is gone, or there are too many threads
            problem = f"A thread for partition {shown(lease.key)} could not be started ({error_text(error)})"
            self._problem = self._problem or DeploymentError(problem, "Look in the driver's log for why")
            self._give_back(lease)
        else:
            self._at_work.add(place)

    def _give_back(self, lease: Lease) -> None:
        with suppress(CoordinationError):  # then it runs out
            self._driver.coordinator.give_up(lease)

    @property
    def _goes_on(self) -> bool:
        return self.stopped is None and self._problem is None and not self._no_more

    def _next(self, acquire: Callable[[], Lease | None]) -> Lease | None:
        """Return a lease to begin with; SIGTERM cuts the search short."""
        try:
            with self._stops.searching():
                lease = acquire() if self._at_work else self._patiently(acquire)
                while lease is not None and lease.key in self._given_up:
                    set_aside(lease, self._driver.coordinator)
                    lease = acquire()
        except Interrupted:
            if not self._at_work:
                give_back_unbegun(self._driver.coordinator)
            return None
        except Exception as error:  # the store's, or the supplier's own; those that run go on
            self._problem = self._problem or error
            return None
        if lease is not None and self.stopped is not None:
            self._give_back(lease)
            return None
        return lease

    def _patiently(self, acquire: Callable[[], Lease | None]) -> Lease | None:
        """Acquire while nothing runs: what would end now waits for a pause to be over that ends soon."""
        return acquire() or patiently(self._driver.coordinator, acquire)

    def _hear(self) -> Ended | None:
        """Wait for news of a member, and return the ending of a tenure that it tells of, if it does."""
        try:
            news = self._news.get(timeout=self._patience())
        except queue.Empty:
            return None
        if news.over:
            self._at_work.discard(news.place)
        if news.error is not None:
            log.error("A thread of this driver has failed", exc_info=news.error)
            self._problem = self._problem or news.error
        if news.ended is not None:
            self._look_at(news.ended, over=news.over)
        return news.ended

    def _look_at(self, ended: Ended, *, over: bool) -> None:
        """Decide whether further tenures may begin after this one."""
        if ended.stop is not None and not isinstance(ended.stop, Stopped):  # of the function's own making
            self._problem = self._problem or ended.stop
            self._stops.ask(Stopped(type(ended.stop).__name__))
        if ended.problem is not None:
            self._problem = self._problem or ended.problem
        if over and self.stopped is None and self._problem is None and not usable(self._driver.spark):
            self._no_more = True  # its JVM is gone or its session stopped: every further partition would fail, too
            if ended.outcome is not Outcome.FAILED:
                self._problem = _session_stopped()

    def _work(self, place: int, lease: Lease) -> None:
        """Run one tenure after the other, in the place's thread, as long as each acquires the next."""
        try:
            following: Lease | None = lease
            while following is not None:
                following = self._one(place, following)
        except BaseException as error:
            self._news.put(_News(place, None, over=True, error=error))

    def _one(self, place: int, lease: Lease) -> Lease | None:
        wants = Following(self._budget)
        driver = replace(self._driver, on_stuck=partial(self._stuck, place) if self._leaves_stuck else None)
        ended = run_tenure(
            self._call, lease, driver, fetch_next=lambda: self._goes_on and self._may_follow() and wants()
        )
        wants.settle(found=ended.following is not None)
        if ended.late:
            return None  # its place was given to another
        self._given_up.note(ended)
        following = ended.following
        if following is not None and following.key in self._given_up:
            set_aside(following, self._driver.coordinator)
            self._budget.give_back()
            following = None
        self._news.put(_News(place, ended.alone(), over=following is None))
        return following

    def _call(self, spark: Any, lease: PartitionLease) -> Any:
        if self.stopped is not None:
            return GiveUp(str(self.stopped))
        return self._function(spark, lease)

    def _stuck(self, place: int, ended: Ended) -> None:
        """Leave a thread behind whose tenure was ended in its place; the others go on."""
        log.critical("The function for partition %a does not stop; its tenure is over, its thread is left", ended.key)
        self.left_behind = True
        self._news.put(_News(place, ended, over=True))


def _session_stopped() -> SettingsError:
    problem = "was stopped by the function of one of the partitions, so that this driver takes no further one"
    return SettingsError(
        "spark", "the session", problem, "Leave spark.stop() out of the function: the driver does that"
    )
