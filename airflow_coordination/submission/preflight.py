"""The preflight of a submission: what is refused before anything is acquired."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Mapping
from typing import Any

from airflow_coordination.submission.credential_routes import Driver
from airflow_coordination.submission.spark_submit import LeasedSparkSubmitHook
from airflow_coordination.submission.worker_checks import check_java
from airflow_coordination.values.errors import DeploymentError
from airflow_coordination.values.input_errors import SettingsError


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
