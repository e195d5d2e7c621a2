"""A partition as an item, by Data Prepper's names and then ours (absent means null), and as a row of the index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Final, TypeVar

from boto3.dynamodb.types import TypeDeserializer, TypeSerializer

from airflow_coordination.protocol.fields import PARTITION_FIELDS, Field, Kind
from airflow_coordination.protocol.partition import Partition, dump_keys, load_keys
from airflow_coordination.protocol.steps import due_at
from airflow_coordination.stores.dynamodb.keys import (
    CRASHED,
    DELAYED,
    LARGE,
    REOPENED,
    belonging,
    blocked,
    check_item,
    combination,
    instant,
    member_key,
    parse_instant,
    parse_place,
    place_of,
    standing,
    stored_key,
)
from airflow_coordination.values.blocks import dump_blocks, load_blocks
from airflow_coordination.values.fence import RING_SIZE
from airflow_coordination.values.input_errors import InvalidInputError, shown
from airflow_coordination.values.status import PartitionStatus, Rank
from airflow_coordination.values.times import from_micros, to_micros

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
NEVER: Final = to_micros(datetime(9999, 12, 31, tzinfo=UTC))
"""When what waits for a parent can be acquired, to code that knows no parents."""
TOKEN: Final = "fenceToken"
NONCE: Final = "fenceNonce"
LAST_OP: Final = "lastOp"
CREATE_OP: Final = "createOp"
PLACE: Final = "place"
RANK: Final = "waitRank"
AVAILABLE: Final = "availableAt"
CREATED: Final = "createdAt"
UPDATED: Final = "updatedAt"
STAGED: Final = "staged"
LOST: Final = "lostLeases"
MAY_LOSE: Final = "lostLeasesAllowed"
"""The limit of the newest lease less one, because a condition compares two attributes but adds nothing to one."""
CONFIRMED: Final = "confirmed"
TRY: Final = "ownerTry"
DELETED: Final = "deleted"
WAITS_FOR: Final = "waitsFor"
AWAITED: Final = "awaitedOp"
ACCOUNTING: Final = "accounting"
TEXTS: Final = {"progress_text": PROGRESS, "staged": STAGED, "accounting_text": ACCOUNTING}
"""Fields that may be too large for the partition's item, and their attributes in it."""
LARGE_OP: Final = {PROGRESS: "progressOp", STAGED: "stagedOp", ACCOUNTING: "accountingOp"}
"""In the place of a text that is too large for the item: the operation that stored it in an item of its own."""
RING: Final = tuple(f"ring{slot}" for slot in range(RING_SIZE))

PROJECTED: Final = (READABLE_KEY, TOKEN, NONCE, CLOSED_COUNT, PLACE, OWNER)
"""What the index repeats: enough to take what waits with one update, and nothing that a renewal or a save changes."""

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
    item: Item = {
        **lease_key(partition.source, partition.key),
        READABLE_KEY: partition.key if stored_key(partition.key) != partition.key else None,
        TRY: partition.owner_try,
        **_standing(partition, place, now),
        PLACE: place,
        **encoded({name: getattr(partition, name) for name in _CODECS}),
        **dict(zip(RING, partition.ring, strict=True)),
    }
    if partition.blocked:
        item[AVAILABLE] = NEVER
    return {name: value for name, value in item.items() if value is not None}


def member(partition: Partition) -> dict[str, Any]:
    """Return the put that says in which branch a partition was put, beside the write that puts it there.

    Nobody takes it away: whether the partition runs there still, it says itself.
    """
    assert partition.branch is not None, "asked for by whoever puts it into one"
    place = {SOURCE: belonging(partition.source, LARGE), KEY: member_key(partition.branch, partition.key)}
    return {"Put": {"Item": typed({**place, READABLE_KEY: partition.key})}}


