"""How long a store keeps its history: said in its configuration, so that all who use it say the same."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.times import LONGEST

OPTION: Final = "history_retention"
OFF: Final = "off"
_OFF: Final = (OFF, "false")
"""YAML reads a bare ``off`` as false."""
DEFAULT: Final = timedelta(days=30)

_REMEDY: Final = f"Give whole days, such as {OPTION}={DEFAULT.days}, or {OPTION}={OFF}"


def retention_of(given: object, default: timedelta | None = DEFAULT) -> timedelta | None:
    """Return how long ended tenures are remembered, ``None`` = not at all.

    :param given: days, as a number or a text, or ``off``; ``None`` = ``default``.
    :raises SettingsError: when it is something else.
    """
    if given is None:
        return default
    if str(given).strip().lower() in _OFF:
        return None
    try:
        days = int(str(given))
    except ValueError:
        raise SettingsError(f"store.{OPTION}", given, "is no number of days", _REMEDY) from None
    if not 0 < days <= LONGEST.days:
        raise SettingsError(f"store.{OPTION}", given, f"is not between 1 and {LONGEST.days} days", _REMEDY)
    return timedelta(days=days)
