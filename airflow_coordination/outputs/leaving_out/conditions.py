"""``where=``: what readers ask for by least and greatest values of columns, and whether a file has none of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from airflow_coordination.outputs.leaving_out.extremes import DAY, INSTANT, TEXT, WHOLE, Extremes
from airflow_coordination.values.input_errors import InvalidInputError

Where = Mapping[str, tuple[Any, Any]]
"""By the name of a column the least and the greatest value that are asked for; ``None`` for no such bound."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_LONG: Final = 2**63
_FORM: Final = "Give a mapping of columns to pairs: where={'id': (1, 5)}"
_FILTER: Final = "Give whole numbers, texts, dates or datetimes with a zone; for all else use the DataFrame's own where"


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is asked for of one column.

    :param column: its name.
    :param kind: of the values.
    :param least: in the form of :class:`~.extremes.Extremes`, ``None`` for no bound.
    :param greatest: the same.
    """

    column: str
    kind: str
    least: Any
    greatest: Any

    def excludes(self, extremes: Extremes | None) -> bool:
        """Return whether no row of a file can match: a value that is null matches nothing."""
        if extremes is None or extremes.kind != self.kind:
            return False
        below = self.least is not None and extremes.greatest < self.least
        return below or (self.greatest is not None and extremes.least > self.greatest)


@dataclass(frozen=True, slots=True)
class Condition:
    """Everything that is asked for: a row has to match all of it."""

    row: tuple[Bounds, ...]

    @classmethod
    def of(cls, where: object) -> Condition | None:
        """Return what ``where=`` asks for, ``None`` for everything.

        :raises InvalidInputError: naming the column, its value and what can be asked for.
        """
        if where is None:
            return None
        if not isinstance(where, Mapping) or not where:
            raise InvalidInputError("where", where, "is no mapping of columns to what is asked for", _FORM)
        return cls(tuple(_bounds(column, pair) for column, pair in where.items()))

    def excludes(self, found: Mapping[str, Extremes]) -> bool:
        """Return whether no row of a file can match.

        :param found: the extremes of its columns, as far as they are known.
        """
        return any(each.excludes(found.get(each.column)) for each in self.row)


def _bounds(column: object, pair: object) -> Bounds:
    if not isinstance(column, str) or not column:
        raise InvalidInputError("where", column, "is no name of a column", _FORM)
    if not isinstance(pair, tuple | list) or len(pair) != 2 or all(value is None for value in pair):
        problem = "is no pair of a least and a greatest value, one of which may be None"
        raise InvalidInputError(f"where[{column!r}]", pair, problem, _FORM)
    found = [None if value is None else _value(column, value) for value in pair]
    kinds = {each[0] for each in found if each is not None}
    if len(kinds) > 1:
        raise InvalidInputError(f"where[{column!r}]", pair, "has values of two types", "Give two of one type")
    least, greatest = (None if each is None else each[1] for each in found)
    if least is not None and greatest is not None and least > greatest:
        raise InvalidInputError(
            f"where[{column!r}]", pair, "has its greatest value first", "Give the least value first"
        )
    return Bounds(column, kinds.pop(), least, greatest)


def _value(column: str, value: object) -> tuple[str, Any]:
    """Return the kind of a value, and its form in extremes."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise InvalidInputError(f"where[{column!r}]", value, "has no time zone", "Give an aware datetime")
        return INSTANT, (value - _EPOCH) // _MICROSECOND
    if isinstance(value, date):
        return DAY, (value - _EPOCH.date()).days
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InvalidInputError(f"where[{column!r}]", value, "is no UTF-8", "Give another text") from error
        return TEXT, value
    if type(value) is int and -_LONG <= value < _LONG:
        return WHOLE, value
    problem = f"is {type(value).__name__}, of which files have no least and greatest values that count"
    raise InvalidInputError(f"where[{column!r}]", value, problem, _FILTER)