def _standing(partition: Partition, place: str, now: datetime) -> Item:
    """Return where the index finds a partition: what waits for a parent lies apart from what can be acquired."""
    if partition.blocked:
        return {COMBINATION: blocked(partition.source), STANDING: place}
    stands = None
    if not partition.deleted:
        stands = standing(partition.status, partition.rank, due_at(partition), place, now)
    return {COMBINATION: combination(partition.source, partition.status) if stands else None, STANDING: stands}


def attribute_of(name: str) -> str:
    """Return where a field lies."""
    return _CODECS[name].attribute


def as_kept(partition: Partition) -> Partition:
    """Return a partition as it can be read again: without what this store does not keep."""
    return replace(partition, **_NOTHING)  # type: ignore[arg-type]


def encoded(fields: Mapping[str, Any]) -> Item:
    """Return the attributes of some fields of a partition; ``None`` where one is left out.

    A partition that can be had since it became so does not say since when.
    """
    item = {_CODECS[name].attribute: _CODECS[name].encode(value) for name, value in fields.items()}
    if "available_at" in fields and fields["available_at"] == fields.get("updated_at"):
        item[AVAILABLE] = None
    return item


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
        priority=priority,
        ordinal=ordinal,
        ring=tuple(item.get(name) for name in RING),
        **{name: codec.decode(item) for name, codec in _CODECS.items()},
    )


def available_at(item: Item) -> datetime | None:
    """Return since when an UNASSIGNED partition can be acquired: since it became so, unless something else is stored.

    What was never delayed can then be had at once, however little two hosts agree about the second.
    """
    if item.get(STATUS) != PartitionStatus.UNASSIGNED or DELETED in item or WAITS_FOR in item:
        return None
    return _moment(item, AVAILABLE) or _moment(item, UPDATED)


def key_of(item: Mapping[str, Any]) -> str:
    """Return the partition's key, which is not the item's own where that would be too long."""
    return str(item.get(READABLE_KEY, item[KEY]))


def is_ours(item: Mapping[str, Any]) -> bool:
    """Return whether this package wrote the item last: Data Prepper replaces items whole, without our attributes."""
    return TOKEN in item


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


def micros(moment: datetime | None) -> int | None:
    """Return a time as an item has it, ``None`` for none."""
    return None if moment is None else to_micros(moment)


def _moment(item: Item, name: str) -> datetime | None:
    return from_micros(number(item, name)) if name in item else None


def _instant(item: Item, name: str) -> datetime | None:
    return parse_instant(text(item, name), name) if name in item else None


@dataclass(frozen=True, slots=True)
class _Codec:
    """A field's way into an item and back.

    :param attribute: where it lies.
    :param encode: from its value; ``None`` leaves it out.
    :param decode: from the item.
    """

    attribute: str
    encode: Callable[[Any], Any]
    decode: Callable[[Item], Any]


_WRITTEN: Final[dict[Kind, Callable[[Any], Any]]] = {
    Kind.TEXT: str,
    Kind.NUMBER: int,
    Kind.FLAG: int,
    Kind.TIME: to_micros,
    Kind.STATUS: str,
    Kind.RANK: int,
    Kind.KEYS: dump_keys,
}
_READ: Final[dict[Kind, Callable[[Item, str], Any]]] = {
    Kind.TEXT: text,
    Kind.NUMBER: number,
    Kind.FLAG: lambda item, name: bool(number(item, name)),
    Kind.TIME: _moment,
    Kind.STATUS: lambda item, name: one_of(PartitionStatus, item, name),
    Kind.RANK: lambda item, name: one_of(Rank, item, name),
    Kind.KEYS: lambda item, name: load_keys(text(item, name)),
}


def _codec(field: Field, attribute: str) -> _Codec:
    def encode(value: Any) -> Any:
        return None if value is None else _WRITTEN[field.kind](value)

    def decode(item: Item) -> Any:
        if field.optional and attribute not in item:
            return () if field.kind is Kind.KEYS else None
        return _READ[field.kind](item, attribute)

    return _Codec(attribute, encode, decode)


