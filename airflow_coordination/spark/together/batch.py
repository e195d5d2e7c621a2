"""Several tenures for which a function is called once; where that fails, once for each half of them.

What fails for many is the fault of one, mostly, and nobody can tell of which. Halved until who fails is alone, it is
charged to that partition, and to no other. When all of them fail of one error, the source pauses itself after some
(the brake), and what is left is given back.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from airflow_coordination.leases.lease import Lease
from airflow_coordination.leases.outcomes import GiveUp
from airflow_coordination.spark.interruption import Interrupted, Interruption, call_in_this_process
from airflow_coordination.spark.tenure import DriverContext, Ended, NotBegun, PartitionFunction, Tenure, no_session
from airflow_coordination.spark.together.leases import PartitionLeases
from airflow_coordination.systems.objects.storage import side_by_side
from airflow_coordination.systems.sink import SinkNotReadyError
from airflow_coordination.systems.spark.error_text import error_text
from airflow_coordination.systems.spark.jobs import jobs_of
from airflow_coordination.systems.spark.session import has_jvm, usable
from airflow_coordination.values.input_errors import CoordinationError

log = logging.getLogger(__name__)


def _never() -> BaseException | None:
    return None


class Batch:
    """The tenures of one call, each of which is renewed from here on, and ended on its own.

    :param function: called as ``function(spark, leases)``.
    :param first: one of the leases.
    :param driver: what the tenures share.
    :param stopped: why no further call may begin, ``None`` as long as one may.
    """

    def __init__(
        self,
        function: PartitionFunction,
        first: Lease,
        driver: DriverContext,
        stopped: Callable[[], BaseException | None] = _never,
    ) -> None:
        self._function, self._driver, self._stopped = function, driver, stopped
        self._jobs = jobs_of(driver.spark, first.fence, alone=driver.alone, pooled=driver.pooled)
        self._leases: list[Lease] = []
        self._tenures: list[Tenure] = []
        self._called: Sequence[Tenure] = ()
        self._interruption: Interruption | None = None
        self._stop: BaseException | None = None
        self._torn: BaseException | None = None
        self._over: dict[str, Ended] = {}
        self._ending = threading.Lock()
        self.add(first)

    def __len__(self) -> int:
        return len(self._leases)

    def add(self, lease: Lease) -> None:
        """Take a lease more, before :meth:`run`."""
        tenure = Tenure(lease, self._driver, self._jobs, self._on_lost)
        tenure.heartbeat.__enter__()
        self._leases.append(lease)
        self._tenures.append(tenure)

    def give_back(self) -> None:
        """Give all leases back in the place of :meth:`run`: nothing was begun."""
        for lease, tenure in zip(self._leases, self._tenures, strict=True):
            tenure.heartbeat.stop()
            try:
                self._driver.coordinator.give_up(lease)
            except CoordinationError as error:  # then it runs out
                log.info("Partition %a could not be given back: %s", lease.key, error)

    def run(self) -> Iterator[Ended]:
        """Call the function, and yield the ending of each tenure."""
        for tenure in self._tenures:
            tenure.tell_begun()
        try:
            yield from self._work(self._tenures)
        finally:
            self._jobs.unmark()
            for tenure in self._tenures:
                tenure.heartbeat.stop()

    def _work(self, tenures: Sequence[Tenure]) -> Iterator[Ended]:
        result = self._call(tenures)
        if isinstance(result, BaseException) and not isinstance(result, Exception | SystemExit | Interrupted):
            self._torn = result  # a key, or Airflow's timeout: no further call begins
        if self._may_be_one_s(result, tenures):
            log.warning("A call for %d partitions failed, and is made for each half: %s", len(tenures), result)
            middle = len(tenures) // 2
            yield from self._work(tenures[:middle])
            yield from self._rest(tenures[middle:])
            return
        if any(each.seen.misconfigured is result for each in tenures if isinstance(result, CoordinationError)):
            result = NotBegun(result)
        for tenure in tenures:
            yield self._end(tenure, result.get(tenure.key) if isinstance(result, dict) else result)

    def _rest(self, tenures: Sequence[Tenure]) -> Iterator[Ended]:
        """Work on what is left after a half, unless nothing more may begin."""
        self._stop = self._stop or self._stopped()
        if self._stop is not None or self._torn is not None:
            yield from (self._end(each, self._torn or Interrupted()) for each in tenures)
        elif why := self._braked():
            yield from (self._end(each, GiveUp(why)) for each in tenures)
        else:
            yield from self._work(tenures)

    def _may_be_one_s(self, result: object, tenures: Sequence[Tenure]) -> bool:
        """Return whether a call has failed for what may be the fault of one of several partitions."""
        if not isinstance(result, Exception) or isinstance(result, SinkNotReadyError) or len(tenures) < 2:
            return False
        if any(each.seen.misconfigured is result for each in tenures):
            return False
        return self._stop is None and usable(self._driver.spark)

    def _braked(self) -> str | None:
        try:
            pause = self._driver.coordinator.pausing.current_pause()
        except CoordinationError:  # the endings say it, if the store stays silent
            return None
        return f"The source was {pause}" if pause.braked else None

    def _call(self, tenures: Sequence[Tenure]) -> Any:
        """Return what becomes of each partition by its key, or one thing for all: the exception of the function."""
        stuck = self._stuck if self._driver.on_stuck else None
        interruption = Interruption(self._jobs.cancel, stuck, self._driver.why_stopped)
        held = [each for each in tenures if each.lost is None]
        self._called, self._interruption = held, interruption
        try:
            self._jobs.mark(f"partition {tenures[0].key!a} and {len(tenures) - 1} more")
        except Exception as error:  # its session was stopped, or its JVM is gone
            return no_session(error)
        try:
            with self._driver.within(interruption), interruption:
                return self._outcomes(held, interruption) if held else {}
        except (Interrupted, KeyboardInterrupt) as error:
            return type(error)()  # without its traceback, which would keep a connection to the JVM that it cut
        except BaseException as error:
            return error
        finally:
            self._jobs.over()
            if not isinstance(interruption.reason, CoordinationError):  # what one tenure has lost, it knows itself
                self._stop = interruption.reason

    def _outcomes(self, held: Sequence[Tenure], interruption: Interruption) -> dict[str, object]:
        leases = PartitionLeases({each.key: each.seen for each in held})
        spark, alone = self._driver.spark, self._driver.alone
        work = partial(call_in_this_process, self._function, spark, leases)
        try:
            said = leases.outcomes(interruption.call(work, lambda: not alone or has_jvm(spark)))
        except BaseException:
            leases.take_back()
            raise
        return dict(zip(said, side_by_side(lambda each: _allowed(each, said[each.key]), held), strict=True))

    def _end(self, tenure: Tenure, result: object) -> Ended:
        tenure.heartbeat.stop()
        with self._ending:
            if tenure.key in self._over:
                return replace(self._over[tenure.key], late=True)
            self._over[tenure.key] = tenure.end(result, self._stop)
            return self._over[tenure.key]

    def _on_lost(self, error: CoordinationError) -> None:
        """Cut the call short when none of its leases is left; what one has lost, the others go on without."""
        if self._interruption is not None and all(each.lost is not None for each in self._called):
            self._interruption.request(error)

    def _stuck(self, reason: BaseException) -> None:
        """End the tenures in the place of a function that does not come back, then leave the process to its owner."""
        self._stop = None if isinstance(reason, CoordinationError) else reason
        ended = [self._end(each, Interrupted()) for each in self._tenures]
        if self._driver.on_stuck is not None:
            self._driver.on_stuck(ended[-1])


def _allowed(tenure: Tenure, outcome: object) -> object:
    """Return the outcome that a partition may have, or what keeps it from a good one."""
    try:
        return tenure.allowed(outcome)
    except Exception as error:
        log.warning("Partition %a: %s", tenure.key, error_text(error))
        return error
