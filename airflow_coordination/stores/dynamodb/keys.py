"""The keys of items in the table and in its index, and how large they may be (promise X9).

One table holds everything. What is not a partition lies under identifiers that no source can have, because a
source's last part is ``PARTITION`` or ``GLOBAL_STATE``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from airflow_coordination.stores.calls import Call
from airflow_coordination.values.blocks import MAX_DATASET_BYTES
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.status import PartitionStatus, Rank
from airflow_coordination.values.times import EPOCH, from_micros

MAX_SORT_KEY_BYTES: Final = 1024
"""DynamoDB: a sort key's limit."""
SEPARATOR: Final = "\x00"
"""Lower than everything a key may contain, so that items of one partition stay together and keys keep their order."""
_PART_OWNER_BYTES: Final = MAX_SORT_KEY_BYTES - len(SEPARATOR) - MAX_DATASET_BYTES
_DIGITS: Final = 19
"""Of a number in a sort key."""
_KEPT_BYTES: Final = 512
_LAST_CHARACTER: Final = "\U0010ffff"

INDEX: Final = "source-status"
"""The table's one index."""
HEADS, AUDIT, LARGE, COUNTS, HISTORY = "HEADS", "AUDIT", "LARGE", "COUNTS", "HISTORY"
FOLLOW_UPS: Final = "FOLLOW_UPS"
CHILDREN: Final = "CHILDREN"
CHUNKS: Final = "CHUNKS"
FOLLOWED: Final = "FOLLOWED"
"""Says that something was said to follow a parking in a source; beside its large texts, whose keys all have a
separator in them, because policies of before allow that place."""
DOCUMENT_NAMES: Final = "\x00document\x00"
"""What the keys of the newest numbers of documents begin with, beside the source's large texts."""
DOCUMENT_VERSIONS: Final = "\x00version\x00"
"""What those of their versions begin with, there."""
BRANCH_MEMBERS: Final = "\x00branch\x00"
"""What those of the partitions begin with that were put into a branch, there."""
ENDED_SUMS: Final = "\x00ended\x00"
"""What the keys of sums of what ended begin with, beside the rows of the history: policies of before allow them."""
ACTED: Final = "\x00acted\x00"
"""What those of people's actions by their time begin with, there."""
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
    """Return the sort key of what belongs to a partition: its key, a separator, and ``part``.

    :param part: of more than 255 bytes, which only the longest names of datasets have in a branch, its beginning and a
        hash.
    """
    return parts_prefix(key) + _part(part)


def _part(part: str) -> str:
    encoded = part.encode()
    if len(encoded) <= MAX_DATASET_BYTES:
        return part
    hashed = SEPARATOR + hashlib.sha256(encoded).hexdigest()
    return encoded[: MAX_DATASET_BYTES - len(hashed)].decode(errors="ignore") + hashed


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


def begins_with(prefix: str) -> tuple[str, str]:
    """Return the bounds of all sort keys that begin with ``prefix``, which ends with a separator."""
    return prefix, prefix.removesuffix(SEPARATOR) + "\x01"


def members_prefix(branch: int) -> str:
    """Return what the sort keys of all that say a partition was put into a branch begin with."""
    return f"{BRANCH_MEMBERS}{branch:0{_DIGITS}}{SEPARATOR}"


def member_key(branch: int, key: str) -> str:
    """Return the sort key of what says that a partition was put into a branch; they are in the order of the keys."""
    prefix = members_prefix(branch)
    return prefix + _shortened(key, MAX_SORT_KEY_BYTES - len(prefix))


def belonging(source: str, kind: str) -> str:
    """Return the identifier under which a source's head records, audit, large texts or counts lie."""
    return f"{source}|{kind}"


def newest_first(number: int) -> str:
    """Return a number as text that sorts the greatest first."""
    return f"{10**_DIGITS - 1 - number:0{_DIGITS}}"


CRASHED: Final = "!"
REOPENED: Final = "#"
DELAYED: Final = "$"
FRESH: Final = "%"
"""Every new partition stands above this, everything else that waits below it."""
PARKED: Final = "~"
RELEASING: Final = "!"
"""Where a completed parent stands, before all that wait, while it has more children than go into one transaction."""

_BIAS: Final = 2**31
_PLACE: Final = re.compile(r"(?:([-P])(\d{10})\|)?(.*)\.(\d{9})Z")


def instant(moment: datetime) -> str:
    """Return ``moment`` as Data Prepper writes instants, always with six digits, so that text order is time order."""
    utc = moment.astimezone(UTC)
    return f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond:06}Z"


def parse_instant(text: str, attribute: str) -> datetime:
    """Return the moment that Data Prepper or this package wrote, with 0 to 9 digits of a second.

    :raises InvalidInputError: when it is something else; it is never taken for "none".
    """
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else _not_an_instant(text, attribute)
    except ValueError:
        return _not_an_instant(text, attribute)


