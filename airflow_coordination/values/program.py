"""The program that people type our commands to: messages name the one that is there."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

WITH_AIRFLOW: Final = ("airflow", "coordination")
BY_PYTHON: Final = ("python", "-m", "airflow_coordination")
_SINCE: Final = (3, 2)
"""The first Airflow whose command line takes the commands of providers that bring neither executor nor auth manager."""


def installed_airflow() -> tuple[int, int] | None:
    """Return major and minor version of the Airflow installed here, ``None`` where there is none; it is not loaded."""
    if find_spec("airflow") is None:
        return None
    from importlib.metadata import PackageNotFoundError, version  # a sixth of our own import: executors do without

    try:
        found = version("apache-airflow-core")
    except PackageNotFoundError:
        return None
    major, minor = found.split(".")[:2]
    return int(major), int(minor)


def program(airflow: tuple[int, int] | None) -> tuple[str, ...]:
    """Return the words that begin a command of ours.

    :param airflow: major and minor version of the Airflow that is there; without one, who reads the message may be
        elsewhere, where there is one.
    """
    return WITH_AIRFLOW if airflow is None or airflow >= _SINCE else BY_PYTHON


PROGRAM: Final = program(installed_airflow())
TYPED: Final = " ".join(PROGRAM)
"""What stands in sentences: ``airflow coordination``, or on Airflow 3.1 ``python -m airflow_coordination``."""
