"""A partition as an item: Data Prepper's attributes by Data Prepper's names, then ours. Absent means null."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Final, TypeVar

from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

from airflow_coordination.leases.blocks import dump_blocks, load_blocks
from airflow_coordination.leases.clock import from_micros, to_micros
from airflow_coordination.leases.errors import InvalidInputError, shown
from airflow_coordination.leases.partition import RING_SIZE, Owner, Partition, PartitionStatus, Rank
from airflow_coordination.leases.steps import due_at
from airflow_coordination.stores.dynamodb.keys import stored_key
from airflow_coordination.stores.dynamodb.limits import check_item
from airflow_coordination.stores.dynamodb.places import (
    combination,
    instant,
    parse_instant,
    parse_place,
    place_of,
    standing,
)

E = TypeVar("E", bound=Enum)
Item = dict[str, Any]
"""An item's attributes as plain Python values."""

# Data Prepper's.
SOURCE: Final = "sourceIdentifier"
KEY: Final = "sourcePartitionKey"
STATUS: Final = "sourcePartitionStatus"
OWNER: Final = "partitionOwner"
TIMEOUT: Final = "partitionOwnershipTimeout"
PROGRESS: Final = "partitionProgressState"
REOPEN: Final = "reOpenAt"
CLOSED_COUNT: Final = "closedCount"
VERSION: Final = "version"
COMBINATION: Final = "sourceStatusCombinationKey"
STANDING: Final = "partitionPriority"
EXPIRATION: Final = "expirationTime"

# Ours. Times are microseconds since 1970.
READABLE_KEY: Final = "partitionKey"
TOKEN: Final = "fenceToken"
NONCE: Final = "fenceNonce"
LAST_OP: Final = "lastOp"
CREATE_OP: Final = "createOp"
GENERATION: Final = "generation"
PLACE: Final = "place"
RANK: Final = "waitRank"
AVAILABLE: Final = "availableAt"
CREATED: Final = "createdAt"
UPDATED: Final = "updatedAt"
PAYLOAD: Final = "payload"
STAGED: Final = "staged"
FAILURES: Final = "failures"
LOST: Final = "lostLeases"
MAY_LOSE: Final = "lostLeasesAllowed"
"""The limit of the newest lease less one, because a condition compares two attributes but adds nothing to one."""
ERROR: Final = "lastError"
CONFIRMED: Final = "confirmed"
TRY: Final = "ownerTry"
DELETED: Final = "deleted"
LARGE_OP: Final = {PROGRESS: "progressOp", STAGED: "stagedOp"}
"""In the place of a text that is too large for the item: the operation that stored it in an item of its own."""
RING: Final = tuple(f"ring{slot}" for slot in range(RING_SIZE))

PROJECTED: Final = (READABLE_KEY, TOKEN, NONCE, LAST_OP, CLOSED_COUNT, PLACE, OWNER)
"""What the index repeats: enough to take any partition with one update, and nothing that a renewal changes."""

_serializer: Final = TypeSerializer()
_deserializer: Final = TypeDeserializer()


