"""Keys of items: a partition's own, and those of what belongs to it or to the store as a whole.

One table holds everything. What is not a partition lies under identifiers that no source can have, because a
source's last part is ``PARTITION`` or ``GLOBAL_STATE``.
"""

from __future__ import annotations

import hashlib
from typing import Final

from airflow_coordination.values.blocks import MAX_DATASET_BYTES

MAX_SORT_KEY_BYTES: Final = 1024
"""DynamoDB: a sort key's limit."""
SEPARATOR: Final = "\x00"
"""Lower than everything a key may contain, so that items of one partition stay together and keys keep their order."""
_PART_OWNER_BYTES: Final = MAX_SORT_KEY_BYTES - len(SEPARATOR) - MAX_DATASET_BYTES
_KEPT_BYTES: Final = 512
_LAST_CHARACTER: Final = "\U0010ffff"

INDEX: Final = "source-status"
"""The table's one index."""
HEADS, AUDIT, LARGE, COUNTS, HISTORY = "HEADS", "AUDIT", "LARGE", "COUNTS", "HISTORY"
FOLLOW_UPS: Final = "FOLLOW_UPS"
CHILDREN: Final = "CHILDREN"
FOLLOWED: Final = "FOLLOWED"
"""Says that something was said to follow a parking in a source; beside its large texts, whose keys all have a
separator in them, because policies of before allow that place."""
PAUSE: Final = "PAUSE"
"""Beside a source's audit, whose keys all have a separator in them."""
STORE_SOURCE: Final = "airflow_coordination|STORE"
STORE_KEY: Final = "STORE"
SOURCES: Final = "airflow_coordination|SOURCES"


def stored_key(key: str) -> str:
    """Return ``sourcePartitionKey`` of a partition: its key, or its beginning and a hash where it is too long.

    The beginning keeps long keys in their place among the others; keys that share their first 512 bytes are in the
    order of their hashes (promise S15).
    """
    return _shortened(key, MAX_SORT_KEY_BYTES)


def part_key(key: str, part: str) -> str:
    """Return the sort key of what belongs to a partition: its key, a separator, and ``part`` (at most 255 bytes)."""
    return parts_prefix(key) + part


def parts_prefix(key: str) -> str:
    """Return what the sort keys of all that belongs to a partition begin with."""
    return _shortened(key, _PART_OWNER_BYTES) + SEPARATOR


def parts_between(key: str) -> tuple[str, str]:
    """Return the bounds of the sort keys of all that belongs to a partition, and to no other one."""
    prefix = parts_prefix(key)
    return prefix + "\x01", prefix + _LAST_CHARACTER * (MAX_DATASET_BYTES // len(_LAST_CHARACTER.encode()))


def _shortened(key: str, limit: int) -> str:
    encoded = key.encode()
    if len(encoded) <= limit:
        return key
    kept = encoded[:_KEPT_BYTES].decode(errors="ignore")
    return kept + 2 * SEPARATOR + hashlib.sha256(encoded).hexdigest()  # two: apart from the parts of the key ``kept``


def belonging(source: str, kind: str) -> str:
    """Return the identifier under which a source's head records, audit, large texts or counts lie."""
    return f"{source}|{kind}"
