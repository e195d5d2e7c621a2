"""JSON from outside: limited before it is parsed, strict, limited in size and depth (promises S14, X6)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, chain, repeat
from typing import Any, Final, NoReturn

from airflow_coordination.values.input_errors import InvalidInputError, PayloadError, ProgressStateError, shown

_STRINGS: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_NO_BRACKETS: Final = re.compile(r"[^\[\]{}]++")
_STEPS: Final = {"[": 1, "{": 1, "]": -1, "}": -1}


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
    return _STRICT.decode(decoded)


def as_text(value: object) -> str:
    """Return a value of a document that is to be text.

    :raises TypeError: when it is none.
    """
    if not isinstance(value, str):
        raise TypeError(f"{shown(value)} is no text")
    return value


def as_count(value: object) -> int:
    """Return a value of a document that is to be a whole number from 0 on.

    :raises TypeError: when it is none.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError(f"{shown(value)} is no count")
    return value


def _check_depth(text: str, limit: int) -> None:
    if text.count("[") + text.count("{") <= limit:
        return
    brackets = _NO_BRACKETS.sub("", _STRINGS.sub("", text))
    if max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > limit:
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


_STRICT: Final = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_number, parse_float=_finite)
"""Made once: to make one takes as long as to read a head record's blocks with it."""
_SCAN: Final[Callable[[str, int], tuple[Any, int]]] = _STRICT.scan_once  # type: ignore[attr-defined]


def scanned(texts: Sequence[Any], max_bytes: int) -> list[list[list[Any]]] | None:
    """Return the values of many texts that are all lists of lists, in a third of the time of :func:`parse`.

    :param texts: each by itself: two halves of one never make a whole.
    :param max_bytes: the most that one may have.
    :return: ``None`` when anything is odd about any of them, and :func:`parse` has to say what. How deep the innermost
        values go is not looked at.
    """
    try:
        if not texts or max(map(len, texts)) > max_bytes:
            return None
        found = list(map(_SCAN, texts, repeat(0)))
    except (RecursionError, TypeError, ValueError):
        return None
    if [end for _, end in found] != [*map(len, texts)]:  # it also ends early at a text that is no JSON
        return None
    values = [value for value, _ in found]
    if {*map(type, values)} != {list} or not {*map(type, chain.from_iterable(values))} <= {list}:
        return None
    return values


MAX_PROGRESS_BYTES = 256 * 1024
MAX_PAYLOAD_BYTES = 4 * 1024
MAX_DEPTH = 32
LEAST_MEMBER, LEAST_ELEMENT = 4, 1
"""Bytes that a member of an object takes beside its key (``"":0``), and an element of an array."""
MAX_STORED_BYTES, MAX_STORED_DEPTH = 1024 * 1024, 64
"""What is read: Data Prepper's limits are others than ours."""
_FEW, _LONG = 16, 200
_TEXTS, _SHORT = frozenset({str}), frozenset({str, int, float, bool, type(None)})
_AS_GIVEN = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_SORTED = json.JSONEncoder(allow_nan=False, separators=(",", ":"), sort_keys=True)


def _check(value: Any, field: str, error: type[InvalidInputError], limit: int) -> None:
    """Refuse what JSON cannot hold, or not within ``limit``, as soon as it is seen: values may hold themselves."""
    if _is_flat_and_short(value):
        return
    left = limit
    waiting: list[tuple[Any, int]] = [(value, 0)]
    while waiting:
        found, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise error(field, "…", f"is nested deeper than {MAX_DEPTH} levels", "Flatten it")
        if isinstance(found, Mapping):
            _check_keys(found, field, error)
        size, inner = _seen(found)
        left -= size
        if left < 0:
            problem = f"has more bytes of JSON than fit; the limit is {limit}"
            raise error(field, type(value).__name__, problem, "Keep the data elsewhere and its address here")
        waiting += [(each, depth + 1) for each in inner]


def _is_flat_and_short(value: Any) -> bool:
    """Return whether a value is an object of a few plain values, as most payloads are: a walk through it costs more."""
    if type(value) is not dict or len(value) > _FEW or not _TEXTS.issuperset(map(type, value)):
        return False
    inner = value.values()
    return _SHORT.issuperset(map(type, inner)) and all(type(each) is not str or len(each) < _LONG for each in inner)


def _check_keys(found: Mapping[Any, Any], field: str, error: type[InvalidInputError]) -> None:
    for key in found:
        if not isinstance(key, str):
            raise error(field, key, "has a key that is not text", "Use string keys; JSON has no others")


def _seen(found: Any) -> tuple[int, Iterable[Any]]:
    """Return how many bytes a value takes at least without what is in it, and what is in it."""
    if isinstance(found, Mapping):
        return LEAST_MEMBER * len(found), found.values()
    if isinstance(found, list | tuple):
        return LEAST_ELEMENT * len(found), found
    return (len(found) if isinstance(found, str) else 0), ()


def _encode(
    value: Any, field: str, limit: int, error: type[InvalidInputError], encoder: json.JSONEncoder = _AS_GIVEN
) -> str:
    _check(value, field, error, limit)
    try:
        text = encoder.encode(value)
    except (TypeError, ValueError, RecursionError) as cause:
        raise error(field, value, f"cannot be written as JSON ({cause})", "Use plain JSON values") from cause
    if len(text) > limit:
        raise error(
            field,
            text,
            f"has {len(text)} bytes of JSON, the limit is {limit}",
            "Keep the data elsewhere and its address here",
        )
    return text


def encode_progress(state: object) -> str | None:
    """Return progress as ASCII JSON text, ``None`` for no progress.

    :param state: any JSON value: string keys, no NaN, at most 32 levels and 256 KiB.
    :raises ProgressStateError: otherwise; the last good value stays stored.
    """
    return None if state is None else _encode(state, "progress_state", MAX_PROGRESS_BYTES, ProgressStateError)


def decode_progress(text: str | None, field: str = "progress_state") -> Any:
    """Return the progress that ``text`` holds.

    :raises ProgressStateError: when it is not JSON, holds what JSON does not have (NaN, a key twice), or is longer or
        deeper than anything that was ever stored: it is never taken for "no progress" (Data Prepper does).
    """
    if text is None:
        return None
    try:
        return parse(text, max_bytes=MAX_STORED_BYTES, max_depth=MAX_STORED_DEPTH)
    except ValueError as cause:
        raise ProgressStateError(
            field,
            text,
            f"is corrupt in the store ({cause})",
            "Repair it, or reset the partition to start it afresh",
        ) from cause


def encode_payload(payload: Mapping[str, Any] | None) -> str | None:
    """Return a payload as ASCII JSON text with sorted keys, so that equal payloads are equal text.

    :raises PayloadError: when it is not a JSON object of at most 4 KB.
    """
    if payload is None:
        return None
    if not isinstance(payload, Mapping):
        raise PayloadError("payload", payload, f"is {type(payload).__name__}, not a JSON object", "Give a dict")
    return _encode(dict(payload), "payload", MAX_PAYLOAD_BYTES, PayloadError, _SORTED)


def decode_object(text: str | None, field: str = "state") -> dict[str, Any]:
    """Return the JSON object in ``text``, an empty one for ``None``.

    :param field: how the error names it.
    :raises ProgressStateError: when it is something else.
    """
    value = decode_progress(text, field)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ProgressStateError(field, value, "is not a JSON object", "Repair it in the store")
    return value
