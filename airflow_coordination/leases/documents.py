"""JSON documents as the store keeps them: text, limited in size and depth (promises S14, X6)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from airflow_coordination.leases.errors import InvalidInputError, PayloadError, ProgressStateError

MAX_PROGRESS_BYTES = 256 * 1024
MAX_PAYLOAD_BYTES = 4 * 1024
MAX_DEPTH = 32
_AS_GIVEN = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_SORTED = json.JSONEncoder(allow_nan=False, separators=(",", ":"), sort_keys=True)


def _check(value: Any, field: str, error: type[InvalidInputError], depth: int = 0) -> None:
    if depth > MAX_DEPTH:
        raise error(field, "…", f"is nested deeper than {MAX_DEPTH} levels", "Flatten it")
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise error(field, key, "has a key that is not text", "Use string keys; JSON has no others")
            _check(inner, field, error, depth + 1)
    elif isinstance(value, list | tuple):
        for inner in value:
            _check(inner, field, error, depth + 1)


def _encode(
    value: Any, field: str, limit: int, error: type[InvalidInputError], encoder: json.JSONEncoder = _AS_GIVEN
) -> str:
    _check(value, field, error)
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

    :raises ProgressStateError: when it is not JSON: it is never taken for "no progress" (Data Prepper does).
    """
    if text is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as cause:
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
