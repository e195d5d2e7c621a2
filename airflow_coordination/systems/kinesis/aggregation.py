"""Records of the Kinesis Producer Library: many user records in one record of Kinesis.

Source: the KPL's aggregation format, and the KCL's ``AggregatorUtil``. Such a record is the magic number, a protobuf
message, and the message's MD5::

    message AggregatedRecord {
      repeated string partition_key_table = 1;
      repeated string explicit_hash_key_table = 2;
      repeated Record records = 3;
    }
    message Record {
      required uint64 partition_key_index = 1;
      optional uint64 explicit_hash_key_index = 2;
      required bytes data = 3;
    }

It is read by hand: three kinds of fields need no library.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from airflow_coordination.values.input_errors import InvalidInputError

MAGIC: Final = b"\xf3\x89\x9a\xc2"
"""What an aggregate begins with."""
_DIGEST: Final = 16
_VARINT, _BYTES = 0, 2
_SIZES: Final = {1: 8, 5: 4}
"""Wire types of protobuf that no field of ours has, and how many bytes to skip: a later format may have some."""
_FIELDS: Final = 2**29
_VARINT_BITS: Final = 64
_LONGEST_KEY: Final = 256
"""Kinesis: of a partition key, in characters. A longer one in an aggregate's table was put there by no producer: named
by each of 170,000 records, it would make 1 MiB as many times as large."""


@dataclass(frozen=True, slots=True)
class UserRecord:
    """A record as its producer sent it: a record of Kinesis, or one of those inside of it.

    :param sub: its place inside of the record of Kinesis, from 0 (KCL: sub-sequence number).
    :param partition_key: the producer's own.
    :param explicit_hash_key: the producer's own, as decimal text; ``None`` without one.
    :param data: the payload.
    :param aggregated: whether it came inside of an aggregate.
    """

    sub: int
    partition_key: str
    explicit_hash_key: str | None
    data: bytes
    aggregated: bool


class _MalformedError(Exception):
    """The message is no AggregatedRecord."""


def deaggregate(data: bytes, partition_key: str, explicit_hash_key: str | None = None) -> Iterator[UserRecord]:
    """Return the user records of one record of Kinesis, in order.

    What is no aggregate, or a damaged one (also one with a key that is longer than Kinesis allows), is one user record
    as it is: nothing that arrived is left out. So does the
    KCL, but where an intact MD5 covers an index beyond a table: there it logs and leaves out the rest. An aggregate
    without any record has none.

    :param data: the record's ``Data``.
    :param partition_key: the record's ``PartitionKey``; an aggregate's own keys take its place.
    :param explicit_hash_key: for a plain record, where the caller knows it; ``GetRecords`` does not tell.
    :raises InvalidInputError: when ``data`` is not bytes.
    """
    if not isinstance(data, bytes):
        raise InvalidInputError(
            "data", type(data).__name__, "is not bytes", "Give a record's Data as boto3 does; decode base64 first."
        )
    found = _aggregated(data)
    return iter([UserRecord(0, partition_key, explicit_hash_key, data, False)] if found is None else found)


def _aggregated(data: bytes) -> list[UserRecord] | None:
    """Return the records of an aggregate, ``None`` when it is none or damaged."""
    message = data[len(MAGIC) : -_DIGEST]
    if not (data.startswith(MAGIC) and message):
        return None
    if hashlib.md5(message, usedforsecurity=False).digest() != data[-_DIGEST:]:
        return None
    try:
        return _user_records(message)
    except _MalformedError:
        return None


def _user_records(message: bytes) -> list[UserRecord]:
    keys: list[str] = []
    hash_keys: list[str] = []
    records: list[bytes] = []
    for number, value in _fields(message):
        if number in (1, 2) and isinstance(value, bytes):
            (keys if number == 1 else hash_keys).append(_key(value))
        elif number == 3 and isinstance(value, bytes):
            records.append(value)
    return [_user_record(sub, record, keys, hash_keys) for sub, record in enumerate(records)]


def _user_record(sub: int, record: bytes, keys: list[str], hash_keys: list[str]) -> UserRecord:
    numbers: dict[int, int] = {}
    data: bytes | None = None
    for number, value in _fields(record):
        if number in (1, 2) and isinstance(value, int):
            numbers[number] = value
        elif number == 3 and isinstance(value, bytes):
            data = value
    if data is None or 1 not in numbers:
        raise _MalformedError
    hash_key = _entry(hash_keys, numbers[2]) if 2 in numbers else None
    return UserRecord(sub, _entry(keys, numbers[1]), hash_key, data, True)


def _key(value: bytes) -> str:
    key = value.decode(errors="replace")  # as Java's protobuf
    if len(key) > _LONGEST_KEY:
        raise _MalformedError
    return key


def _entry(table: list[str], index: int) -> str:
    if index >= len(table):
        raise _MalformedError
    return table[index]


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes | None]]:
    """Yield each field's number and value: an int, bytes, or ``None`` for a kind that none of ours has."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        number, kind = tag >> 3, tag & 7
        if not 0 < number < _FIELDS or kind not in (_VARINT, _BYTES, *_SIZES):
            raise _MalformedError
        count, at = (_SIZES[kind], at) if kind in _SIZES else _varint(message, at)
        if kind == _VARINT:
            yield number, count
            continue
        if at + count > len(message):
            raise _MalformedError
        yield number, message[at : at + count] if kind == _BYTES else None
        at += count


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Return the number that begins here, seven bits a byte and the lowest first, and where it ends."""
    value = 0
    for shift in range(0, _VARINT_BITS, 7):
        if at >= len(message):
            raise _MalformedError
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (1 << _VARINT_BITS) - 1, at
    raise _MalformedError
