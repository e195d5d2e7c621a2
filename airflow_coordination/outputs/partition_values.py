"""The values of partition columns, which are written into directory names as text: what they were is found again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from re import fullmatch
from urllib.parse import unquote

NULL = "__HIVE_DEFAULT_PARTITION__"
"""Spark's directory value for null, and for an empty text."""
_INT, _LONG = 2**31, 2**63


def values_in(path: str) -> dict[str, str | None]:
    """Return the partition columns in a file's path inside its block, in their order, with their text."""
    pairs = (part.partition("=") for part in path.split("/")[:-1] if "=" in part)
    return {unquote(name): None if value == NULL else unquote(value) for name, _, value in pairs}


def inferred(values: Iterable[str]) -> str:
    """Return the narrowest type that gives back exactly these texts.

    It is ``string`` for text that only looks like numbers (``01234``), and for no text at all.

    :param values: all values that a column has in a dataset.
    """
    texts = set(values)
    kinds = (kind for kind, fits in _KINDS.items() if texts and all(fits(text) for text in texts))
    return next(kinds, "string")


def _whole(text: str, limit: int) -> bool:
    return bool(fullmatch(r"0|-?[1-9][0-9]{0,18}", text)) and -limit <= int(text) < limit


def _floating(text: str) -> bool:
    """Return whether Java and Python write the number like this; in Java it is ``1.0E7`` above, ``1.0E-4`` below."""
    if not fullmatch(r"-?[0-9]{1,7}\.[0-9]+", text) or repr(float(text)) != text:
        return False
    return float(text) == 0 or abs(float(text)) >= 1e-3


def _date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _timestamp(text: str) -> bool:
    """Return whether Spark writes a time of day like this: a fraction without zeros at its end, or none."""
    day, _, time = text.partition(" ")
    return _date(day) and bool(fullmatch(r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{0,5}[1-9])?", time))


_KINDS: dict[str, Callable[[str], bool]] = {
    "integer": lambda text: _whole(text, _INT),
    "long": lambda text: _whole(text, _LONG),
    "double": _floating,
    "date": _date,
    "timestamp": _timestamp,
}
