"""Time and chance, injected (design decision 12); durations, moments and numbers from outside."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol

from airflow_coordination.values.input_errors import InvalidInputError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(moment: datetime) -> int:
    """Return ``moment`` as whole microseconds since 1970; the inverse of :func:`from_micros`."""
    return (moment - EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """Return the UTC moment that lies ``micros`` microseconds after 1970."""
    return EPOCH + micros * _MICROSECOND


def moments_of(micros: Sequence[int | None]) -> list[datetime | None]:
    """Return the moment of each number, as :func:`from_micros` does; ``None`` of ``None``."""
    return [None if each is None else EPOCH + each * _MICROSECOND for each in micros]


def told_moment(micros: object) -> datetime | None:
    """Return a stored time that is for people only, ``None`` for what is no time: nothing else fails for it."""
    try:
        return from_micros(int(micros))  # type: ignore[call-overload]
    except (OverflowError, TypeError, ValueError):
        return None


class Span(Protocol):
    """From a moment on, up to another one that is not part of it, as the protocol needs it."""

    @property
    def start(self) -> datetime:
        """Its first moment, with a time zone."""

    @property
    def end(self) -> datetime:
        """The moment after it, with a time zone."""


class Clock(Protocol):
    """The clock, as the protocol needs it. Wall time never decides what counts; it is for people and for SQLite."""

    def now(self) -> datetime:
        """Return the wall time, timezone-aware, in UTC."""

    def monotonic(self) -> float:
        """Return seconds that never go back; only differences mean anything."""

    def sleep(self, seconds: float) -> None:
        """Wait for ``seconds``."""

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait until ``event`` is set, for ``seconds`` at most; return whether it is set."""


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """Return the wall time in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait for ``seconds``."""
        time.sleep(seconds)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait until ``event`` is set, for ``seconds`` at most; return whether it is set."""
        return event.wait(seconds)


class Randomness:
    """Operation ids, jitter, and the draw that keeps a class from starving.

    :param source: a :class:`random.Random`; the system's own generator unless a test gives a seeded one.
    """

    def __init__(self, source: random.Random | None = None) -> None:
        self._random = source or random.SystemRandom()

    def op_id(self) -> str:
        """Return a fresh operation id: 96 random bits as 24 hexadecimal digits."""
        return f"{self._random.getrandbits(96):024x}"

    def chance(self, probability: float) -> bool:
        """Return true with the given probability."""
        return self._random.random() < probability

    def jitter(self, seconds: float, share: float = 0.2) -> float:
        """Return ``seconds`` moved by up to ``share`` of itself in either direction."""
        return seconds * (1 + share * (2 * self._random.random() - 1))

    def rotated(self, items: list[Any]) -> list[Any]:
        """Return ``items`` from a random place on, then those before it."""
        start = self._random.randrange(len(items)) if items else 0
        return items[start:] + items[:start]

    def shuffle(self, items: list[Any]) -> None:
        """Put ``items`` into a random order, in place."""
        self._random.shuffle(items)


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
