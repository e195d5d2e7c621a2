"""Row count and Spark schema from a Parquet file's footer, whoever wrote it, without any Parquet library.

A driver may have no pyarrow, and pyarrow does not hand out field 2 as it is written (decision 112).

A footer is one Thrift struct in the compact protocol (parquet-format, ``FileMetaData``): field 3 is the
number of rows, field 5 the key-value metadata, in which Spark keeps its own schema; field 2 is the file's own schema,
which counts where other software wrote it. The rest is skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from airflow_coordination.systems.objects.storage import read_bytes

Element = Mapping[int, Any]
_TYPE, _REPETITION, _NAME, _CHILDREN, _CONVERTED, _SCALE, _PRECISION, _LOGICAL = 1, 3, 4, 5, 6, 7, 8, 10
_REPEATED: Final = 2
_BOOLEAN, _INT32, _INT64, _INT96, _FLOAT, _DOUBLE, _BINARY, _FIXED = range(8)
_PLAIN: Final = dict(
    enumerate(("boolean", "integer", "long", "timestamp", "float", "double", "binary", "binary"), start=_BOOLEAN)
)
_CONVERTED_TYPES: Final = {
    0: "string",
    4: "string",
    6: "date",
    9: "timestamp",
    10: "timestamp",
    11: "short",
    12: "integer",
    13: "long",
    14: "decimal(20,0)",
    15: "byte",
    16: "short",
    17: "integer",
    18: "long",
    19: "string",
    20: "binary",
}
_MAP, _MAP_KEY_VALUE, _LIST, _DECIMAL = 1, 2, 3, 5
_LOGICAL_STRINGS: Final = {1: "string", 4: "string", 6: "date", 12: "string", 13: "binary"}
_LOGICAL_MAP, _LOGICAL_LIST, _LOGICAL_DECIMAL, _LOGICAL_TIMESTAMP, _LOGICAL_INTEGER, _LOGICAL_NULL = 2, 3, 5, 8, 10, 11
_LOGICAL_TIME, _LOGICAL_UUID = 7, 14
_MICROSECONDS, _NANOSECONDS = 2, 3
_DIGITS: Final = 38
"""Of a decimal, at most, in Spark."""
_INTEGERS: Final = {
    (8, True): "byte",
    (16, True): "short",
    (32, True): "integer",
    (64, True): "long",
    (8, False): "short",
    (16, False): "integer",
    (32, False): "long",
    (64, False): "decimal(20,0)",
}


class NotReadableError(ValueError):
    """A column has a type that no reader gets from Spark."""


class _NotKnownError(ValueError):
    """A column is written in a way that only Spark itself can tell."""


def spark_schema(elements: Sequence[Element]) -> str | None:
    """Return a footer's own schema as Spark's JSON text, ``None`` where only Spark itself can tell.

    :raises NotReadableError: for a column that Spark does not read, naming it.
    """
    rest = iter(elements)
    try:
        return json.dumps(_struct(next(rest), rest, ""), separators=(",", ":"))
    except (_NotKnownError, StopIteration, KeyError):
        return None


def _struct(group: Element, rest: Iterator[Element], path: str) -> dict[str, Any]:
    fields = [_field(next(rest), rest, path) for _ in range(group.get(_CHILDREN, 0))]
    seen = dict[str, str]()
    for name in (each["name"] for each in fields):
        if (other := seen.setdefault(name.lower(), name)) is not name:
            inside = f" in {path!a}" if path else ""
            raise NotReadableError(f"has two columns {other!a} and {name!a}{inside}, which Spark takes for one")
    return {"type": "struct", "fields": fields}


def _field(element: Element, rest: Iterator[Element], path: str) -> dict[str, Any]:
    name = element[_NAME].decode()
    if element.get(_REPETITION) == _REPEATED:
        raise _NotKnownError(name)
    kind = _kind(element, rest, f"{path}.{name}" if path else name)
    if kind == "void" and path:
        raise NotReadableError(f"has nothing but nulls of no type in {path}.{name!a}, which Spark does not read")
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}


def _kind(element: Element, rest: Iterator[Element], path: str) -> Any:
    if not element.get(_CHILDREN):
        return _primitive(element, path)
    logical, converted = element.get(_LOGICAL, {}), element.get(_CONVERTED)
    if _LOGICAL_LIST in logical or converted == _LIST:
        return _list(element, rest, path)
    if _LOGICAL_MAP in logical or converted in (_MAP, _MAP_KEY_VALUE):
        return _map(element, rest, path)
    if logical:
        raise _NotKnownError(path)
    return _struct(element, rest, path)


def _list(element: Element, rest: Iterator[Element], path: str) -> dict[str, Any]:
    """Return an array of three levels, as the format has it; others are older, and Spark guesses at them."""
    inside = next(rest)
    old = {b"array", element[_NAME] + b"_tuple"}
    if element[_CHILDREN] != 1 or inside.get(_CHILDREN) != 1 or inside[_NAME] in old:
        raise _NotKnownError(path)
    return {"type": "array", "elementType": _field(next(rest), rest, path)["type"], "containsNull": True}


def _map(element: Element, rest: Iterator[Element], path: str) -> dict[str, Any]:
    if element[_CHILDREN] != 1 or next(rest).get(_CHILDREN) != 2:
        raise _NotKnownError(path)
    key, value = (_field(next(rest), rest, path)["type"] for _ in range(2))
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def _primitive(element: Element, path: str) -> str:
    logical = element.get(_LOGICAL) or {}
    if _LOGICAL_DECIMAL in logical or (not logical and element.get(_CONVERTED) == _DECIMAL):
        if element[_PRECISION] > _DIGITS:
            problem = f"has decimals of {element[_PRECISION]} digits in {path!a}, and Spark reads up to {_DIGITS}"
            raise NotReadableError(problem)
        return f"decimal({element[_PRECISION]},{element.get(_SCALE, 0)})"
    if logical:
        return _annotated(logical, path)
    converted = element.get(_CONVERTED)
    if converted is None and element[_TYPE] in _PLAIN:
        return _PLAIN[element[_TYPE]]
    if converted not in _CONVERTED_TYPES:
        raise _NotKnownError(path)
    return _CONVERTED_TYPES[converted]


def _annotated(logical: Mapping[int, Any], path: str) -> str:
    [(kind, facts)] = logical.items()
    if kind == _LOGICAL_NULL:
        return "void"
    if kind == _LOGICAL_INTEGER:
        return _INTEGERS[facts[1], facts[2]]
    if kind == _LOGICAL_TIMESTAMP:
        if _NANOSECONDS in facts[2]:
            raise NotReadableError(f"has times of nanoseconds in {path!a}, which Spark does not read")
        return "timestamp" if facts[1] else "timestamp_ntz"
    if kind == _LOGICAL_UUID or (kind == _LOGICAL_TIME and _MICROSECONDS not in facts[2]):
        what = "UUIDs" if kind == _LOGICAL_UUID else "times of the day in other units than microseconds"
        raise NotReadableError(f"has {what} in {path!a}, which Spark does not read")
    if kind not in _LOGICAL_STRINGS:
        raise _NotKnownError(path)
    return _LOGICAL_STRINGS[kind]


MAGIC = b"PAR1"
TAIL = 64 * 1024
SPARK_SCHEMA = "org.apache.spark.sql.parquet.row.metadata"
_ELEMENTS, _ROWS, _METADATA = 2, 3, 5


class FooterError(ValueError):
    """The bytes are no Parquet footer."""


@dataclass(frozen=True, slots=True)
class Footer:
    """The part of a footer that a block's manifest keeps.

    :param rows: rows in the file.
    :param schema: Spark's schema as JSON text, its own or, where other software wrote the file, what Spark makes of it;
        ``None`` where only Spark can tell.
    """

    rows: int
    schema: str | None


def read_footer(address: str, size: int) -> Footer:
    """Return a file's footer, in one request unless it is a long one.

    :param size: of the file, in bytes.
    :raises FooterError: when it cannot be read.
    :raises FileNotFoundError: when there is no such file.
    """
    return parse_footer(_tail(address, size))


def footer_bytes(address: str, size: int) -> bytes:
    """Return the struct of a file's footer as it is written; all else is as for :func:`read_footer`."""
    tail = _tail(address, size)
    return tail[len(tail) - footer_length(tail) : -8]


