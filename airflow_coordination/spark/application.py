"""``@partition_application``: makes a function the program that spark-submit runs for one leased partition."""

from __future__ import annotations

import ast
import functools
import logging
import os
import runpy
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.handover import HANDOVER_VARIABLE, HandOver
from airflow_coordination.leases.lease import Lease
from airflow_coordination.leases.outcomes import PartitionOutcome
from airflow_coordination.protocol.metrics import CountingMetrics
from airflow_coordination.spark.balance import Balance
from airflow_coordination.spark.balanced_pool import BalancedPool
from airflow_coordination.spark.draining import opened
from airflow_coordination.spark.handed_over import HandedOver
from airflow_coordination.spark.interruption import JvmGoneError, stopped
from airflow_coordination.spark.lease import PartitionLease
from airflow_coordination.spark.one_by_one import OneByOne
from airflow_coordination.spark.reports import LineReport, Report, ShortTenures
from airflow_coordination.spark.tenure import DriverContext, Ended, PartitionFunction
from airflow_coordination.spark.together.course import Together
from airflow_coordination.spark.together.leases import PartitionLeases
from airflow_coordination.spark.worker_pool import WorkerPool
from airflow_coordination.systems.objects.storage import normal_root
from airflow_coordination.systems.spark.error_text import error_text
from airflow_coordination.systems.spark.listing import capped_listing
from airflow_coordination.systems.spark.session import check_output_root, context_of, driver_session
from airflow_coordination.values.errors import PartitionNotFoundError, PartitionNotOwnedError, StoreMismatchError
from airflow_coordination.values.input_errors import CoordinationError
from airflow_coordination.values.scrubbing import without_secrets
from airflow_coordination.values.status import Outcome

log = logging.getLogger(__name__)

EXIT_FAILED: Final = 1
EXIT_LOST: Final = 3
EXIT_STOPPED: Final = 143
LONGEST_LINE: Final = 300
"""Characters of an error in the last lines of a driver's log."""
_PARENT_CHECK = 1.0


class PartitionApplication:
    """A partition function that can be run: by spark-submit, by :func:`drain`, or called directly in a test.

    :param function: called as ``function(spark, lease)``; returns an outcome.
    """

    def __init__(self, function: PartitionFunction) -> None:
        functools.update_wrapper(self, function)
        self.function = function

    def __call__(self, spark: Any = None, lease: PartitionLease | PartitionLeases | None = None) -> PartitionOutcome:
        """Run the function; without arguments: run the tenure that a task handed over, and exit."""
        if lease is None:
            sys.exit(run_handed_over(self.function))
        outcome: PartitionOutcome = self.function(spark, lease)
        return outcome


def partition_application(function: PartitionFunction) -> PartitionApplication:
    """Make ``function(spark, lease)`` the program of its file.

    The file may end with ``if __name__ == "__main__": main()``; where it calls its function nowhere, the file
    is loaded as a module and the function is run.
    """
    application = PartitionApplication(function)
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    submitted = function.__module__ == "__main__" and HANDOVER_VARIABLE in os.environ
    if submitted and file and not _calls(file, function.__name__):
        found = runpy.run_path(file, run_name="partition_application")[function.__name__]
        sys.exit(run_handed_over(found.function))
    return application


def _calls(file: str, name: str) -> bool:
    calls = (node.func for node in ast.walk(ast.parse(Path(file).read_bytes())) if isinstance(node, ast.Call))
    return any(isinstance(called, ast.Name) and called.id == name for called in calls)


def run_handed_over(function: PartitionFunction, report: Report | None = None) -> int:
    """Go on with the tenure in the environment, run ``function``, end the tenure, and return the exit code.

    :param function: the partition function.
    :param report: told what happens; by default the task that reads this process's output.
    :return: 0 when every tenure ended as its function said, 1 after a failure, 3 after a lost lease, 143 when stopped.
    """
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("airflow_coordination").setLevel(logging.INFO)
    handed_over = HandedOver.take()
    report = report or LineReport(word=handed_over.word)
    try:
        handover = handed_over.tenure()
        with opened(handed_over.store()) as store:
            if store.store_id != handover.store_id:
                raise StoreMismatchError(handover.store_id, store.store_id, "The hand-over of this lease")
            return _Driver(function, handover, store, report).run()
    except CoordinationError as error:
        report("refused", message=error_text(error))
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return EXIT_FAILED


