"""Kinds of key columns whose values can bound a range, and how a bound is written as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from sqlalchemy import types

from airflow_coordination.values.input_errors import InvalidInputError

LONGEST_BOUND: Final = 1_000
"""In characters of JSON, so that two bounds fit into a payload of 4 KB, and a hundred into a global state."""


@dataclass(frozen=True, slots=True)
class KeyKind:
    """One kind of key column.

    :param name: its name in a payload.
    :param python: the type of its values.
    :param sql: the SQL type of its bounds.
    :param written: turns a value into JSON.
    :param read: turns it back.
    """

    name: str
    python: type
    sql: types.TypeEngine[Any]
    written: Callable[[Any], Any]
    read: Callable[[Any], Any]
    present: Callable[[datetime], Any] = lambda now: None
    """The greatest key after which no row comes with the same or a lower one; ``None`` where keys are no times."""

    def bound(self, value: object) -> Any:
        """Return a value of the column as JSON.

        :raises InvalidInputError: when it is no value of this kind, or too long.
        """
        if not isinstance(value, self.python) or isinstance(value, bool):
            problem = f"holds a {type(value).__name__}, though it is of kind {self.name}"
            raise InvalidInputError("column", value, problem, "Use a column whose values are all of its type")
        written = self.written(value)
        length = len(json.dumps(written))
        if length > LONGEST_BOUND:
            problem = f"would bound a range by {length} characters, the limit is {LONGEST_BOUND}"
            raise InvalidInputError("column", value, problem, "Use a key column with shorter values")
        return written


def _as_it_is(value: Any) -> Any:
    return value


def _utc_clock(now: datetime) -> datetime:
    return now.astimezone(UTC).replace(tzinfo=None)


def _last_whole_day(now: datetime) -> date:
    """Return the last day that is over everywhere: rows of a day that is not may still come, and would not be seen."""
    return (now.astimezone(UTC) - timedelta(hours=12)).date() - timedelta(days=1)


KINDS: Final = {
    kind.name: kind
    for kind in (
        KeyKind("integer", int, types.BigInteger(), _as_it_is, _as_it_is),
        KeyKind("text", str, types.String(), _as_it_is, _as_it_is),
        KeyKind("decimal", Decimal, types.Numeric(), str, Decimal),
        KeyKind("date", date, types.Date(), date.isoformat, date.fromisoformat, _last_whole_day),
        KeyKind("timestamp", datetime, types.DateTime(), datetime.isoformat, datetime.fromisoformat, _utc_clock),
        KeyKind(
            "timestamptz",
            datetime,
            types.DateTime(timezone=True),
            datetime.isoformat,
            datetime.fromisoformat,
            _as_it_is,
        ),
        KeyKind("uuid", UUID, types.Uuid(), str, UUID),
    )
}


def kind_of(column_type: types.TypeEngine[Any]) -> KeyKind | None:
    """Return the kind of a column of this type, ``None`` if its values cannot bound a range."""
    try:
        python = column_type.python_type
    except NotImplementedError:
        return None
    if python is datetime and getattr(column_type, "timezone", False):
        return KINDS["timestamptz"]
    return next((kind for kind in KINDS.values() if kind.python is python), None)