def _as_instant(attribute: str) -> _Codec:
    """Return the codec of a time that Data Prepper keeps as a text."""
    return _Codec(attribute, lambda moment: instant(moment) if moment else None, lambda i: _instant(i, attribute))


NOT_KEPT: Final = ("max_failures", "acquired_at", "owner_details")
"""What only people ask for: with it, a renewal would cost two units from the third ending on (P9)."""
KEPT_FIELDS: Final = tuple(field for field in PARTITION_FIELDS if field.name not in NOT_KEPT)
_NOTHING: Final[dict[str, None]] = dict.fromkeys(NOT_KEPT)
PLACED: Final = ("source", "key", "priority", "ordinal")
"""What says where the item lies, in the table and in the index."""
_NAMES: Final = {"token": TOKEN, "rank": RANK}
"""Names of attributes that are not the field's own."""
_CODECS: Final = {
    field.name: _codec(field, _NAMES.get(field.name, field.stored))
    for field in KEPT_FIELDS
    if field.name not in PLACED and field.kind is not Kind.BLOCKS
} | {
    "ownership_timeout": _as_instant(TIMEOUT),
    "reopen_at": _as_instant(REOPEN),
    # Absent while they say nothing:
    "nonce": _Codec(NONCE, lambda nonce: nonce or None, lambda i: i.get(NONCE, "")),
    "deleted": _Codec(DELETED, lambda deleted: deleted or None, lambda i: bool(i.get(DELETED))),
    "staged": _Codec(
        STAGED, lambda blocks: dump_blocks(blocks) if blocks else None, lambda i: load_blocks(i.get(STAGED))
    ),
    # Also said by another attribute, or less one:
    "available_at": _Codec(AVAILABLE, micros, available_at),
    "max_lost_leases": _Codec(
        MAY_LOSE,
        lambda limit: None if limit is None else limit - 1,
        lambda i: number(i, MAY_LOSE) + 1 if MAY_LOSE in i else None,
    ),
}
"""Every field but those of :data:`PLACED` and the ring."""


_RANKS: Final = {CRASHED: Rank.CRASHED, REOPENED: Rank.REOPENED}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row of the index.

    :param seen: what the index repeats of the partition: of a lease too little to end it.
    :param rank: the class it would be acquired in.
    :param since: since when it can be acquired, as text of an instant; decides the order inside a class.
    :param place: where it stands among the new ones.
    :param standing: where it stands in the index.
    """

    seen: Partition
    rank: Rank
    since: str
    place: str
    standing: str

    @property
    def order(self) -> tuple[int, str, int]:
        """The place inside its class: priority, then oldest first; for "new" the supplier's order."""
        priority, ordinal = parse_place(self.place)
        return priority, "" if self.rank is Rank.NEW else self.since, ordinal

    @property
    def due(self) -> datetime:
        """Since when it can be acquired."""
        return parse_instant(self.since, STANDING)


def candidate(item: Item, status: PartitionStatus) -> Candidate:
    """Return what a row of the index says.

    :raises InvalidInputError: when an attribute is corrupt.
    """
    with naming(item):
        return _candidate(item, status)


def _candidate(item: Item, status: PartitionStatus) -> Candidate:
    standing = item[STANDING]
    place = text(item, PLACE)
    seen = Partition(
        source=item[SOURCE],
        key=key_of(item),
        status=status,
        token=number(item, TOKEN),
        nonce=item.get(NONCE, ""),
        closed_count=number(item, CLOSED_COUNT),
        owner=item.get(OWNER),
    )
    if status is not PartitionStatus.UNASSIGNED:
        rank = Rank.CRASHED if status is PartitionStatus.ASSIGNED else Rank.REOPENED
        return Candidate(seen, rank, standing, place, standing)
    rank = _RANKS.get(standing[0], Rank.NEW)
    since = standing.split("|")[1] if rank is not Rank.NEW else standing.removeprefix(DELAYED)
    return Candidate(seen, rank, since, place, standing)