def typed(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain values in the form of the wire; ``None`` is left out."""
    return {name: _serializer.serialize(value) for name, value in item.items() if value is not None}


def whole_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return a whole item in the form of the wire.

    :raises InvalidInputError: when it is larger than the service takes.
    """
    check_item(item)
    return typed(item)


def plain(item: Mapping[str, Any]) -> Item:
    """Return the plain values of an item of the wire; numbers stay ``Decimal``."""
    return {name: _deserializer.deserialize(value) for name, value in item.items()}


def lease_key(source: str, key: str) -> Item:
    """Return the primary key of a partition's item."""
    return {SOURCE: source, KEY: stored_key(key)}


def encode(partition: Partition, now: datetime) -> Item:
    """Return everything an item says of a partition, but for ``expirationTime`` and ``version``.

    :param now: decides where a delayed partition stands in the index.
    """
    place = place_of(partition.priority, partition.ordinal)
    stands = None
    if not partition.deleted:
        stands = standing(partition.status, partition.rank, due_at(partition), place, now)
    owner = Owner(partition.owner) if partition.owner else None
    item: Item = {
        **lease_key(partition.source, partition.key),
        READABLE_KEY: partition.key if stored_key(partition.key) != partition.key else None,
        STATUS: str(partition.status),
        OWNER: partition.owner,
        TRY: owner.try_number if owner else None,
        TIMEOUT: instant(partition.ownership_timeout) if partition.ownership_timeout else None,
        PROGRESS: partition.progress_text,
        REOPEN: instant(partition.reopen_at) if partition.reopen_at else None,
        CLOSED_COUNT: partition.closed_count,
        COMBINATION: combination(partition.source, partition.status) if stands else None,
        STANDING: stands,
        TOKEN: partition.token,
        NONCE: partition.nonce or None,
        LAST_OP: partition.last_op,
        CREATE_OP: partition.create_op,
        GENERATION: partition.generation,
        PLACE: place,
        RANK: int(partition.rank),
        AVAILABLE: None if partition.available_at == partition.updated_at else _micros(partition.available_at),
        CREATED: _micros(partition.created_at),
        UPDATED: _micros(partition.updated_at),
        PAYLOAD: partition.payload_text,
        STAGED: dump_blocks(partition.staged) if partition.staged else None,
        FAILURES: partition.failures,
        LOST: partition.lost_leases,
        MAY_LOSE: None if partition.max_lost_leases is None else partition.max_lost_leases - 1,
        ERROR: partition.last_error,
        CONFIRMED: int(partition.confirmed),
        DELETED: partition.deleted or None,
    }
    item |= zip(RING, partition.ring, strict=True)
    return {name: value for name, value in item.items() if value is not None}


def decode(item: Item) -> Partition:
    """Return the partition that an item holds.

    :raises InvalidInputError: when an attribute is corrupt; the message names it and the partition.
    """
    with naming(item):
        return _decoded(item)


@contextmanager
def naming(item: Item) -> Iterator[None]:
    """Let errors about an attribute say whose it is."""
    try:
        yield
    except InvalidInputError as error:
        whose = f"{error.problem}, in the item of partition {shown(key_of(item))}"
        raise InvalidInputError(error.field, error.value, whose, error.remedy) from error


def _decoded(item: Item) -> Partition:
    priority, ordinal = parse_place(text(item, PLACE))
    return Partition(
        source=item[SOURCE],
        key=key_of(item),
        status=one_of(PartitionStatus, item, STATUS),
        payload_text=item.get(PAYLOAD),
        priority=priority,
        ordinal=ordinal,
        rank=one_of(Rank, item, RANK),
        progress_text=item.get(PROGRESS),
        closed_count=number(item, CLOSED_COUNT),
        failures=number(item, FAILURES),
        lost_leases=number(item, LOST),
        max_lost_leases=number(item, MAY_LOSE) + 1 if MAY_LOSE in item else None,
        last_error=item.get(ERROR),
        reopen_at=_instant(item, REOPEN),
        available_at=available_at(item),
        owner=item.get(OWNER),
        ownership_timeout=_instant(item, TIMEOUT),
        created_at=_moment(item, CREATED),
        updated_at=_moment(item, UPDATED),
        token=number(item, TOKEN),
        nonce=item.get(NONCE, ""),
        last_op=text(item, LAST_OP),
        create_op=text(item, CREATE_OP),
        generation=text(item, GENERATION),
        confirmed=bool(number(item, CONFIRMED)),
        deleted=bool(item.get(DELETED)),
        staged=load_blocks(item.get(STAGED)),
        ring=tuple(item.get(name) for name in RING),
    )


def available_at(item: Item) -> datetime | None:
    """Return since when an UNASSIGNED partition can be acquired: since it became so, unless something else is stored.

    What was never delayed can then be had at once, however little two hosts agree about the second.
    """
    if item.get(STATUS) != PartitionStatus.UNASSIGNED or DELETED in item:
        return None
    return _moment(item, AVAILABLE) or _moment(item, UPDATED)


def key_of(item: Mapping[str, Any]) -> str:
    """Return the partition's key, which is not the item's own where that would be too long."""
    return str(item.get(READABLE_KEY, item[KEY]))


def is_ours(item: Mapping[str, Any]) -> bool:
    """Return whether this package wrote the item last: Data Prepper replaces items whole, without our attributes."""
    return LAST_OP in item


def number(item: Item, name: str) -> int:
    """Return a whole number that an item must have.

    :raises InvalidInputError: when it has none there.
    """
    value = item.get(name)
    if not isinstance(value, Decimal) or value % 1:
        raise _corrupt(name, value, "is no whole number")
    return int(value)


def text(item: Item, name: str) -> str:
    """Return a text that an item must have.

    :raises InvalidInputError: when it has none there.
    """
    value = item.get(name)
    if not isinstance(value, str):
        raise _corrupt(name, value, "is no text")
    return value


def one_of(kind: type[E], item: Item, name: str) -> E:
    """Return one of a few values that an item must have.

    :raises InvalidInputError: when it has none of them there.
    """
    value = item.get(name)
    try:
        return kind(value)
    except ValueError:
        raise _corrupt(name, value, f"is none of {', '.join(str(known.value) for known in kind)}") from None


def _corrupt(name: str, value: object, problem: str) -> InvalidInputError:
    return InvalidInputError(name, value, problem, "Correct the item by hand")


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def _moment(item: Item, name: str) -> datetime | None:
    return from_micros(number(item, name)) if name in item else None


def _instant(item: Item, name: str) -> datetime | None:
    return parse_instant(text(item, name), name) if name in item else None
