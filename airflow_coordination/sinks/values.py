"""Records as Python values: maps are objects, and a value that Python cannot have is told apart from the others."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_coordination.sinks.json_text import record_json
from airflow_coordination.sinks.protocol import Record


@dataclass(frozen=True, slots=True)
class Unreadable:
    """In the place of a value such as a time beyond the year 9999, or text that is no UTF-8.

    :param reason: why it cannot be had.
    """

    reason: str


class Records:
    """The rows of a batch as Python values, made when the first is wanted: a batch for blocks only needs none.

    :param batch: of Arrow.
    :param variants: the columns that hold JSON text in the place of a value.
    """

    def __init__(self, batch: Any, variants: Container[str] = ()) -> None:
        self._batch, self._variants = batch, variants
        self._made: list[Record] | None = None
        self._odd = False

    def __getitem__(self, row: int) -> Record:
        """Return one record."""
        if self._made is None:
            names = self._batch.schema.names
            columns = [self._values(self._batch.column(place), name) for place, name in enumerate(names)]
            self._made = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        return self._made[row]

    def refusals(self, rows: Sequence[int], columns: Iterable[str] | None) -> dict[int, str]:
        """Return why records cannot be given to a sink, by their place among ``rows``.

        :param columns: those that the sink gets; ``None`` for all.
        """
        if not rows or self[rows[0]] is None or not self._odd:
            return {}
        names = list(columns or self._batch.schema.names)
        found = ((place, _why_not(self[row], names)) for place, row in enumerate(rows))
        return {place: reason for place, reason in found if reason}

    def _values(self, column: Any, name: str) -> list[Any]:
        try:
            values = column.to_pylist()
        except Exception:  # one of them is to blame: OverflowError, UnicodeDecodeError, KeyError, ArrowInvalid
            values = [_value(each) for each in column]
            self._odd = self._odd or any(isinstance(each, Unreadable) for each in values)
        if name in self._variants:
            return [json.loads(each) if isinstance(each, str) else each for each in values]
        return [with_objects(each, column.type) for each in values] if _has_maps(column.type) else values


def with_objects(value: Any, kind: Any) -> Any:
    """Return a value whose maps, which Arrow gives as pairs, are objects under their keys as text."""
    import pyarrow.types as of

    if value is None or isinstance(value, Unreadable) or not of.is_nested(kind):
        return value
    if of.is_map(kind):
        return {_text(key): with_objects(each, kind.item_type) for key, each in value}
    if of.is_struct(kind):
        return {each.name: with_objects(value[each.name], each.type) for each in kind}
    return [with_objects(each, kind.value_type) for each in value]


def _has_maps(kind: Any) -> bool:
    import pyarrow.types as of

    if of.is_map(kind):
        return True
    if of.is_struct(kind):
        return any(_has_maps(each.type) for each in kind)
    return bool(of.is_nested(kind)) and _has_maps(kind.value_type)


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except Exception as error:
        return Unreadable(f"{type(error).__name__}: {error}"[:200])


def _text(key: Any) -> str:
    return key if isinstance(key, str) else record_json(key).strip('"')


def _why_not(record: Record, names: Iterable[str]) -> str | None:
    odd = ((name, record[name]) for name in names)
    return next((f"column {name!r}: {each.reason}" for name, each in odd if isinstance(each, Unreadable)), None)
