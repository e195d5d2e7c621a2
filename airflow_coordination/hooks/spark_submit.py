"""spark-submit under a lease: its driver gets the lease by environment, reports by lines, and dies with its task."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.sdk.exceptions import AirflowNotFoundException

from airflow_coordination.hooks.processes import dying_with, end_marked
from airflow_coordination.leases.errors import SettingsError
from airflow_coordination.leases.handover import HANDOVER_VARIABLE, REPORT_MARKER

GRACE: Final = 2.0
"""Seconds a driver has between SIGTERM and SIGKILL; Airflow gives the whole task 5."""
Report = Mapping[str, Any]


class LeasedSparkSubmitHook(SparkSubmitHook):
    """Submits one application for one lease, which is handed over once it is known."""

    _driver_environment: Mapping[str, str] = MappingProxyType({})
    _on_report: Callable[[Report], object] = staticmethod(lambda report: None)

    def hand_over(self, environment: Mapping[str, str], on_report: Callable[[Report], object]) -> None:
        """Say what the driver gets, before the submission.

        :param environment: added to the environment of spark-submit, never to its arguments; with
            ``COORDINATION_HANDOVER``, by which the processes are found again.
        :param on_report: called with each report of the driver, in the order of its output.
        """
        self._driver_environment, self._on_report = environment, on_report

    @property
    def master(self) -> str:
        """Spark's master, as spark-submit gets it."""
        return str(self._connection["master"])

    @property
    def deploy_mode(self) -> str | None:
        """``client``, ``cluster``, or ``None`` for spark-submit's own default."""
        mode: str | None = self._connection["deploy_mode"]
        return mode

    @property
    def binary(self) -> str:
        """The spark-submit command."""
        return str(self._get_spark_binary_path()[0])

    def submit(self, application: str = "", **kwargs: Any) -> str | None:
        """Submit and wait for the end; the processes die with this one."""
        return super().submit(application, preexec_fn=dying_with(os.getpid()), **kwargs)

    def terminate(self) -> None:
        """End every process of this submission on this host, within about 3 seconds."""
        count = end_marked(HANDOVER_VARIABLE, self._driver_environment[HANDOVER_VARIABLE], GRACE)
        if count:
            self.log.info("Ended %d processes of this submission.", count)

    def on_kill(self) -> None:
        """End the submission when Airflow ends the task."""
        self.terminate()

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
        args: list[str] = super()._build_spark_common_args()
        self._env = {**(self._env or {}), **self._driver_environment}
        return args

    def _process_spark_submit_log(self, itr: Iterator[Any]) -> None:
        super()._process_spark_submit_log(self._without_reports(itr))

    def _without_reports(self, lines: Iterator[str]) -> Iterator[str]:
        """Yield the lines that are no reports."""
        for line in lines:
            marker, found, text = line.partition(REPORT_MARKER)
            report = _parsed(text) if found and not marker.strip() else None
            if report is None:
                yield line
            else:
                self._on_report(report)


def _parsed(text: str) -> Report | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
