"""What is refused, or warned of, before anything is submitted."""

from __future__ import annotations

import re
import shutil
import socket
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Final

from airflow_coordination.hooks.credentials import Driver
from airflow_coordination.hooks.spark_submit import LeasedSparkSubmitHook
from airflow_coordination.leases.errors import DeploymentError, SettingsError
from airflow_coordination.operators.worker import check_java

_RUN_DATES: Final = re.compile(
    r"\{[{%][^}]{0,1000}\b(ds|ds_nodash|ts|ts_nodash|ts_nodash_with_tz|data_interval_start|data_interval_end|logical_date|"
    r"execution_date|run_id|dag_run|prev_[a-z_]+|next_[a-z_]+)\b"
)


class RunDateWarning(UserWarning):
    """An argument follows the run's date, though another run may process the partition."""


def warn_of_run_dates(task_id: str, source: object, arguments: Mapping[str, Any]) -> None:
    """Warn where arguments are templated by run dates while the source is standing: its name is no template.

    :param source: the name, or what Airflow makes it of later.
    """
    if not isinstance(source, str) or "{{" in source:
        return
    dated = sorted(name for name, value in arguments.items() if any(map(_RUN_DATES.search, _texts(value))))
    if dated:
        warnings.warn(
            f"Task {task_id!r}: {', '.join(dated)} follow this run's date, but source {source!r} is standing: another "
            "run's partition would get this run's date. Put what a partition needs into its payload, or make the "
            "source's name a template too.",
            RunDateWarning,
            stacklevel=4,
        )


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for inner in value.values() for text in _texts(inner)]
    if isinstance(value, list | tuple):
        return [text for inner in value for text in _texts(inner)]
    return []


def is_foreign(application: str) -> bool:
    """Return whether an application knows nothing of leases for sure: ours are Python programs."""
    return not application.endswith(".py")


def check_submission(
    hook: LeasedSparkSubmitHook, application: str, env_vars: Mapping[str, Any] | None, *, durable: bool
) -> None:
    """Refuse submissions that cannot start, or whose end the task would not learn of.

    :param durable: whether the Spark operator keeps what the cluster calls the driver.
    :raises SettingsError: saying what to do instead.
    :raises DeploymentError: when this worker lacks what a submission needs.
    :raises ValueError: from the Spark provider, which checks its own arguments.
    """
    if hook.driver is Driver.STANDALONE:
        _check_standalone(hook, application, env_vars)
    if hook.driver is Driver.YARN and durable and not hook.polled:
        remedy = "Set it, with yarn_resourcemanager_webapp_address in the Spark connection, or set durable=False"
        raise SettingsError("yarn_track_via_rm_api", False, "leaves a retry no way to find the driver", remedy)
    hook.check_tracking()
    if shutil.which(hook.binary) is None:
        problem = f"spark_binary {hook.binary!a} is not on the PATH of worker {socket.gethostname()!a}"
        raise DeploymentError(problem, "Install pyspark for the worker, and put its bin directory on PATH")
    check_java(env_vars, hook.binary)


def _check_standalone(hook: LeasedSparkSubmitHook, application: str, env_vars: Mapping[str, Any] | None) -> None:
    remedy = "Use deploy_mode='client'"
    if not is_foreign(application):
        problem = f"starts the driver on the cluster of {hook.master}, where Spark runs no Python programs"
        raise SettingsError("deploy_mode", "cluster", problem, remedy)
    if env_vars:
        raise SettingsError("env_vars", ", ".join(env_vars), "cannot reach a driver on a standalone cluster", remedy)
