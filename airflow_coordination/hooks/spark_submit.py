"""spark-submit under a lease.

A driver on this host gets the lease by environment and file, reports by lines, and dies with its task. One elsewhere
gets it by Spark's configuration and outlives its task.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.common.compat.sdk import AirflowException
from airflow.sdk.exceptions import AirflowNotFoundException

from airflow_coordination.hooks.credentials import Driver
from airflow_coordination.hooks.delivery import Delivery
from airflow_coordination.hooks.processes import dying_with, end_marked
from airflow_coordination.leases.envelope import ENVELOPE_VARIABLE, discard
from airflow_coordination.leases.errors import SettingsError, printable
from airflow_coordination.leases.handover import HANDOVER_VARIABLE, STORE_VARIABLE, report_marker
from airflow_coordination.leases.known_secrets import forms

GRACE: Final = 2.0
"""Seconds a driver has between SIGTERM and SIGKILL; Airflow gives the whole task 5."""
PROVIDERS_NAME: Final = "arrow-spark"
"""What the Spark provider calls every application that was given no name."""
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


class LeasedSparkSubmitHook(SparkSubmitHook):
    """Submits one application for one lease, which is handed over once it is known."""

    stopped = False
    """Set when Airflow ends the task, wherever it is then: nothing is submitted any more."""
    _delivery: Delivery | None = None
    _letter: Mapping[str, str] = MappingProxyType({})
    _on_report: Callable[[str], object] = staticmethod(lambda report: None)

    def hand_over(self, delivery: Delivery, on_report: Callable[[str], object]) -> None:
        """Say what the driver gets, before the submission.

        :param delivery: its environment is added to that of spark-submit, never to its arguments; its configuration
            to the arguments.
        :param on_report: called with what follows the marker in each line of a driver on this host, in its order.
            Nothing was checked of it but the marker's word.
        """
        self._delivery, self._on_report = delivery, on_report

    @property
    def master(self) -> str:
        """Spark's master, as spark-submit gets it."""
        return str(self._connection["master"])

    @property
    def driver(self) -> Driver:
        """Where the driver starts.

        :raises SettingsError: when Spark has no such mode, or it is said where the Spark provider does not look.
        """
        if self._connection["deploy_mode"] != "cluster":
            if self._conf.get(DEPLOY_MODE, "client") != "client":
                remedy = "Give it as the operator's deploy_mode or in the Spark connection, so that Airflow knows it"
                raise SettingsError(f"conf {DEPLOY_MODE}", self._conf[DEPLOY_MODE], "is not seen by Airflow", remedy)
            return Driver.HERE
        if self._is_yarn:
            return Driver.YARN
        if self._is_kubernetes:
            return Driver.KUBERNETES
        if self.master.startswith("spark://"):
            return Driver.STANDALONE
        problem = f"cannot work with master {self.master}"
        raise SettingsError("deploy_mode", "cluster", problem, "Use deploy_mode='client'")

    @property
    def polled(self) -> bool:
        """Whether the task asks the cluster for the end of a driver elsewhere; otherwise spark-submit waits for it."""
        by_api = self._should_track_driver_via_k8s_api() or self._should_track_yarn_application_via_rm_api()
        return bool(self._should_track_driver_status or by_api)

    @property
    def binary(self) -> str:
        """The spark-submit command."""
        return str(self._get_spark_binary_path()[0])

    @property
    def remote_id(self) -> str | None:
        """What the cluster calls the driver, once it is known; in the form that the Spark operator keeps."""
        if self._is_kubernetes:
            pod = self._kubernetes_driver_pod
            return f"{self._connection['namespace']}:{pod}" if pod else None
        found: str | None = self._yarn_application_id if self._is_yarn else self._driver_id
        return found

    @remote_id.setter
    def remote_id(self, known: str | None) -> None:
        """Name the driver that an earlier try submitted, so that it can be killed."""
        if self._is_kubernetes:
            self._kubernetes_driver_pod = known.partition(":")[2] if known else None
        elif self._is_yarn:
            self._yarn_application_id = known
        else:
            self._driver_id = known

    @property
    def was_interrupted(self) -> bool:
        """Whether spark-submit ended by a signal, so that its exit says nothing of a driver elsewhere."""
        submitted = self._submit_sp
        return submitted is not None and (submitted.returncode is None or submitted.returncode < 0)

    def ship(self, archive: str) -> None:
        """Send our pure rooms along. To Kubernetes only where Spark has a place to upload files to.

        Without one the driver's image must hold the package.
        """
        if self.driver is not Driver.KUBERNETES or UPLOADS in self._conf:
            self._py_files = ",".join(filter(None, [self._py_files, archive]))

    def check_tracking(self) -> None:
        """Make sure that the task learns of the end: by polls, or because spark-submit waits for it.

        Said as an argument, it goes before whatever other configuration Spark has.

        :raises SettingsError: when it is told otherwise.
        :raises ValueError: from the Spark provider, when its own arguments for polls make no sense.
        """
        if self._track_driver_via_k8s_api:
            self._validate_track_driver_via_k8s_api_config()
        self._validate_yarn_track_via_rm_api_config()
        name = _WAIT.get(self.driver)
        if name is None:
            return
        wanted = "false" if self.polled else "true"
        given = str(self._conf.get(name, wanted)).strip().lower()
        if given != wanted:
            keeps = "keeps spark-submit waiting for what is polled"
            ends = "ends the task at the submission, so that nobody learns of the application's end"
            remedy = "Leave it out; yarn_track_via_rm_api and track_driver_via_k8s_api say how the end is learnt"
            raise SettingsError(f"conf {name}", given, keeps if self.polled else ends, remedy)
        self._conf = {**self._conf, name: wanted}

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
        if self._name in (None, PROVIDERS_NAME) and self.driver is Driver.HERE:
            self._name = printable(name)[:LONGEST_NAME]

    def terminate(self) -> None:
        """End every process of this submission on this host, within about 3 seconds."""
        if self._delivery is None:
            return
        count = end_marked(HANDOVER_VARIABLE, self._delivery.environment[HANDOVER_VARIABLE], GRACE)
        if count:
            self.log.info("Ended %d processes of this submission.", count)

    def end_remote(self) -> None:
        """Ask the cluster to end the driver, as far as it is known, and end spark-submit."""
        super().on_kill()
        self.terminate()

    def on_kill(self) -> None:
        """End the submission when Airflow ends the task."""
        if self.driver is Driver.HERE:
            self.terminate()
        else:
            self.end_remote()

    def _resolve_connection(self) -> dict[str, Any]:
        """Look the Spark connection up.

        :raises SettingsError: when it is not defined: the provider would go on with ``--master yarn`` in silence.
        """
        try:
            self.get_connection(self._conn_id)
        except AirflowNotFoundException as error:
            raise SettingsError(
                "conn_id",
                self._conn_id,
                "is not a defined Airflow connection, and spark-submit would go to YARN without a word",
                'Create it with the type spark, for example with host local[2] and extra {"deploy-mode": "client"}',
            ) from error
        return dict(super()._resolve_connection())

    def _build_spark_common_args(self) -> list[str]:
        delivery = self._delivery
        if delivery is None:
            return list(super()._build_spark_common_args())
        quiet = {LOG_LEVEL: "WARN"} if self.driver is Driver.HERE else {}  # elsewhere the provider reads Spark's INFO
        self._conf = {**quiet, **self._conf, **delivery.configuration}
        args: list[str] = super()._build_spark_common_args()
        self._env = {**(self._env or {}), **self._hidden(), **delivery.environment, **self._letter}
        return args

    @contextmanager
    def _sealed(self) -> Iterator[None]:
        """Have the driver's envelope wait in a file, and remove what is left of it in the end."""
        envelope = self._delivery.envelope if self._delivery is not None else None
        if envelope is None:
            yield
            return
        path = envelope.seal()
        self._letter = {ENVELOPE_VARIABLE: str(path)}
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
        envelope = self._delivery.envelope if self._delivery is not None else None
        if envelope is None or not name.startswith(_CONNECTION):
            return False
        if _OUR_TYPE.match(text):
            return True
        known = {form for secret in envelope.secrets for form in forms(secret)}
        return bool(known & _passwords(text)) or any(form in text for form in known if len(form) >= _UNMISTAKABLE)

    def _poll_k8s_driver_via_api(self) -> str | None:
        phase: str | None = super()._poll_k8s_driver_via_api()
        if phase is None:  # the provider takes this for a success
            raise RuntimeError(
                f"The driver's pod {self._kubernetes_driver_pod} has vanished: nobody knows how it ended"
            )
        return phase

    def _process_spark_submit_log(self, itr: Iterator[Any]) -> None:
        if self.stopped:  # while spark-submit was started
            self.terminate()
        super()._process_spark_submit_log(self._without_reports(itr))
        if self._is_kubernetes and self.driver is Driver.HERE:
            self._spark_exit_code = 0  # the provider says so at the first line, and a quiet driver prints none

    def _without_reports(self, lines: Iterator[str]) -> Iterator[str]:
        """Yield what is no report."""
        envelope = self._delivery.envelope if self._delivery is not None else None
        marker = report_marker(envelope.word) if envelope is not None else None
        for line in lines:
            before, found, text = line.partition(marker) if marker is not None else (line, "", "")
            if before.strip() or not found:
                yield before
            if found:
                self._on_report(text)
