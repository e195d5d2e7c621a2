"""One tenure from its first renewal to its ending: calls the function and turns what it does into an ending."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.heartbeat import FirstRenewals, Heartbeat
from airflow_coordination.leases.lease import Heeds, Lease
from airflow_coordination.leases.outcomes import Close, Complete, GiveUp, PartitionOutcome, failure_of
from airflow_coordination.outputs.attempts import Measure
from airflow_coordination.outputs.formats import TextOptions
from airflow_coordination.outputs.schema_compatibility import SchemaCompatibility
from airflow_coordination.protocol.follow_up import FollowUp
from airflow_coordination.spark.interruption import (
    Interrupted,
    Interruption,
    JvmGoneError,
    Stopped,
    call_in_this_process,
    stopped,
)
from airflow_coordination.spark.lease import PartitionLease
from airflow_coordination.spark.measuring import measured
from airflow_coordination.spark.reports import Report, silent
from airflow_coordination.systems.sink import SinkNotReadyError
from airflow_coordination.systems.spark.error_text import MAX_ERROR, error_text, stack_text
from airflow_coordination.systems.spark.jobs import Jobs, jobs_of
from airflow_coordination.systems.spark.session import has_jvm, note_on_locale, usable
from airflow_coordination.values.errors import (
    BranchError,
    DeploymentError,
    NoProgressError,
    PartitionNotFoundError,
    PartitionNotOwnedError,
    PartitionUpdateError,
)
from airflow_coordination.values.input_errors import CoordinationError, InvalidInputError
from airflow_coordination.values.scrubbing import without_secrets
from airflow_coordination.values.status import Outcome

if TYPE_CHECKING:
    from airflow_coordination.protocol.follow_up import SourceAction

log = logging.getLogger(__name__)

PartitionFunction = Callable[[Any, Any], Any]
"""Called with the session and a :class:`PartitionLease`; with ``together``, with a :class:`.PartitionLeases`."""
_NO_SESSION = "Look in the driver's log for why it ended, and leave spark.stop() out of partition functions"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverContext:
    """The things that all tenures of a driver share.

    :param spark: the session; ``None`` where the function needs none.
    :param coordinator: the source's coordinator.
    :param output_root: the directory of all blocks, normalised; ``None`` if nothing is published.
    :param report: told what happens.
    :param alone: nothing else runs in this Spark application.
    :param on_stuck: called when a function that must stop does not.
    :param why_stopped: returns the reason behind a SIGTERM.
    :param pooled: other tenures run beside each of them.
    :param heeds: says whether a lease that was asked for is to be handed over, by who has asked and the partition.
    :param within: gives a context around each call of a function, with what stops it.
    """

    spark: Any
    coordinator: SourceCoordinator
    output_root: str | None = None
    report: Report = silent
    alone: bool = False
    on_stuck: Callable[[Ended], None] | None = None
    why_stopped: Callable[[], BaseException] = stopped
    pooled: bool = False
    heeds: Heeds | None = None
    within: Callable[[Interruption], AbstractContextManager[object]] = nullcontext
    renewals: FirstRenewals = field(default_factory=FirstRenewals)
    """Waits for the first renewal of each tenure."""
    compatibility: SchemaCompatibility | None = None
    """This driver's knowledge of the types in the datasets that it publishes to."""

    def __post_init__(self) -> None:
        """Start knowing nothing."""
        if self.compatibility is None:
            object.__setattr__(self, "compatibility", SchemaCompatibility(self.coordinator.store))

    def measure_in(self, file_format: str, options: TextOptions, schema: str | None) -> Measure:
        """Return a function that learns rows and columns by reading with Spark, for formats without a footer."""
        return partial(measured, self.spark, file_format, options, schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The end of a tenure.

    :param key: the partition.
    :param outcome: the kind; *lost*, or *stolen* by a worker that had asked, when this driver's ending would not count.
    :param message: why, for everything but success.
    :param following: the next lease, acquired in the same step.
    :param stop: the request to stop this driver, or the interrupt that goes on after the ending.
    :param problem: why the partition was given back without being worked on: the next one would fare no better.
    :param cut: its work was cut short because the store was not heard in time; the function decided nothing.
    :param late: it had been ended before in the place of its function, which has come back after all.
    """

    key: str
    outcome: Outcome
    message: str | None = None
    following: Lease | None = None
    stop: BaseException | None = None
    problem: CoordinationError | None = None
    cut: bool = False
    late: bool = False

    def alone(self) -> Ended:
        """Return it without the next lease: of each of a million that is what a driver keeps."""
        return self if self.following is None else replace(self, following=None)


def _no() -> bool:
    return False


def run_tenure(
    function: PartitionFunction, lease: Lease, driver: DriverContext, *, fetch_next: Callable[[], bool] = _no
) -> Ended:
    """Run ``function`` under ``lease`` and end the tenure.

    :param function: called with the session and a :class:`PartitionLease`.
    :param lease: the tenure; renewed until the function is back.
    :param driver: session, coordinator and output root.
    :param fetch_next: asked as it completes: whether to acquire the next partition in the same step.
    """
    driver.coordinator.tries.gone.look_now_and_then()
    return _Call(function, lease, driver, fetch_next).run()


@dataclass(frozen=True, slots=True)
class NotBegun:
    """In the place of what a function returned that was never called."""

    problem: CoordinationError


class Tenure:
    """The part of a tenure that is one lease's own: its renewals, what the function sees of it, and its ending.

    :param lease: the lease.
    :param driver: what the tenures share.
    :param jobs: of the function's call, whose progress keeps the lease alive.
    :param on_lost: called once with the reason when the lease is lost, in another thread.
    :param fetch_next: asked as it completes: whether to acquire the next partition in the same step.
    """

    def __init__(
        self,
        lease: Lease,
        driver: DriverContext,
        jobs: Jobs,
        on_lost: Callable[[CoordinationError], object],
        fetch_next: Callable[[], bool] = _no,
    ) -> None:
        self._lease, self._driver, self._fetch_next = lease, driver, fetch_next
        self._then: str | None = None
        self._actions: tuple[SourceAction, ...] = ()
        lease.chain.heeds = driver.heeds
        self.heartbeat = Heartbeat(
            self._renew, lease, on_lost, driver.coordinator.settings, jobs.progress, first=driver.renewals
        )
        self.seen = PartitionLease(
            driver.coordinator,
            lease,
            self.heartbeat,
            driver.output_root,
            driver.measure_in,
            driver.report,
            driver.compatibility,
        )

    @property
    def key(self) -> str:
        """The partition."""
        return self._lease.key

    @property
    def lost(self) -> CoordinationError | None:
        """Why the lease is over for this driver, ``None`` as long as it is held."""
        return self.seen.lost

    def tell_begun(self) -> None:
        """Report that the work on it begins."""
        branch = self._lease.partition.branch
        more = {} if branch is None else {"branch": branch}
        self._tell("began", owner=self._driver.coordinator.owner.text, **more)

    def allowed(self, result: object) -> object:
        """Return the outcome that the function's result may have, with what follows it noted down.

        :raises CoordinationError: when a block or a delivery does not allow a good one.
        """
        self.seen.check_no_open_block("end the tenure")
        outcome = self.seen.deliveries.allowed(result)
        if isinstance(outcome, Complete | Close):
            self.seen.check_blocks()
            self._note(outcome)
        return outcome

    def end(self, result: object, stopped: BaseException | None) -> Ended:
        """End it for what came out of the function, and report it. The heartbeat must be over: nobody else writes.

        :param result: an outcome, an exception, or :class:`NotBegun`.
        :param stopped: why the call was interrupted, ``None`` if it was not.
        """
        return self._ended(self._end(result, stopped))

    def _renew(self, lease: Lease) -> Lease:
        try:
            return self._driver.coordinator.renew(lease)
        except (PartitionNotOwnedError, PartitionNotFoundError) as error:
            self.seen.refused = error
            raise

    def _end(self, result: object, stopped: BaseException | None) -> Ended:
        """Return the ending for what came out of the function."""
        if isinstance(result, NotBegun):
            return self._not_begun(result.problem)
        if isinstance(result, SinkNotReadyError):  # perhaps that of this partition alone: the others go first
            return self._not_begun(result, max(self._driver.coordinator.settings.retry_delay, timedelta(seconds=1)))
        if isinstance(result, CoordinationError) and result is self.seen.misconfigured:
            return self._not_begun(result)
        return self._end_of_work(result, stopped)

    def _end_of_work(self, result: object, stopped: BaseException | None) -> Ended:
        reason = self.lost or stopped
        if isinstance(reason, NoProgressError):
            return self._fail(reason)
        if isinstance(reason, PartitionNotOwnedError | PartitionNotFoundError):
            return self._lost(reason)
        if isinstance(result, Complete | Close | GiveUp):
            return self._end_with(result)
        if isinstance(reason, CoordinationError):  # the store was not heard in time: only it can say what holds now
            log.error("The work on partition %r was cut short: %s", self._lease.key, reason)
            return replace(self._end_with(GiveUp(str(reason))), cut=True)
        if isinstance(reason, JvmGoneError):
            return self._fail(reason, reason)
        if isinstance(reason, Stopped):
            return self._give_up(GiveUp(str(reason)), reason)
        if isinstance(result, BaseException) and not isinstance(result, Exception | SystemExit):
            # interrupted from outside: a key, Airflow's timeout, or our own interruption
            return self._give_up(GiveUp(type(result).__name__), result)
        return self._fail(failure_of(result))

    def _not_begun(self, problem: CoordinationError, retry_after: timedelta | None = None) -> Ended:
        """Give the partition back: what failed is not its work.

        :param retry_after: so long the others go first.
        """
        return replace(self._give_up(GiveUp(str(problem), retry_after), None), problem=problem)

    def _end_with(self, outcome: PartitionOutcome) -> Ended:
        try:
            return self._apply(outcome)
        except (InvalidInputError, PartitionUpdateError) as error:
            return self._fail(error)
        except (PartitionNotOwnedError, PartitionNotFoundError) as error:
            return self._lost(error)
        except CoordinationError as error:
            if self._lease.ending is not None:  # it is ended; only the next partition could not be acquired
                return Ended(key=self._lease.key, outcome=self._lease.ending.outcome)
            return self._lost(error)

    def _apply(self, outcome: PartitionOutcome) -> Ended:
        coordinator, lease, blocks = self._driver.coordinator, self._lease, self.seen.blocks
        counted = self.seen.deliveries.counted
        if isinstance(outcome, GiveUp):
            return self._give_up(outcome, None)
        if isinstance(outcome, Close):
            coordinator.close(lease, outcome.reopen_after, outcome.state, blocks, counted, self._then, outcome.interval)
            self._follow_up()
            ended = lease.ending.outcome if lease.ending else Outcome.CLOSED
            return Ended(key=lease.key, outcome=ended)
        following, said = None, outcome.interval
        # Nobody would renew the next lease during what follows this one; and the function may have stopped the session.
        if self._fetch_next() and self._then is None and usable(self._driver.spark):
            following = coordinator.complete_and_get_next(lease, blocks, counted=counted, interval=said)
        else:
            coordinator.complete(lease, blocks, counted, self._then, said)
            self._follow_up()
        return Ended(key=lease.key, outcome=Outcome.COMPLETED, following=following)

    def _note(self, outcome: Complete | Close) -> None:
        """Write down what follows the ending, while the lease is renewed: that may take a look at many objects."""
        if outcome.then is not None and not self.seen.leaves_out_notes():
            from airflow_coordination.duties.follow_ups import note_of, pinned

            ended = self._lease.chain.partition
            self._actions = pinned(outcome.then, ended)
            self._then = note_of(self._actions, ended, self._lease.fence, self._driver.output_root)

    def _follow_up(self) -> None:
        """Do what follows the ending, which counts in any case: what is not done now is done later.

        What is done is what this driver's function has said, not what the store says of it.
        """
        lease = self._lease
        if self._then is None or lease.ending is None:
            return
        from airflow_coordination.duties.follow_ups import follow_up

        note = FollowUp(lease.partition.source, lease.key, lease.fence.token, lease.ending.op, self._then)
        try:
            follow_up(self._driver.coordinator, note, self._actions)
        except Exception as error:
            log.warning("Partition %r has ended, and what follows is left for later: %s", lease.key, error_text(error))

    def _give_up(self, outcome: GiveUp, stop: BaseException | None) -> Ended:
        wanted = self._lease.wanted and outcome.retry_after is None and stop is None
        try:
            if wanted:
                self._driver.coordinator.workers.hand_over(self._lease)
            else:
                self._driver.coordinator.give_up(self._lease, outcome.retry_after)
        except CoordinationError as error:
            return self._lost(error, stop)
        ended = Outcome.HANDED_OVER if wanted else Outcome.GIVEN_UP
        message = without_secrets(str(outcome.reason))[:MAX_ERROR]
        return Ended(key=self._lease.key, outcome=ended, message=message, stop=stop)

    def _fail(self, error: BaseException, stop: BaseException | None = None) -> Ended:
        text = error_text(error) + note_on_locale(self._driver.spark, self._lease.partition)
        try:
            self._driver.coordinator.fail(self._lease, text, park=isinstance(error, BranchError))
        except CoordinationError as refusal:
            return self._lost(refusal, stop)
        finally:  # after the ending: whatever the log does with it, the partition has its error
            log.error("Partition %r failed: %s", self._lease.key, stack_text(error))
        self.seen.parking.follow()
        return Ended(key=self._lease.key, outcome=Outcome.FAILED, message=text, stop=stop)

    def _lost(self, error: CoordinationError, stop: BaseException | None = None) -> Ended:
        if isinstance(error, PartitionNotOwnedError | PartitionNotFoundError):
            self._tell("refused", message=str(error))
        ending = error.ending if isinstance(error, PartitionNotOwnedError) else None
        stolen = ending is not None and ending.outcome is Outcome.STOLEN
        return Ended(
            key=self._lease.key, outcome=Outcome.STOLEN if stolen else Outcome.LOST, message=str(error), stop=stop
        )

    def _ended(self, ended: Ended) -> Ended:
        more: dict[str, Any] = {"cut": True} if ended.cut else {}
        rows = sum(each.rows for each in self.seen.manifests)
        if rows and ended.outcome in (Outcome.COMPLETED, Outcome.CLOSED):
            more["rows"] = rows
        self._tell("ended", outcome=str(ended.outcome), message=ended.message, **more)
        return ended

    def _tell(self, event: str, **facts: Any) -> None:
        self._driver.report(event, key=self._lease.key, fence=str(self._lease.fence), **facts)


class _Call:
    """One call of a function under one lease."""

    def __init__(
        self, function: PartitionFunction, lease: Lease, driver: DriverContext, fetch_next: Callable[[], bool]
    ) -> None:
        self._function, self._key, self._driver = function, lease.key, driver
        self._over: Ended | None = None
        self._ending = threading.Lock()
        self._jobs = jobs_of(driver.spark, lease.fence, alone=driver.alone, pooled=driver.pooled)
        stuck = self._stuck if driver.on_stuck else None
        self._interruption = Interruption(self._jobs.cancel, stuck, driver.why_stopped)
        self._tenure = Tenure(lease, driver, self._jobs, self._interruption.request, fetch_next)

    def run(self) -> Ended:
        self._tenure.tell_begun()
        result, goes_on = self._call(), False
        self._jobs.over()
        try:
            with self._ending:
                if self._over is not None:
                    return replace(self._over, late=True)
                self._over = self._tenure.end(result, self._interruption.reason)
                goes_on = self._over.following is not None
                return self._over
        finally:
            if not goes_on:  # else the tenure that follows in this thread marks its own jobs instead
                self._jobs.unmark()

    def _call(self) -> object:
        """Return the function's result, or its exception."""
        try:
            self._jobs.mark(f"partition {self._key!a}")
        except Exception as error:  # its session was stopped, or its JVM is gone
            return no_session(error)
        try:
            with self._driver.within(self._interruption), self._tenure.heartbeat, self._interruption:
                work = partial(call_in_this_process, self._function, self._driver.spark, self._tenure.seen)
                result = self._interruption.call(work, lambda: not self._driver.alone or has_jvm(self._driver.spark))
                return self._tenure.allowed(result)
        except (Interrupted, KeyboardInterrupt) as error:
            return type(error)()  # without its traceback, which would keep a connection to the JVM that it cut
        except BaseException as error:
            return error

    def _stuck(self, reason: BaseException) -> None:
        """End the tenure in the place of a function that does not come back, then leave the process to its owner."""
        self._tenure.heartbeat.stop()
        with self._ending:
            if self._over is not None:  # the function came back just now
                return
            self._over = self._tenure.end(Interrupted(), self._interruption.reason)
        if self._driver.on_stuck is not None:
            self._driver.on_stuck(self._over)


def no_session(error: Exception) -> NotBegun:
    """Return what comes of a function that is not called, because its jobs could not be marked."""
    return NotBegun(DeploymentError(f"The Spark session does not work ({error_text(error)})", _NO_SESSION))
