"""Durations that must be there."""

from __future__ import annotations

from datetime import timedelta

from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.times import positive


def seconds(field: str, value: timedelta) -> float:
    """Return a positive duration in seconds.

    :raises InvalidInputError: for anything else, ``None`` included, naming ``field``.
    """
    checked = positive(field, value)
    if checked is None:
        raise InvalidInputError(field, value, "is no duration: nothing may wait for ever", "Give a positive timedelta")
    return checked.total_seconds()
