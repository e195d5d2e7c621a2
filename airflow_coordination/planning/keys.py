"""What a partition's key tells of its interval: ``%Y-%m-%d-*`` reads the day out of ``2013-01-31-EWR``."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from airflow_coordination.planning.intervals import Interval
from airflow_coordination.planning.periods import Period, parse_period
from airflow_coordination.values.input_errors import InvalidInputError

_PARTS: Final = {
    "%Y": ("year", r"\d{4}"),
    "%m": ("month", r"\d\d"),
    "%d": ("day", r"\d\d"),
    "%H": ("hour", r"\d\d"),
    "%M": ("minute", r"\d\d"),
}
_ORDER: Final = ("year", "month", "day", "hour", "minute")
_PERIODS: Final = ("P1Y", "P1M", "P1D", "PT1H", "PT1M")
_TOKEN: Final = re.compile(r"%.?|\*|[^%*]+", re.DOTALL)
_REMEDY: Final = "Write such as %Y-%m-%d, of %Y, %m, %d, %H, %M from the year on, each once; * stands for anything"


def interval_from_key(pattern: str, key: str) -> Interval | None:
    """Return the interval that a key tells: the year, month, day, hour or minute it names, in UTC.

    :param pattern: text with ``%Y``, ``%m``, ``%d``, ``%H``, ``%M`` (two digits each, the year four) and ``*``.
    :param key: a partition key.
    :return: ``None`` for a key that is not of the pattern, and for a day that is in no calendar.
    :raises InvalidInputError: when the pattern is none.
    """
    form, period = _read(pattern)
    found = form.fullmatch(key)
    if found is None:
        return None
    said = {name: int(text) for name, text in found.groupdict().items()}
    try:
        start = datetime(**{"month": 1, "day": 1, **said}, tzinfo=UTC)
    except ValueError:
        return None
    return Interval(start, period.after(start))


def check_pattern(field: str, pattern: object) -> str:
    """Return a pattern of keys if it is one.

    :param field: how the error names it.
    :raises InvalidInputError: otherwise.
    """
    if not isinstance(pattern, str):
        raise InvalidInputError(field, pattern, "is no text", _REMEDY)
    try:
        _read(pattern)
    except InvalidInputError as error:
        raise InvalidInputError(field, pattern, error.problem, error.remedy) from None
    return pattern


@lru_cache(maxsize=64)
def _read(pattern: str) -> tuple[re.Pattern[str], Period]:
    form, seen = "", []
    for token in _TOKEN.findall(pattern):
        name, digits = _PARTS.get(token, ("", ""))
        if name in seen:
            raise InvalidInputError("pattern", pattern, f"names {token} twice", _REMEDY)
        if token.startswith("%") and not name and token != "%%":
            raise InvalidInputError("pattern", pattern, f"has {token}, which is not read here", _REMEDY)
        seen += [name] if name else []
        form += f"(?P<{name}>{digits})" if name else _text(token)
    if not seen or sorted(seen, key=_ORDER.index) != list(_ORDER[: len(seen)]):
        raise InvalidInputError("pattern", pattern, "does not tell a time from its year on", _REMEDY)
    return re.compile(form, re.ASCII | re.DOTALL), parse_period("period", _PERIODS[len(seen) - 1])


def _text(token: str) -> str:
    return ".*" if token == "*" else re.escape("%" if token == "%%" else token)
