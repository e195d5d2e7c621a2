"""spark-submit under a lease.

A driver on this host gets the lease by environment and file, reports by lines, and dies with its task. One elsewhere
gets it by Spark's configuration and outlives its task.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import psutil  # type: ignore[import-untyped]
from airflow.providers.common.compat.sdk import AirflowException

from airflow_coordination.leases.handover import (
    ENVELOPE_VARIABLE,
    HANDOVER_VARIABLE,
    STORE_VARIABLE,
    discard,
    report_marker,
)
from airflow_coordination.submission.credential_routes import Driver
from airflow_coordination.submission.driver_inputs import DriverInputs
from airflow_coordination.submission.spark_provider import ProviderHook
from airflow_coordination.systems.spark.archive import build_archive
from airflow_coordination.values.input_errors import SettingsError, printable
from airflow_coordination.values.scrubbing import forms

_PR_SET_PDEATHSIG: Final = 1
_TICK: Final = 0.05
_libc = ctypes.CDLL(None)


def dying_with(parent: int) -> Callable[[], None]:
    """Return what a child runs before it becomes another program, so that the kernel ends it when its parent dies.

    :param parent: the parent's process id; a child whose parent has died already ends at once.
    """

    def prepare() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)

    return prepare


def marked_processes(name: str, value: str) -> Iterator[psutil.Process]:
    """Yield the processes of this host that were given the environment variable ``name`` with this value.

    Also those whose parent has died, which no process tree shows: a Python driver outlives its JVM.
    """
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(name) == value:
                yield process
        except psutil.Error:
            continue


def end_marked(name: str, value: str, grace: float = 2.0) -> int:
    """End these processes: SIGTERM, then SIGKILL for those left after ``grace`` seconds; return how many there were."""
    found = list(marked_processes(name, value))
    _signal(found, signal.SIGTERM)
    left = _living_after(found, grace)
    _signal(left, signal.SIGKILL)
    _living_after(left, 1.0)
    return len(found)


def _living_after(processes: list[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Wait until the processes are dead, but leave their exit codes to whoever started them.

    psutil's own waiting would collect those of this process's children, and ``subprocess`` would then report 0.
    """
    deadline = time.monotonic() + seconds
    while living := [process for process in processes if _lives(process)]:
        if time.monotonic() >= deadline:
            break
        time.sleep(_TICK)
    return living