def _not_an_instant(text: str, attribute: str) -> datetime:
    raise InvalidInputError(attribute, text, "is no instant such as 2026-01-31T08:00:00Z", "Correct the item by hand")


def place_of(priority: int, ordinal: int) -> str:
    """Return where a new partition stands.

    :param priority: the user's; smaller goes first.
    :param ordinal: nanoseconds since 1970 at its creation, each used once, so that the supplier's order is kept.
    """
    seconds, nanoseconds = divmod(ordinal, 10**9)
    created = f"{from_micros(seconds * 10**6):%Y-%m-%dT%H:%M:%S}.{nanoseconds:09}Z"
    if priority == 0:
        return created
    return f"-{priority + _BIAS:010}|{created}" if priority < 0 else f"P{priority:010}|{created}"


def parse_place(place: str) -> tuple[int, int]:
    """Return priority and ordinal of a place; the inverse of :func:`place_of`.

    :raises InvalidInputError: when it is no place.
    """
    match = _PLACE.fullmatch(place)
    if match is None:
        raise InvalidInputError("place", place, "is no place in the order", "Correct the item by hand")
    sign, digits, second, nanoseconds = match.groups()
    whole = parse_instant(second + "Z", "place") - EPOCH
    ordinal = (whole.days * 86_400 + whole.seconds) * 10**9 + int(nanoseconds)
    return (0 if sign is None else int(digits) - (_BIAS if sign == "-" else 0)), ordinal


def created_at(place: str) -> datetime:
    """Return when a partition was created that stands at a place as new; to the microsecond.

    :raises InvalidInputError: when it is no place.
    """
    return from_micros(parse_place(place)[1] // 1_000)


def combination(source: str, status: PartitionStatus) -> str:
    """Return ``sourceStatusCombinationKey`` as Data Prepper writes it."""
    return f"{source}|{status}"


def blocked(source: str) -> str:
    """Return the combination of what waits for a parent, or has children to release: no query for work reads it."""
    return f"{source}|BLOCKED"


def waiting(rank: Rank, due: datetime, place: str, now: datetime) -> str:
    """Return where an UNASSIGNED partition stands.

    :param due: since when, or from when on, it can be acquired.
    :param place: where it stood when it was new.
    """
    if rank is Rank.NEW:
        return place if due <= now else DELAYED + instant(due)
    mark = CRASHED if rank is Rank.CRASHED else REOPENED
    return f"{mark}{parse_place(place)[0] + _BIAS:010}|{instant(due)}|{place}"


def closed(reopen_at: datetime | None) -> str:
    """Return where a CLOSED partition stands."""
    return instant(reopen_at) if reopen_at else PARKED


def standing(status: PartitionStatus, rank: Rank, due: datetime | None, place: str, now: datetime) -> str | None:
    """Return where a partition stands in the index, ``None`` when it is not in it."""
    if status is PartitionStatus.COMPLETED:
        return None
    if status is PartitionStatus.CLOSED:
        return closed(due)
    if due is None:
        return None
    return instant(due) if status is PartitionStatus.ASSIGNED else waiting(rank, due, place, now)


MAX_ITEM_BYTES: Final = 400 * 1024
MAX_TRANSACTION: Final = 100
"""Items in one transaction."""


def size_of(value: Any) -> int:
    """Return how many bytes of an item a text, number or truth value takes, as the service counts them."""
    if isinstance(value, bool):
        return 1
    if isinstance(value, int | Decimal):
        return (len(str(abs(value))) + 1) // 2 + 1 + (value < 0)
    return len(str(value).encode())


def bytes_of(item: Mapping[str, Any]) -> int:
    """Return how many bytes an item's attributes take, names and values; ``None`` is no attribute."""
    return sum(len(name.encode()) + size_of(value) for name, value in item.items() if value is not None)


def check_item(item: Mapping[str, Any]) -> None:
    """Refuse an item that the service would refuse.

    :raises InvalidInputError: naming the largest attribute.
    """
    whole = bytes_of(item)
    if whole > MAX_ITEM_BYTES:
        sizes = {name: bytes_of({name: value}) for name, value in item.items()}
        largest = max(sizes, key=lambda name: sizes[name])
        problem = f"makes an item of {whole:,} bytes, DynamoDB's limit is {MAX_ITEM_BYTES:,}"
        raise InvalidInputError(largest, item[largest], problem, f"Make it shorter; it alone takes {sizes[largest]:,}")


def check_together(call: Call, key: str, datasets: int, others: Sequence[object]) -> None:
    """Refuse a step that writes more items beside its partition than go into one transaction.

    :param datasets: how many of them are head records.
    :raises PartitionUpdateError: naming both numbers.
    """
    if len(others) >= MAX_TRANSACTION:
        problem = f"it publishes to {datasets} datasets, and DynamoDB writes {MAX_TRANSACTION} items at once"
        raise PartitionUpdateError(call.action, key, f"{problem}. Publish to fewer datasets")
