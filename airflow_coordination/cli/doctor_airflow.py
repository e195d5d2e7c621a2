"""``airflow coordination doctor`` on Airflow itself: the configuration, Spark's connection, the output root."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from airflow.configuration import conf
from airflow.providers.common.compat.sdk import AirflowNotFoundException

from airflow_coordination.cli.doctor import look_at_output_root
from airflow_coordination.get_provider_info import get_provider_info
from airflow_coordination.hooks.coordination import CoordinationHook
from airflow_coordination.hooks.identity import known_airflow_id
from airflow_coordination.hooks.policies import POLICIES
from airflow_coordination.hooks.settings import SECTION, sweep_interval
from airflow_coordination.stores.diagnostics import Finding, Verdict, looked
from airflow_coordination.values.settings import check_known

_SPARK: Final = "spark_default"
_VARIABLE: Final = f"AIRFLOW__{SECTION.upper()}__"
_SUFFIXES: Final = ("_cmd", "_secret")
"""Airflow's ways to name where a value is, in place of the value."""


def look_around(conn_id: str) -> Iterator[Finding]:
    """Yield what there is to say of Airflow's own part.

    :param conn_id: the connection of the store.
    """
    hook = CoordinationHook(conn_id)
    yield from looked("settings", lambda: _settings(hook))
    yield from looked("airflow name", _name)
    yield from looked("retries", lambda: retries(POLICIES))
    yield from looked("spark connection", _spark_connection)
    yield from looked("output root", lambda: _output_root(hook))


def _settings(hook: CoordinationHook) -> Iterator[Finding]:
    """Say whether all that is configured is known and makes sense; Airflow itself passes over what it does not know."""
    known = set(get_provider_info()["config"][SECTION]["options"]) | {"max_closed_count"}
    named = sorted(_configured())
    check_known(named, known, f"[{SECTION}]")
    hook.settings({})
    sweep_interval()
    yield Finding("settings", Verdict.OK, ", ".join(named) if named else "the defaults")


def _name() -> Iterator[Finding]:
    """Say by which name owners are told from those of other Airflows."""
    name = known_airflow_id()
    found = f"owners of leases name this Airflow {name!a}" if name else "the first task that owns a lease makes it"
    yield Finding("airflow name", Verdict.OK, found)


def retries(policies: bool) -> Iterator[Finding]:
    """Say whether Airflow asks our operators when a failed task is worth trying again.

    :param policies: whether this Airflow knows retry policies.
    """
    if policies:
        yield Finding("retries", Verdict.OK, "our operators say when a failed task is tried again")
        return
    found = "this Airflow has no retry policies (3.3 has): every failed task is tried again after its retry_delay"
    remedy = "Nothing counts twice by it; give retries=2 or more, and a retry_delay as long as a partition's own"
    yield Finding("retries", Verdict.UNKNOWN, found, remedy)


def _configured() -> set[str]:
    """Return the options of our section that somebody wrote, in the file or in the environment."""
    written = set(conf.getsection(SECTION) or {}) if conf.has_section(SECTION) else set()
    written |= {name.removeprefix(_VARIABLE).lower() for name in os.environ if name.startswith(_VARIABLE)}
    return {next((name.removesuffix(end) for end in _SUFFIXES if name.endswith(end)), name) for name in written}


def _spark_connection() -> Iterator[Finding]:
    try:
        connection = CoordinationHook.get_connection(_SPARK)
    except AirflowNotFoundException:
        found = f"there is no connection {_SPARK}; the Spark operator then submits to YARN"
        remedy = f"Make it: airflow connections add {_SPARK} --conn-type spark --conn-host 'local[*]', or your master"
        yield Finding("spark connection", Verdict.WRONG, found, f"{remedy}; or name another one with conn_id=")
        return
    yield Finding("spark connection", Verdict.OK, f"{_SPARK}: {connection.host or 'yarn'}")


def _output_root(hook: CoordinationHook) -> Iterator[Finding]:
    root = hook.output_root(None)
    if root is None:
        found = "neither the connection nor the configuration names one; operators that publish must"
        remedy = f"Set [{SECTION}] output_root, output_root of the connection, or of each operator"
        yield Finding("output root", Verdict.UNKNOWN, found, remedy)
        return
    yield from look_at_output_root(root)