def _lives(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _signal(processes: list[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        try:
            process.send_signal(number)
        except psutil.NoSuchProcess:
            continue


@lru_cache(maxsize=1)
def shipped_archive() -> str:
    """Return the path of our pure rooms as an archive, made once per process and removed with it."""
    scratch = tempfile.mkdtemp(prefix="coordination-")
    atexit.register(_remove, scratch, os.getpid())
    return str(build_archive(Path(scratch)))


def _remove(scratch: str, made_by: int) -> None:
    """Remove the archive with the process that made it; a forked child that ends leaves it alone."""
    if os.getpid() == made_by:
        shutil.rmtree(scratch, ignore_errors=True)


GRACE: Final = 2.0
"""Seconds a driver has between SIGTERM and SIGKILL; Airflow gives the whole task 5."""
LONGEST_NAME: Final = 100
LOG_LEVEL: Final = "spark.log.level"
DEPLOY_MODE: Final = "spark.submit.deployMode"
UPLOADS: Final = "spark.kubernetes.file.upload.path"
_WAIT: Final = {
    Driver.YARN: "spark.yarn.submit.waitAppCompletion",
    Driver.KUBERNETES: "spark.kubernetes.submission.waitAppCompletion",
}
_CONNECTION: Final = "AIRFLOW_CONN_"
_OUR_TYPE: Final = re.compile(r"""coordination:|.*"conn_type"\s*:\s*"coordination\"""", re.S)
_UNMISTAKABLE: Final = 12
"""Characters of a secret that no other connection holds by chance, as ``postgres`` is in many."""
_AIRFLOWS_OWN: Final = (_CONNECTION, "AIRFLOW_VAR_", "AIRFLOW__")
"""Variables that hold connections, their passwords, and keys."""


def _passwords(connection: str) -> set[str]:
    """Return the password of a connection as Airflow reads it from a variable: JSON, or a URI."""
    try:
        if connection.lstrip().startswith("{"):
            return {str(json.loads(connection).get("password"))}
        return {unquote(urlsplit(connection).password or "")}
    except (ValueError, AttributeError):
        return set()


class LeasedSparkSubmitHook(ProviderHook):
    """Submits one application for one lease, which is handed over once it is known."""

    stopped = False
    """Set when Airflow ends the task, wherever it is then: nothing is submitted any more."""
    _inputs: DriverInputs | None = None
    _envelope: Mapping[str, str] = MappingProxyType({})
    _on_report: Callable[[str], object] = staticmethod(lambda report: None)

    def hand_over(self, inputs: DriverInputs, on_report: Callable[[str], object]) -> None:
        """Say what the driver gets, before the submission.

        :param inputs: its environment is added to that of spark-submit, never to its arguments; its configuration
            to the arguments.
        :param on_report: called with what follows the marker in each line of a driver on this host, in its order.
            Nothing was checked of it but the marker's word.
        """
        self._inputs, self._on_report = inputs, on_report

    @property
    def driver(self) -> Driver:
        """The place of the driver.

        :raises SettingsError: when Spark has no such mode, or it is said where the Spark provider does not look.
        """
        if not self.in_cluster_mode:
            given = self.spark_conf.get(DEPLOY_MODE, "client")
            if given != "client":
                remedy = "Give it as the operator's deploy_mode or in the Spark connection, so that Airflow knows it"
                raise SettingsError(f"conf {DEPLOY_MODE}", given, "is not seen by Airflow", remedy)
            return Driver.WORKER
        if self.on_yarn:
            return Driver.YARN
        if self.on_kubernetes:
            return Driver.KUBERNETES
        if self.master.startswith("spark://"):
            return Driver.STANDALONE
        problem = f"cannot work with master {self.master}"
        raise SettingsError("deploy_mode", "cluster", problem, "Use deploy_mode='client'")

    def ship(self, archive: str) -> None:
        """Send our pure rooms along. To Kubernetes only where Spark has a place to upload files to.

        Without one the driver's image must hold the package.
        """
        if self.driver is not Driver.KUBERNETES or UPLOADS in self.spark_conf:
            self.add_py_file(archive)

    def check_tracking(self) -> None:
        """Make sure that the task learns of the end: by polls, or because spark-submit waits for it.

        Said as an argument, it goes before whatever other configuration Spark has.

        :raises SettingsError: when it is told otherwise.
        :raises ValueError: from the Spark provider, when its own arguments for polls make no sense.
        """
        self.check_polling()
        name = _WAIT.get(self.driver)
        if name is None:
            return
        wanted = "false" if self.polled else "true"
        given = str(self.spark_conf.get(name, wanted)).strip().lower()
        if given != wanted:
            keeps = "keeps spark-submit waiting for what is polled"
            ends = "ends the task at the submission, so that nobody learns of the application's end"
            remedy = "Leave it out; yarn_track_via_rm_api and track_driver_via_k8s_api say how the end is learnt"
            raise SettingsError(f"conf {name}", given, keeps if self.polled else ends, remedy)
        self.set_conf(name, wanted)

    def submit(self, application: str = "", **kwargs: Any) -> str | None:
        """Submit and wait for the end; the processes on this host die with this one.

        :raises AirflowException: when Airflow has ended the task before.
        """
        if self.stopped:
            raise AirflowException("Nothing was submitted: Airflow ended this task before")
        with self._sealed():
            return super().submit(
                application, preexec_fn=dying_with(os.getpid()), errors="backslashreplace", **kwargs
            )  # a line that is no UTF-8 must not end the task

    def call_it(self, name: str) -> None:
        """Give an application on this host a name of its own, unless it was given one.

        :param name: what it works on; shown by Spark's pages.
        """
        if self.application_name is None and self.driver is Driver.WORKER:
            self.application_name = printable(name)[:LONGEST_NAME]

    def terminate(self) -> None:
        """End every process of this submission on this host, within about 3 seconds."""
        if self._inputs is None:
            return
        count = end_marked(HANDOVER_VARIABLE, self._inputs.environment[HANDOVER_VARIABLE], GRACE)
        if count:
            self.log.info("Ended %d processes of this submission.", count)

    def end_remote(self) -> None:
        """Ask the cluster to end the driver, as far as it is known, and end spark-submit."""
        super().on_kill()
        self.terminate()

    def on_kill(self) -> None:
        """End the submission when Airflow ends the task."""
        if self.driver is Driver.WORKER:
            self.terminate()
        else:
            self.end_remote()

    def submitted_conf(self) -> Mapping[str, Any]:
        """Return the configuration with the driver's inputs that everybody may read."""
        if self._inputs is None:
            return self.spark_conf
        quiet = {LOG_LEVEL: "WARN"} if self.driver is Driver.WORKER else {}  # elsewhere the provider reads Spark's INFO
        return {**quiet, **self.spark_conf, **self._inputs.configuration}

    def submitted_environment(self) -> Mapping[str, str]:
        """Return the driver's inputs, and what hides from its JVM what opens the store."""
        if self._inputs is None:
            return {}
        return {**self._hidden(), **self._inputs.environment, **self._envelope}

    def read_output(self, lines: Iterator[str]) -> Iterator[str]:
        """Return what is no report; the reports go where :meth:`hand_over` says."""
        if self.stopped:  # while spark-submit was started
            self.terminate()
        return self._without_reports(lines)

    @contextmanager
    def _sealed(self) -> Iterator[None]:
        """Have the driver's envelope wait in a file, and remove what is left of it in the end."""
        envelope = self._inputs.envelope if self._inputs is not None else None
        if envelope is None:
            yield
            return
        path = envelope.seal()
        self._envelope = {ENVELOPE_VARIABLE: str(path)}
        try:
            yield
        finally:
            discard(path)

    def _hidden(self) -> dict[str, str]:
        """Return what empties variables of this process: every SQL statement can read the JVM's environment.

        Those are the store's, and the connections that hold what opens it; all of Airflow's where Spark sends
        spark-submit's environment to a standalone cluster.
        """
        own = _AIRFLOWS_OWN if self.driver is Driver.STANDALONE else (STORE_VARIABLE,)
        return {name: "" for name, text in os.environ.items() if name.startswith(own) or self._opens_store(name, text)}

    def _opens_store(self, name: str, text: str) -> bool:
        envelope = self._inputs.envelope if self._inputs is not None else None
        if envelope is None or not name.startswith(_CONNECTION):
            return False
        if _OUR_TYPE.match(text):
            return True
        known = {form for secret in envelope.secrets for form in forms(secret)}
        return bool(known & _passwords(text)) or any(form in text for form in known if len(form) >= _UNMISTAKABLE)

    def _without_reports(self, lines: Iterator[str]) -> Iterator[str]:
        """Yield what is no report."""
        envelope = self._inputs.envelope if self._inputs is not None else None
        marker = report_marker(envelope.word) if envelope is not None else None
        for line in lines:
            before, found, text = line.partition(marker) if marker is not None else (line, "", "")
            if before.strip() or not found:
                yield before
            if found:
                self._on_report(text)
