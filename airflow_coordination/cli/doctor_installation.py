"""Checks of this host for ``doctor``: the distributions, the provider, and Java where Spark needs it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

from airflow_coordination.cli.java import FITTING, version_of
from airflow_coordination.stores.diagnostics import Finding, Verdict, looked
from airflow_coordination.systems.spark.session import CLASSIC, CLIENT, check_distributions, installed

_PROVIDERS: Final = "apache_airflow_provider"
_GET_JAVA: Final = "Install Java 17 or 21, and set JAVA_HOME to it where Airflow's tasks run"


def look_at_installation() -> Iterator[Finding]:
    """Yield the findings on this installation."""
    yield from looked(CLASSIC, _distributions)
    yield from _java()
    yield from _provider()


def _distributions() -> Iterator[Finding]:
    check_distributions()
    versions = {name: installed(name) for name in (CLASSIC, CLIENT)}
    found = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    yield Finding(CLASSIC, Verdict.OK, found or "not installed here; drivers need it")


def _java() -> Iterator[Finding]:
    """Say which Java a driver on this host gets; Spark Connect's client needs none."""
    if installed(CLASSIC) is None:
        return
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin/java")) if home else shutil.which("java")
    if program is None or not os.access(program, os.X_OK):
        found = f"JAVA_HOME is {home}, and there is no bin/java in it" if home else "JAVA_HOME is not set, none on PATH"
        yield Finding("java", Verdict.WRONG, found, _GET_JAVA)
        return
    version = version_of(program)
    fits = version in FITTING
    found = f"{version or 'no version'} at {program}"
    yield Finding("java", Verdict.OK if fits else Verdict.WRONG, found, "" if fits else _GET_JAVA)


def _provider() -> Iterator[Finding]:
    """Say whether Airflow, where there is one, finds this package."""
    if installed("apache-airflow-core") is None:
        return
    if any(entry.value.startswith("airflow_coordination.") for entry in entry_points(group=_PROVIDERS)):
        yield Finding("provider", Verdict.OK, "Airflow finds it")
    else:
        remedy = "Install the package airflow-coordination with pip; a copied folder has no entry points"
        yield Finding("provider", Verdict.WRONG, "Airflow does not find it", remedy)
