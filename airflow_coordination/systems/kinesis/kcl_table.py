"""The lease table of an application of the Kinesis Client Library, read as it stands.

Source: KCL 3.5.1, ``DynamoDBLeaseSerializer``; nothing is ever written there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from airflow_coordination.systems.kinesis.checkpoint import Checkpoint
from airflow_coordination.systems.suppliers import SourceError, wrapped
from airflow_coordination.values.input_errors import InvalidInputError, SettingsError

_ACTION: Final = "read the KCL's leases"
_KEY: Final = "leaseKey"
_OF_A_LEASE: Final = "LEASE"
_SHARD: Final = re.compile(r"shardId-[0-9]{12}")
_OF_SEVERAL: Final = re.compile(r"(?P<account>[0-9]{12}):(?P<name>[\w.-]{1,128}):(?P<epoch>[0-9]+):(?P<shard>[^:]+)")
_REMEDY: Final = "Repair the item, or take it out of the table, and begin again"


class Sentinel(StrEnum):
    """A sentinel of the KCL: what it writes in place of a sequence number."""

    TRIM_HORIZON = "TRIM_HORIZON"
    LATEST = "LATEST"
    AT_TIMESTAMP = "AT_TIMESTAMP"
    SHARD_END = "SHARD_END"


@dataclass(frozen=True, slots=True)
class KclLease:
    """A lease of the KCL.

    :param stream: the beginning of our keys, ``account:name:creation epoch:``; ``None`` in a table of one stream,
        which does not say whose it is.
    :param shard: the shard's id.
    :param place: the checkpoint: everything up to it, and the record at it, is done; or what stands in its place.
    :param owner: the worker that holds it, ``None`` when it is free.
    :param counter: grows with each renewal and each checkpoint.
    """

    stream: str | None
    shard: str
    place: Checkpoint | Sentinel
    owner: str | None = None
    counter: int = 0

    @property
    def key(self) -> str:
        """Its ``leaseKey``."""
        return (self.stream or "") + self.shard

    @property
    def done(self) -> bool:
        """Whether its shard was read to the end."""
        return self.place is Sentinel.SHARD_END


def read_leases(client: Any, table: str) -> dict[str, KclLease]:
    """Return all leases of a table by their keys, read so that every acknowledged write is seen.

    What else the KCL 3 keeps in that table (its leader, its workers' metrics) is passed over.

    :param client: boto3's low-level client of DynamoDB.
    :param table: the table's name: the KCL application's.
    :raises SettingsError: when it is no lease table of the KCL, or has no lease.
    :raises SourceError: when DynamoDB does not answer.
    :raises InvalidInputError: for an item that cannot be a lease, naming it and its field.
    """
    with wrapped(_ACTION, table):
        schema = _schema(client, table)
    if schema != [(_KEY, "HASH")]:
        problem = f"is no lease table of the KCL: its key is {schema}, not {_KEY!r} alone"
        raise SettingsError("table", table, problem, "Name the table; it bears the name of the KCL's application")
    with wrapped(_ACTION, table):
        items = [item for page in _pages(client, table) for item in page]
    leases = [_lease(item) for item in items if _told(item, "entityType", "S") in (None, _OF_A_LEASE)]
    if not leases:
        raise SettingsError("table", table, "has no lease in it", "Name the table of an application that has run")
    return {lease.key: lease for lease in leases}


def _schema(client: Any, table: str) -> list[tuple[str, str]]:
    try:
        told = client.describe_table(TableName=table)["Table"]["KeySchema"]
    except client.exceptions.ResourceNotFoundException:
        problem, remedy = "is no table here", "Check its name, the account and the region"
        raise SourceError(_ACTION, table, problem, remedy) from None
    return [(each["AttributeName"], each["KeyType"]) for each in told]


def _pages(client: Any, table: str) -> Iterator[list[dict[str, Any]]]:
    for page in client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True):
        yield page["Items"]


def _lease(item: Mapping[str, Any]) -> KclLease:
    key = _told(item, _KEY, "S") or ""
    several = _OF_SEVERAL.fullmatch(key)
    if several is None and not _SHARD.fullmatch(key):
        problem = "is neither a shard's id nor account:stream:creation:shard"
        raise InvalidInputError(_KEY, key, problem, _REMEDY)
    stream = several and f"{several['account']}:{several['name']}:{several['epoch']}:"
    counter = _told(item, "leaseCounter", "N") or "0"
    if not counter.isdecimal():
        raise InvalidInputError("leaseCounter", counter, f"of lease {key} is no whole number", _REMEDY)
    return KclLease(
        stream or None,
        several["shard"] if several else key,
        _place(item, key),
        _told(item, "leaseOwner", "S"),
        int(counter),
    )


def _place(item: Mapping[str, Any], key: str) -> Checkpoint | Sentinel:
    text, sub = _told(item, "checkpoint", "S"), _told(item, "checkpointSubSequenceNumber", "N") or "0"
    if text is not None and text in Sentinel.__members__:
        return Sentinel(text)
    try:
        return Checkpoint(text or "", int(sub))
    except (InvalidInputError, ValueError) as error:
        problem = f"of lease {key} is no place in a shard: {error}"
        raise InvalidInputError("checkpoint", f"{text}, {sub}", problem, _REMEDY) from error


def _told(item: Mapping[str, Any], name: str, kind: str) -> str | None:
    """Return an attribute's text.

    :raises InvalidInputError: when it is of another type.
    """
    if name not in item:
        return None
    found = item[name].get(kind)
    if not isinstance(found, str):
        problem = f"of item {item.get(_KEY)} is not of DynamoDB's type {kind}"
        raise InvalidInputError(name, item[name], problem, _REMEDY)
    return found
