"""The merge of all settings, once: operator's argument > connection > section ``[coordination]`` > default."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from datetime import timedelta
from typing import Any, Final

from airflow.providers.common.compat.sdk import conf

from airflow_coordination.get_provider_info import get_provider_info
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.settings import DURATIONS, SWEEP_INTERVAL, Settings, check_known
from airflow_coordination.values.times import positive

SECTION: Final = "coordination"
_WORDS: Final = frozenset({"on_negative"})
SETTING_NAMES: Final = frozenset(field.name for field in fields(Settings))
_EXPORTED: Final = f"AIRFLOW__{SECTION.upper()}__"
_REFERENCES: Final = ("_cmd", "_secret")
"""Airflow's endings of options that say where the value is."""


def merge_settings(connection: Mapping[str, Any], arguments: Mapping[str, Any]) -> Settings:
    """Return the settings that hold for one task.

    :param connection: what the connection says; durations in seconds.
    :param arguments: the operator's arguments; ``None`` says "not given". Durations as timedelta or in seconds.
    :raises SettingsError: for a name that is no setting, naming its nearest neighbour, or a value that makes no sense.
    """
    check_known(arguments, SETTING_NAMES, "operator")
    given = {name: value for name, value in arguments.items() if value is not None}
    chosen = {**_configured(), **{k: v for k, v in connection.items() if v is not None}, **given}
    return Settings(**{name: _typed(name, value) for name, value in chosen.items()})


def sweep_interval() -> timedelta:
    """Return how often sensors sweep: ``[coordination] sweep_interval``, 30 s by default."""
    text = conf.get(SECTION, "sweep_interval", fallback="")
    if not text:
        return SWEEP_INTERVAL
    interval = seconds("sweep_interval", text)
    if interval <= timedelta(0):
        raise SettingsError("sweep_interval", text, "is not above zero", "Give seconds, for example 30")
    return interval


def configured_output_root() -> str | None:
    """Return ``[coordination] output_root``, ``None`` when it is not set."""
    return conf.get(SECTION, "output_root", fallback="") or None


def configured_properties() -> str:
    """Return the path ``[coordination] duties_properties``, empty when it is not set."""
    return conf.get(SECTION, "duties_properties", fallback="") or ""


def _configured() -> dict[str, Any]:
    """Return what the configuration section says; an empty ``no_progress_timeout`` switches the watch off.

    :raises SettingsError: for an option that does not exist, which would change nothing, and nobody would know.
    """
    _check_section()
    found = {name: conf.get(SECTION, name, fallback=None) for name in SETTING_NAMES}
    chosen: dict[str, Any] = {name: text for name, text in found.items() if text}
    if found["no_progress_timeout"] == "":
        chosen["no_progress_timeout"] = None
    return chosen


def _check_section() -> None:
    options = get_provider_info()["config"][SECTION]["options"]
    given = {name.lower() for name in (*(conf.getsection(SECTION) or ()), *_exported())}
    check_known(
        sorted(name for name in given if not name.endswith(_REFERENCES)),
        SETTING_NAMES | options.keys(),
        f"[{SECTION}]",
    )


def _exported() -> list[str]:
    """Return the options that the environment gives: Airflow 3.1 has no section before it has read its providers."""
    return [name.removeprefix(_EXPORTED) for name in os.environ if name.startswith(_EXPORTED)]


def _typed(name: str, value: Any) -> Any:
    if value is None or isinstance(value, timedelta) or name in _WORDS:
        return value
    return seconds(name, value) if name in DURATIONS else _whole(name, value)


def seconds(name: str, value: Any) -> timedelta:
    """Return a number of seconds as a duration.

    :raises SettingsError: when it is none; it names ``name``.
    """
    try:
        return timedelta(seconds=float(value))
    except (TypeError, ValueError, OverflowError) as error:
        raise SettingsError(name, value, "is no number of seconds", "Give seconds, for example 600") from error


def time_given(name: str, value: timedelta | float | None, *, zero: bool = False) -> timedelta | None:
    """Return an operator's argument as a duration, ``None`` for ``None``.

    :param zero: whether it may be zero.
    :raises InvalidInputError: when it is none, or not above zero; it names ``name``.
    """
    given = value if value is None or isinstance(value, timedelta) else seconds(name, value)
    return positive(name, given, zero=zero)


def _whole(name: str, value: Any) -> int:
    try:
        return int(value) if isinstance(value, str) else value
    except ValueError as error:
        raise SettingsError(name, value, "is no whole number", "Give for example 5") from error
