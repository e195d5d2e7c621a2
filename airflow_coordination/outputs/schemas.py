"""Column types of a dataset over all partitions, those of partition columns in directory names among them.

A schema is Spark's JSON text of a ``StructType``. Types may differ where the wider one holds every value of the
narrower one: whole numbers among themselves, floating ones among themselves, decimals while 38 digits are enough.
``bigint`` and ``double`` may not: 2^53+1 would come back as another number. A column of nothing but nulls (``void``)
fits all others.

It is as strict as Spark's union by names, and stricter where that is wrong: inside a map, structs must have the same
fields in the same order (others cannot be united, or change places), and texts must have the same collation.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from re import fullmatch
from typing import Any, Final

from airflow_coordination.values.documents import parse

MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH = 16 * 1024 * 1024, 200
_SPARKS_OWN: Final = {
    ("pyspark.ml.linalg.VectorUDT", "org.apache.spark.ml.linalg.VectorUDT"),
    ("pyspark.ml.linalg.MatrixUDT", "org.apache.spark.ml.linalg.MatrixUDT"),
}
"""Types with a class, Python's and Java's, that every Spark has; any other class would be loaded by who reads."""
_FAMILIES = (frozenset({"byte", "short", "integer", "long"}), frozenset({"float", "double"}))
_PARTS = (("elementType", "[]", "element"), ("keyType", "{key}", "key"), ("valueType", "{value}", "value"))
_KEYS_KEPT = 2
"""One of them is another partition than the one that asks."""
_MAX_DIGITS = 38
"""Spark's longest decimal."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two types of one column that cannot be read together.

    :param column: its name, nested ones with their path.
    :param key: a partition in which it has the type ``type``.
    :param other_key: one in which it has ``other_type``.
    """

    column: str
    key: str
    type: str
    other_key: str
    other_type: str

    def __str__(self) -> str:
        return (
            f"column {self.column!r} is {self.type} in partition {self.key!r} and {self.other_type} in partition "
            f"{self.other_key!r}"
        )


@dataclass(slots=True)
class DatasetTypes:
    """The types of a dataset's columns as partitions have them, each with the first two it was seen in."""

    _seen: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    _texts: dict[str, set[str]] = field(default_factory=dict)

    def add(self, schema: str, key: str) -> None:
        """Remember the schema of a partition."""
        keys = self._texts.setdefault(schema, set())
        if key in keys or len(keys) == _KEYS_KEPT:
            return
        keys.add(key)
        for column, kind in flattened(schema).items():
            self._seen.setdefault(column, {}).setdefault(kind, []).append(key)

    def conflict(self, schema: str, key: str, *, with_own: bool = False) -> Conflict | None:
        """Return a column that has another type here than in another partition, if there is one.

        :param with_own: compare with what the same partition has, too.
        """
        return next(self.conflicts(schema, key, with_own=with_own), None)

    def conflicts(self, schema: str, key: str, *, with_own: bool = False) -> Iterator[Conflict]:
        """Yield every such column with every type that does not fit."""
        for column, kind in flattened(schema).items():
            for other, keys in self._seen.get(column, {}).items():
                other_key = next((each for each in keys if with_own or each != key), None)
                if other_key is not None and not fit(kind, other):
                    yield Conflict(column, key, kind, other_key, other)

    def had(self, conflict: Conflict) -> bool:
        """Return whether what was seen has this very conflict in itself already: the new type makes it no worse."""
        kinds = self._seen.get(conflict.column, {})
        return any(fit(kind, conflict.type) and not fit(kind, conflict.other_type) for kind in kinds)


def flattened(schema: str) -> dict[str, str]:
    """Return the type of every column by name, of those inside structs, arrays and maps by their path.

    Names are compared as Spark does by default, without regard to case.
    """
    return dict(_leaves("", json.loads(schema), {}))