class _Driver:
    """One driver process: its session, its tenures, what it tells its task."""

    def __init__(self, function: PartitionFunction, handover: HandOver, store: Any, report: Report) -> None:
        self._function, self._handover, self._report = function, handover, ShortTenures(report)
        self._telling = threading.Lock()
        self._first, self._retaken = True, list(handover.retaken)
        self._metrics = CountingMetrics()
        self._told: Counter[str] = Counter()
        self._measured: dict[str, int] = {}
        self._coordinator = SourceCoordinator(
            store,
            handover.source,
            handover.owner,
            handover.partition_prefix,
            settings=handover.settings,
            metrics=self._metrics,
        )

    def run(self) -> int:
        handover = self._handover
        root = normal_root(handover.output_root) if handover.output_root else None
        spark = driver_session()
        if root is not None:
            check_output_root(spark, root)
        self._tell_address(spark)
        parent = _Parent(handover.task_pid)
        driver = DriverContext(
            spark=spark,
            coordinator=self._coordinator,
            output_root=root,
            report=self._tell,
            alone=True,
            on_stuck=self._leave_stuck,
            why_stopped=parent.why,
        )
        until = None if handover.max_runtime is None else time.monotonic() + handover.max_runtime
        with capped_listing(spark):
            if handover.concurrent_leases > 1 or handover.balance is not None:
                code = self._work_as_pool(driver, until)
            elif handover.together is not None:
                code = _exit_code(self._heard(self._together(driver, handover.together, until).run()))
            else:
                course = OneByOne(self._function, driver, self._acquire, handover.max_leases, until)
                code = _exit_code(self._heard(course.run()))
        if code != EXIT_STOPPED:
            _stop(spark)
        return code

    def _together(self, driver: DriverContext, together: int, until: float | None) -> Together:
        """Return the course of batches of leases."""
        acquire, most = self._acquire, self._handover.max_leases
        return Together(self._function, driver, acquire, acquire, together=together, max_leases=most, until=until)

    def _work_as_pool(self, driver: DriverContext, until: float | None) -> int:
        """Work through several tenures at a time, and return the exit code."""
        handover, coordinator = self._handover, self._coordinator
        places, most = handover.concurrent_leases, handover.max_leases
        if handover.balance is None:
            pool = WorkerPool(self._function, driver, self._acquire, places=places, max_leases=most, until=until)
        else:
            pool = BalancedPool(
                self._function,
                driver,
                coordinator.get_next_partition,
                Balance(coordinator, places, handover.balance),
                places=places,
                max_leases=most,
                until=until,
                held=self._handed_over,
            )
        endings = self._heard(pool.run())
        code = _exit_code(endings)
        counts = Counter(str(ended.outcome) for ended in endings)
        told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())) or "none"
        print(f"Tenures of this driver, {handover.concurrent_leases} at a time: {told}", file=sys.stderr)
        if pool.stopped is not None:
            code = EXIT_STOPPED
        if pool.left_behind:  # what does not let itself be interrupted would not let Python end either
            sys.stderr.flush()
            os._exit(code)
        return code

    def _heard(self, endings: Iterable[Ended]) -> list[Ended]:
        """Return the endings, after the counts of each were told as it came."""
        heard = []
        try:
            for ended in endings:
                heard.append(ended)
                self._tell_metrics()
        finally:
            self._report.close()
            self._tell_metrics()
        return heard

    def _acquire(self) -> Lease | None:
        """Return the handed-over tenures first, and further partitions after them."""
        return self._handed_over() or self._coordinator.get_next_partition()

    def _handed_over(self) -> Lease | None:
        """Return the next of the tenures that the task has begun."""
        if self._first:
            self._first = False
            return self._coordinator.begin(self._handover.key, self._handover.fence)
        while self._retaken:
            key, fence = self._retaken.pop(0)
            try:
                return self._coordinator.begin(key, fence)
            except (PartitionNotOwnedError, PartitionNotFoundError) as error:  # it concerns none of the others
                log.warning("%s", error)
        return None

    def _tell_address(self, spark: Any) -> None:
        """Tell the task, and every lease from now on, where this Spark application can be watched."""
        context = context_of(spark)
        if context is not None:
            url = without_secrets(context.uiWebUrl or "") or None  # behind a proxy it may hold a user's password
            self._coordinator.describe_owner(application=context.applicationId, url=url)
            self._report("spark", application=context.applicationId, url=url)

    def _tell(self, event: str, **facts: Any) -> None:
        """Report an event of a tenure, and what has been counted until it was saved."""
        self._report(event, **facts)
        if event == "saved":
            self._tell_metrics()

    def _tell_metrics(self) -> None:
        """Report the counts and gauges since the last time, so that the task can feed them to Airflow's Stats."""
        with self._telling:
            counts, gauges = Counter(self._metrics.counts), dict(self._metrics.gauges)
            if new := counts - self._told:
                self._report("metrics", counts=new)
            if gauges != self._measured:
                self._report("gauges", gauges=gauges)
            self._told, self._measured = counts, gauges

    def _leave_stuck(self, ended: Ended) -> None:
        """Leave at once: the function neither comes back nor lets itself be interrupted."""
        self._report.close()
        self._tell_metrics()
        sys.stderr.flush()
        os._exit(_exit_code([ended]))


