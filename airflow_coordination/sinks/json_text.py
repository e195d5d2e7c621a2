"""Records as JSON text."""

from __future__ import annotations

import base64
import json
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any


def record_json(record: Any) -> str:
    """Return a record as one line of JSON: times as ISO text, decimals as text, bytes in base 64.

    :raises ValueError: for what JSON has no place for: NaN and infinities.
    """
    return json.dumps(record, default=_plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def forgiving_json(record: Any) -> str:
    """Return a record as one line of JSON whatever is in it, for people who look for what was wrong with it."""
    return json.dumps(record, default=_plain_or_text)


def _plain(value: Any) -> Any:
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise ValueError(f"{type(value).__name__} has no form in JSON")


def _plain_or_text(value: Any) -> Any:
    try:
        return _plain(value)
    except ValueError:
        return ascii(value)
