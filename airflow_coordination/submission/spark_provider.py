"""Airflow's Spark provider behind names of our own: the only module that knows the provider's private ones.

A test lists them with what is leaned on, and ``pyproject.toml`` bounds the provider's version. Where the provider does
something in silence that would lose work or its outcome, it is mended here.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any, Final

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.common.compat.sdk import AirflowNotFoundException

from airflow_coordination.values.input_errors import SettingsError

UNNAMED: Final = "arrow-spark"
"""The provider's name for every application that was given none."""


class ProviderHook(SparkSubmitHook):
    """``SparkSubmitHook``, with what a submission under a lease needs of it."""

    @property
    def master(self) -> str:
        """Spark's master, as spark-submit gets it."""
        return str(self._connection["master"])

    @property
    def in_cluster_mode(self) -> bool:
        """Whether the provider has spark-submit start the driver elsewhere."""
        return bool(self._connection["deploy_mode"] == "cluster")

    @property
    def on_yarn(self) -> bool:
        """Whether the master is YARN."""
        return bool(self._is_yarn)

    @property
    def on_kubernetes(self) -> bool:
        """Whether the master is Kubernetes."""
        return bool(self._is_kubernetes)

    @property
    def binary(self) -> str:
        """The spark-submit command."""
        return str(self._get_spark_binary_path()[0])

    @property
    def spark_conf(self) -> Mapping[str, Any]:
        """Spark's configuration, as it becomes arguments of spark-submit."""
        return dict(self._conf)

    def set_conf(self, name: str, value: str) -> None:
        """Set one property of Spark's configuration."""
        self._conf = {**self._conf, name: value}

    @property
    def application_name(self) -> str | None:
        """The application's name, ``None`` if it was given none."""
        return None if self._name == UNNAMED else self._name

    @application_name.setter
    def application_name(self, name: str) -> None:
        self._name = name

    def add_py_file(self, path: str) -> None:
        """Send a further Python file or archive along."""
        self._py_files = ",".join(filter(None, [self._py_files, path]))

    @property
    def polled(self) -> bool:
        """Whether the task asks the cluster for the end of a driver elsewhere; otherwise spark-submit waits for it."""
        by_api = self._should_track_driver_via_k8s_api() or self._should_track_yarn_application_via_rm_api()
        return bool(self._should_track_driver_status or by_api)

    def check_polling(self) -> None:
        """Check the provider's own arguments for polls.

        :raises ValueError: when they make no sense.
        """
        if self._track_driver_via_k8s_api:
            self._validate_track_driver_via_k8s_api_config()
        self._validate_yarn_track_via_rm_api_config()

    @property
    def remote_id(self) -> str | None:
        """The cluster's name for the driver, once it is known; in the form that the Spark operator keeps."""
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

    def submitted_conf(self) -> Mapping[str, Any]:
        """Return the configuration for spark-submit's arguments."""
        return self.spark_conf

    def submitted_environment(self) -> Mapping[str, str]:
        """Return what is added to spark-submit's environment, beside the operator's ``env_vars``."""
        return {}

    def read_output(self, lines: Iterator[str]) -> Iterator[str]:
        """Return the lines of spark-submit that the provider is to read and log."""
        return lines

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
        self._conf = dict(self.submitted_conf())
        args: list[str] = super()._build_spark_common_args()  # this makes the environment anew, from env_vars
        self._env = {**(self._env or {}), **self.submitted_environment()}
        return args

    def _poll_k8s_driver_via_api(self) -> str | None:
        phase: str | None = super()._poll_k8s_driver_via_api()
        if phase is None:  # the provider takes this for a success
            raise RuntimeError(
                f"The driver's pod {self._kubernetes_driver_pod} has vanished: nobody knows how it ended"
            )
        return phase

    def _process_spark_submit_log(self, itr: Iterator[Any]) -> None:
        super()._process_spark_submit_log(self.read_output(itr))
        if self._is_kubernetes and not self.in_cluster_mode:
            self._spark_exit_code = 0  # the provider says so at the first line, and a quiet driver prints none


class ProviderOperator(SparkSubmitOperator):
    """``SparkSubmitOperator``, which submits with a hook that it is given."""

    driver_keys = (SparkSubmitOperator.external_id_key, SparkSubmitOperator._K8S_DRIVER_STATUS_KEY)
    """The provider's keys for the driver of an earlier try, in Airflow's task state store."""

    def hook_arguments(self) -> dict[str, Any]:
        """Return this operator's arguments for a hook, each of which is an attribute of the same name."""
        names = list(inspect.signature(SparkSubmitHook.__init__).parameters)[1:]
        return {name: getattr(self, name if hasattr(self, name) else f"_{name}") for name in names}

    def submit_with(self, hook: SparkSubmitHook) -> None:
        """Let ``execute`` submit with this hook, and the cluster be asked with it."""
        self._hook = hook
