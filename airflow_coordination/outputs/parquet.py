"""Row count and Spark schema from a Parquet file's footer, without any Parquet library.

A footer is one Thrift struct in the compact protocol (parquet-format, ``FileMetaData``): field 3 is the
number of rows, field 5 the key-value metadata, in which Spark keeps its own schema; field 2 is the file's own schema,
which counts where other software wrote it. The rest is skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_coordination.outputs.parquet_schema import NotReadableError, spark_schema
from airflow_coordination.outputs.storage import read_bytes

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
    tail = read_bytes(address, max(0, size - TAIL), size)
    if footer_length(tail) > len(tail):
        tail = read_bytes(address, max(0, size - footer_length(tail)), size)
    return parse_footer(tail)


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
        fields = _Compact(tail[start:-8]).struct()
        pairs = {pair[1]: pair.get(2) for pair in fields.get(_METADATA, [])}
        schema = pairs.get(SPARK_SCHEMA.encode())
        text = schema.decode() if schema else spark_schema(fields[_ELEMENTS])
        return Footer(int(fields[_ROWS]), text)
    except NotReadableError as error:
        raise FooterError(str(error)) from error
    except (IndexError, KeyError, UnicodeDecodeError) as error:
        raise FooterError(f"has a footer that cannot be read ({error!r})") from error


class _Compact:
    """A reader of Thrift's compact protocol: structs become dictionaries by field number."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def struct(self) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while header := self._byte():
            delta, kind = header >> 4, header & 0x0F
            number = number + delta if delta else self._signed()
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind)
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (1, 2, 3):
            return self._byte()
        if kind in (4, 5, 6):
            return self._signed()
        if kind == 7:
            return self._bytes(8)
        if kind == 8:
            return self._bytes(self._unsigned())
        if kind in (9, 10):
            return self._list()
        if kind == 12:
            return self.struct()
        raise KeyError(f"type {kind}")

    def _list(self) -> list[Any]:
        header = self._byte()
        size = header >> 4
        length = self._unsigned() if size == 15 else size
        return [self._value(header & 0x0F) for _ in range(length)]

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, length: int) -> bytes:
        self._at += length
        return self._data[self._at - length : self._at]

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)