@lru_cache(maxsize=256)
def check_schema(schema: str) -> None:
    """Refuse what is no schema, and one that makes its reader load a class, or run what it brings along.

    :raises ValueError: saying what is wrong with it (:class:`KeyError`, :class:`TypeError`, too).
    """
    found = parse(schema, max_bytes=MAX_SCHEMA_BYTES, max_depth=MAX_SCHEMA_DEPTH)
    if not isinstance(found, Mapping) or found.get("type") != "struct":
        raise ValueError("a schema is no struct")
    _check_type(found)


def _check_type(kind: Any) -> None:
    if isinstance(kind, str):
        return
    if kind["type"] == "udt":
        if (kind.get("pyClass"), kind.get("class")) not in _SPARKS_OWN or "serializedClass" in kind:
            raise ValueError(
                f"a schema has a type of a class that is not Spark's own: {str(kind.get('pyClass'))[:100]!a}"
            )
        return
    for each in _inside(kind):
        _check_type(each)


def _inside(kind: Mapping[str, Any]) -> list[Any]:
    if kind["type"] == "struct":
        return [_type_of(column) for column in kind["fields"]]
    return [kind["elementType"]] if kind["type"] == "array" else [kind["keyType"], kind["valueType"]]


def _type_of(column: Mapping[str, Any]) -> Any:
    """Return the type of a field whose name and metadata are what others expect of them."""
    metadata = column.get("metadata", {})
    collations = metadata.get("__COLLATIONS", {})
    if not isinstance(column["name"], str) or not all(isinstance(each, str) for each in collations.values()):
        raise TypeError("a schema has a field whose name or collation is no text")
    return column["type"]


def names(schema: str) -> list[str]:
    """Return the names of the columns in a schema."""
    return [str(column["name"]) for column in json.loads(schema)["fields"]]


def types(schema: str) -> dict[str, Any]:
    """Return the columns' types by name, as Spark's JSON has them."""
    return {str(column["name"]): column["type"] for column in json.loads(schema)["fields"]}


def without(schema: str, columns: tuple[str, ...]) -> str:
    """Return a schema without some columns."""
    fields = [column for column in json.loads(schema)["fields"] if column["name"] not in columns]
    return json.dumps({"type": "struct", "fields": fields})


def fit(one: str, other: str) -> bool:
    """Return whether values of two types can be read as one type, each unchanged."""
    if one == other or "void" in (one, other) or any({one, other} <= family for family in _FAMILIES):
        return True
    if not (one.startswith("decimal(") and other.startswith("decimal(")):
        return False
    (digits, scale), (other_digits, other_scale) = _decimal(one), _decimal(other)
    return max(digits - scale, other_digits - other_scale) + max(scale, other_scale) <= _MAX_DIGITS


def _decimal(kind: str) -> tuple[int, int]:
    digits, _, scale = kind.removeprefix("decimal(").rstrip(")").partition(",")
    return int(digits), int(scale or 0)


def _leaves(path: str, kind: Any, collations: Mapping[str, str], place: str = "") -> Iterator[tuple[str, str]]:
    """Yield the types at and below ``path``.

    :param collations: those of the column's texts, by their place in it.
    :param place: where in its column ``kind`` is, as Spark names it there.
    """
    if not isinstance(kind, Mapping):
        yield path, f"{kind} collate {collations[place]}" if place in collations else str(kind)
        return
    fields = [(str(column["name"]), column) for column in kind.get("fields", ())]
    if path:
        in_order = f"<{', '.join(name.lower() for name, _ in fields)}>" if fields and "}" in path else ""
        yield path, str(kind["type"]) + in_order
    for name, column in fields:
        own = column.get("metadata", {}).get("__COLLATIONS", {})
        yield from _leaves(f"{path}.{name.lower()}" if path else name.lower(), column["type"], own, name)
    for inside, sign, part in _PARTS:
        if inside in kind:
            yield from _leaves(path + sign, kind[inside], collations, f"{place}.{part}")


_INT, _LONG = 2**31, 2**63


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
