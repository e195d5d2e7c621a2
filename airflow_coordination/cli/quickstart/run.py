"""``quickstart --run``: the example in an Airflow of its own, watched until a partition is seen completed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from airflow_coordination.cli.output import say
from airflow_coordination.cli.quickstart import example
from airflow_coordination.cli.quickstart.airflow_api import AirflowApi
from airflow_coordination.cli.quickstart.airflow_process import OwnAirflow
from airflow_coordination.cli.quickstart.errors import QuickstartError
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.results import Outlook
from airflow_coordination.stores.opening import open_store
from airflow_coordination.values.errors import StoreUnavailableError
from airflow_coordination.values.names import compose_source
from airflow_coordination.values.status import PartitionStatus

SOURCE: Final = "quickstart"
PATIENCE: Final = 300.0
"""Seconds from the start until a partition has to be completed."""
LOOK_EVERY: Final = 1.0
_TAIL: Final = 4_000


def run(airflow: OwnAirflow, store_url: str) -> None:
    """Start Airflow, wait until the page Partitions shows a completed partition, and stay until Ctrl-C on a terminal.

    :raises QuickstartError: when that takes too long, Airflow ends, or a task fails; with the log that tells why.
    """
    began = time.monotonic()
    api = AirflowApi(f"http://127.0.0.1:{airflow.ports[0]}", airflow.password)
    with _interruptible(), airflow.running() as process:
        waiting = _Waiting(airflow, process, began + PATIENCE)
        say(f"Airflow starts, with its home in {airflow.home}. That takes 15 to 60 seconds.")
        waiting.until(api.is_healthy, "Airflow is not ready")
        say(f"Airflow is ready: {airflow.url}  user admin  password {airflow.password}")
        waiting.until(lambda: api.let_go(example.FOLDER) or _trouble(api, airflow), "Airflow does not know the DAG")
        with closing(open_store(store_url)) as store:
            seen = _Seen(store)
            waiting.until(lambda: seen.completed() or _trouble(api, airflow), "no partition is completed")
        waiting.until(lambda: _shown(api), "the page Partitions does not show a completed partition")
        say(f"After {time.monotonic() - began:.0f} s the page Partitions shows a completed partition:")
        say(f"  {airflow.url}/plugin/partitions?{urlencode({'store': example.STORE, 'source': _identifier()})}")
        if sys.stdin.isatty() and sys.stdout.isatty():
            say("Airflow stays up: look around. Ctrl-C ends it.")
            waiting.for_ever()
        say("Ending Airflow takes up to half a minute.")


def _identifier() -> str:
    return compose_source(SOURCE, None, "PARTITION")


def _shown(api: AirflowApi) -> bool:
    return bool(api.on_the_board(example.STORE, _identifier(), PartitionStatus.COMPLETED))


def _trouble(api: AirflowApi, airflow: OwnAirflow) -> bool:
    """Return false.

    :raises QuickstartError: when a task has failed, or the DAG cannot be read.
    """
    if errors := api.import_errors():
        raise QuickstartError("The DAG cannot be read", "Look whether what it imports is installed", errors[0])
    if failed := api.failed_tasks(example.FOLDER):
        problem = f"Task {failed[0]} of DAG {example.FOLDER} has failed"
        raise QuickstartError(problem, f"Its logs are below {airflow.home}/logs", _log_of(failed[0], airflow))
    return False


def _log_of(task: str, airflow: OwnAirflow) -> str:
    """Return the end of a task's newest log, empty when it has none."""
    logs = airflow.home.glob(f"logs/dag_id={example.FOLDER}/*/task_id={task}/**/attempt=*.log")
    newest = max(logs, key=lambda path: path.stat().st_mtime, default=None)
    return _tail(newest) if newest else ""


def _tail(log: Path) -> str:
    return log.read_bytes()[-_TAIL:].decode(errors="replace")


class _Seen:
    """Looks at the source, and says what has changed."""

    def __init__(self, store: Any) -> None:
        self._source = SourceCoordinator(store, SOURCE, "quickstart")
        self._last: Outlook | None = None

    def completed(self) -> int:
        """Return how many partitions are completed."""
        found = self._source.looking.outlook()
        numbers = (found.claimable, found.assigned, found.completed, found.parked)
        last = self._last
        if any(numbers) and (last is None or numbers != (last.claimable, last.assigned, last.completed, last.parked)):
            say(f"Partitions: {found.claimable} claimable, {found.assigned} held, {found.completed} completed")
        self._last = found
        return found.completed


class _Waiting:
    """Waits, as long as Airflow runs.

    :param deadline: own monotonic time.
    """

    def __init__(self, airflow: OwnAirflow, process: subprocess.Popen[bytes], deadline: float) -> None:
        self._airflow, self._process, self._deadline = airflow, process, deadline

    def until(self, condition: Callable[[], object], problem: str) -> None:
        """Wait for a condition; Airflow that does not answer is asked again.

        :raises QuickstartError: when Airflow has ended, or the time is over.
        """
        while not self._holds(condition):
            self._check()
            if time.monotonic() > self._deadline:
                raise QuickstartError(f"After {PATIENCE:.0f} s {problem}", f"See {self._airflow.log}", self._log())
            time.sleep(LOOK_EVERY)

    def for_ever(self) -> None:
        """Wait until a person interrupts it."""
        try:
            while True:
                self._check()
                time.sleep(LOOK_EVERY)
        except KeyboardInterrupt:
            return

    def _holds(self, condition: Callable[[], object]) -> bool:
        try:
            return bool(condition())
        except (OSError, StoreUnavailableError):
            return False

    def _check(self) -> None:
        if self._process.poll() is not None:
            code = self._process.returncode
            raise QuickstartError(f"Airflow ended by itself, with code {code}", f"See {self._airflow.log}", self._log())

    def _log(self) -> str:
        return _tail(self._airflow.log)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Have SIGTERM, and a terminal that is closed, end everything in order, as Ctrl-C does."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
