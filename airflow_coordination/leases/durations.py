"""Durations, moments and numbers from outside: timezone-aware, not negative, not absurd."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from airflow_coordination.leases.errors import InvalidInputError

LONGEST: Final = timedelta(days=36_525)


def whole_above_zero(field_name: str, value: object) -> None:
    """Refuse what is no whole number above zero.

    :raises InvalidInputError: naming ``field_name``.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidInputError(field_name, value, "is not a whole number above zero", "Give 1 or more")


def aware(field_name: str, value: object) -> None:
    """Refuse what is no moment with a time zone.

    :raises InvalidInputError: naming ``field_name``.
    """
    remedy = "Give it with a time zone, such as UTC"
    if not isinstance(value, datetime):
        raise InvalidInputError(field_name, value, f"is {type(value).__name__}, not a datetime", remedy)
    if value.tzinfo is None:
        raise InvalidInputError(field_name, value, "has no time zone", remedy)


def positive(field_name: str, value: timedelta | None, *, zero: bool = False) -> timedelta | None:
    """Return ``value`` if it is a duration above zero (or zero, if allowed), ``None`` for ``None``.

    :raises InvalidInputError: otherwise, naming ``field_name``.
    """
    if value is None:
        return None
    if not isinstance(value, timedelta):
        raise InvalidInputError(field_name, value, f"is {type(value).__name__}, not a timedelta", "Give a timedelta")
    if value > LONGEST:
        raise InvalidInputError(field_name, value, "is longer than 100 years", "Give a shorter timedelta")
    if value < timedelta(0) or (value == timedelta(0) and not zero):
        raise InvalidInputError(field_name, value, "is negative" if value else "is zero", "Give a positive timedelta")
    return value


def needed(field_name: str, value: timedelta | None, *, zero: bool = False) -> timedelta:
    """Return ``value`` if it is a duration above zero (or zero, if allowed).

    :raises InvalidInputError: otherwise, for ``None`` too, naming ``field_name``.
    """
    found = positive(field_name, value, zero=zero)
    if found is None:
        raise InvalidInputError(field_name, value, "is no duration", "Give a timedelta, or leave it out")
    return found


def duration(field: str, value: timedelta | datetime | None, now: Callable[[], datetime]) -> timedelta | None:
    """Return how long from now ``value`` is: a duration as it is, a moment by the store's clock.

    :raises InvalidInputError: for a negative duration, or a moment without a time zone.
    """
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise InvalidInputError(field, value, "has no time zone", "Give an aware datetime, or a timedelta from now")
        value = max(value - now(), timedelta(0))
    if value is not None and not isinstance(value, timedelta):
        raise InvalidInputError(field, value, f"is {type(value).__name__}", "Give a timedelta or an aware datetime")
    if value is not None and value < timedelta(0):
        raise InvalidInputError(field, value, "is negative", "Give how long from now, zero or more")
    return positive(field, value, zero=True)