def _stop(spark: Any) -> None:
    """Stop the session. What this driver has come to does not change when that fails.

    An interruption may have hit Python between a question to the JVM and its answer; later ones are misunderstood then.
    The JVM ends with this process in any case.
    """
    try:
        spark.stop()
    except Exception as error:
        log.warning("The Spark session did not let itself be stopped: %s", error_text(error))


def _exit_code(endings: list[Ended]) -> int:
    outcomes = {ended.outcome for ended in endings}
    for ended in endings:
        if ended.message:
            told = ended.message.splitlines()[0][:LONGEST_LINE]  # whole it is in the report, and in the store
            print(f"Partition {ended.key!a} {ended.outcome}: {told}", file=sys.stderr)
    if any(ended.stop is not None for ended in endings):
        return EXIT_STOPPED
    if Outcome.LOST in outcomes:
        return EXIT_LOST
    finished = {ended.key for ended in endings if ended.outcome in (Outcome.COMPLETED, Outcome.CLOSED)}
    given_up = [
        ended for ended in endings if ended.outcome is Outcome.GIVEN_UP
    ]  # another's work, if it was handed over
    cut_short = any(ended.cut and ended.key not in finished for ended in given_up)
    return EXIT_FAILED if Outcome.FAILED in outcomes or cut_short else 0


class _Parent:
    """Watches the process that started this driver, its JVM or the task; stops the driver when it is gone.

    :param task: the task's process; ``None`` for a driver elsewhere, which its task ends through the cluster.
    """

    def __init__(self, task: int | None) -> None:
        self._task, self._parent = task, os.getppid()
        threading.Thread(target=self._watch, name="parent-watch", daemon=True).start()

    def why(self) -> BaseException:
        """Return why this driver is stopped: a JVM that dies under a living task, or elsewhere, has failed.

        A cluster that stops a driver signals its Python process, too, or leaves none of them alive.
        """
        if os.getppid() == self._parent:
            return stopped()
        return JvmGoneError() if self._task is None or _alive(self._task) else stopped()

    def _watch(self) -> None:
        while os.getppid() == self._parent:
            time.sleep(_PARENT_CHECK)
        os.kill(os.getpid(), signal.SIGTERM)


def _alive(pid: int) -> bool:
    """Return whether a process of this host works; a dead one that nobody has collected does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"
