"""JSON as it is stored: limited before it is parsed, and nothing in it that Python reads and JSON does not have."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


def parse(text: str | bytes, *, max_bytes: int, max_depth: int) -> Any:
    """Return the value of ``text``.

    :param max_bytes: the most that is looked at.
    :param max_depth: the most levels of arrays and objects.
    :raises ValueError: when it is longer, deeper or no JSON, names a key twice, or holds a number that is none
        (``NaN``, ``1e999``).
    """
    if len(text) > max_bytes:
        raise ValueError(f"{len(text)} bytes, the limit is {max_bytes}")
    decoded = text.decode() if isinstance(text, bytes) else text
    _check_depth(decoded, max_depth)
    return json.loads(decoded, object_pairs_hook=_object, parse_constant=_no_number, parse_float=_finite)


def _check_depth(text: str, limit: int) -> None:
    if text.count("[") + text.count("{") <= limit:
        return
    depth = 0
    for token in _TOKENS.finditer(text):
        if token[0] in "[{":
            depth += 1
        elif token[0] in "]}":
            depth -= 1
        if depth > limit:
            raise ValueError(f"nested deeper than {limit} levels")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"names {ascii(_first_repeated(pairs))[:80]} twice")
    return found


def _first_repeated(pairs: list[tuple[str, Any]]) -> str:
    """Return the first name that stands there a second time; each is looked up once."""
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            return name
        seen.add(name)
    raise AssertionError("every name stands there once")


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:80]} is too large a number")
    return number