def _tail(address: str, size: int) -> bytes:
    tail = read_bytes(address, max(0, size - TAIL), size)
    if footer_length(tail) > len(tail):
        tail = read_bytes(address, max(0, size - footer_length(tail)), size)
    return tail


def footer_length(tail: bytes) -> int:
    """Return how many bytes at the end of a file hold its footer, given its last 8 bytes or more.

    :raises FooterError: when the file is no Parquet file.
    """
    if len(tail) < 8 or tail[-4:] != MAGIC:
        raise FooterError("does not end as a Parquet file does")
    return int.from_bytes(tail[-8:-4], "little") + 8


def parse_footer(tail: bytes) -> Footer:
    """Return the footer in the last bytes of a file.

    :raises FooterError: when it cannot be read.
    """
    start = len(tail) - footer_length(tail)
    try:
        fields = Compact(tail[start:-8]).struct()
        pairs = {pair[1]: pair.get(2) for pair in fields.get(_METADATA, [])}
        schema = pairs.get(SPARK_SCHEMA.encode())
        text = schema.decode() if schema else spark_schema(fields[_ELEMENTS])
        return Footer(int(fields[_ROWS]), text)
    except NotReadableError as error:
        raise FooterError(str(error)) from error
    # whatever is where something else should be
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise FooterError(f"has a footer that cannot be read ({error!r})") from error


class Compact:
    """A reader of Thrift's compact protocol: structs become dictionaries by field number.

    A footer has some hundred numbers for each column, most of one byte, so these are read where they stand.
    """

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def struct(self) -> dict[int, Any]:
        """Return the struct that begins here."""
        fields: dict[int, Any] = {}
        data, number = self._data, 0
        while header := data[self._at]:
            self._at += 1
            delta, kind = header >> 4, header & 0x0F
            number = number + delta if delta else self._signed()
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind)
        self._at += 1
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (4, 5, 6):
            return self._signed()
        if kind == 8:
            return self._bytes(self._unsigned())
        if kind == 12:
            return self.struct()
        if kind in (9, 10):
            return self._list()
        if kind in (1, 2, 3):
            return self._bytes(1)[0]
        if kind == 7:
            return self._bytes(8)
        raise KeyError(f"type {kind}")

    def _list(self) -> list[Any]:
        header = self._bytes(1)[0]
        size = header >> 4
        length = self._unsigned() if size == 15 else size
        return [self._value(header & 0x0F) for _ in range(length)]

    def _bytes(self, length: int) -> bytes:
        self._at += length
        if self._at > len(self._data):
            raise IndexError(f"{length} bytes behind the end")
        return self._data[self._at - length : self._at]

    def _unsigned(self) -> int:
        data, at = self._data, self._at
        byte = data[at]
        value, shift = byte & 0x7F, 7
        while byte > 0x7F:
            at += 1
            byte = data[at]
            value |= (byte & 0x7F) << shift
            shift += 7
        self._at = at + 1
        return value

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)
