"""The preflight of a submission: what is refused, of it and of its worker, before anything is acquired."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from airflow_coordination.submission.credential_routes import Driver
from airflow_coordination.submission.spark_submit import LeasedSparkSubmitHook
from airflow_coordination.values.errors import DeploymentError
from airflow_coordination.values.input_errors import SettingsError

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_NO_FILES: Final = ("spark-internal", "pyspark-shell", "spark-shell", "sparkr-shell")
"""The words that spark-submit takes in the place of a file."""


def check_java(env_vars: Mapping[str, Any] | None, binary: str) -> None:
    """Refuse a worker without Java, which spark-submit needs in every deploy mode.

    A wrapper around spark-submit, and a ``spark-env.sh``, may know of a Java that cannot be seen from here.

    :param env_vars: what the operator adds to spark-submit's environment.
    :param binary: what is called.
    :raises DeploymentError: naming this host and where Java was looked for.
    """
    environment = {**os.environ, **{name: str(value) for name, value in (env_vars or {}).items()}}
    if Path(binary).name != "spark-submit" or _has_its_own_environment(environment, binary):
        return
    home = environment.get("JAVA_HOME")
    if home:
        found, place = shutil.which("java", path=str(Path(home, "bin"))), f"below JAVA_HOME={home!a}"
    else:
        found, place = shutil.which("java", path=environment.get("PATH")), "on PATH, and JAVA_HOME is not set"
    if found is None:
        problem = f"Worker {socket.gethostname()!a} has no Java {place}, which spark-submit needs"
        raise DeploymentError(problem, "Install Java 17 or 21 there")


def _has_its_own_environment(environment: Mapping[str, str], binary: str) -> bool:
    """Return whether Spark reads a ``spark-env.sh`` before it looks for Java."""
    found = shutil.which(binary)
    beside = Path(found).resolve().parent.parent / "conf" if found else None
    home = environment.get("SPARK_HOME")
    places = (environment.get("SPARK_CONF_DIR"), Path(home, "conf") if home else None, beside)
    return any(Path(place, "spark-env.sh").is_file() for place in places if place)


def local_file(application: str) -> str:
    """Return the application as spark-submit gets it: a path of this worker absolute, anything else as it is.

    :raises DeploymentError: when the path leads to no file on this worker.
    """
    if _SCHEME.match(application) and not application.startswith("file:"):
        return application
    if application in _NO_FILES or not application:
        return application
    path = Path("/" + application.removeprefix("file:").lstrip("/") if application.startswith("file:") else application)
    if path.is_file():
        return application if path.is_absolute() else str(path.absolute())
    where = f" (the working folder is {str(Path.cwd())!a})" if not path.is_absolute() else ""
    problem = f"The application {application!a} is no file on worker {socket.gethostname()!a}{where}"
    raise DeploymentError(problem, "Give its absolute path, and put it there on every worker")


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
