"""Aggregates as the Kinesis Producer Library makes them: each key once in its table, the message, its MD5."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

MAGIC = b"\xf3\x89\x9a\xc2"


def aggregate(records: Iterable[tuple[str, str | None, bytes]]) -> bytes:
    """Return the ``Data`` of one record of Kinesis.

    :param records: partition key, explicit hash key or ``None``, and data of each user record.
    """
    keys: dict[str, int] = {}
    hash_keys: dict[str, int] = {}
    inside = []
    for key, hash_key, data in records:
        record = number(1, keys.setdefault(key, len(keys)))
        if hash_key is not None:
            record += number(2, hash_keys.setdefault(hash_key, len(hash_keys)))
        inside.append(record + octets(3, data))
    tables = [octets(1, key.encode()) for key in keys] + [octets(2, key.encode()) for key in hash_keys]
    return sealed(b"".join(tables + [octets(3, record) for record in inside]))


def sealed(message: bytes) -> bytes:
    """Return an aggregate of any message, with the MD5 that belongs to it."""
    return MAGIC + message + hashlib.md5(message, usedforsecurity=False).digest()


def number(field: int, value: int) -> bytes:
    """Return a field of protobuf that holds a number."""
    return _varint(field << 3) + _varint(value)


def octets(field: int, value: bytes) -> bytes:
    """Return a field of protobuf that holds bytes."""
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
