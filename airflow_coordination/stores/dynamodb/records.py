"""What a step writes beside its partition: the other items of its transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import singledispatch
from typing import Any, Final

from boto3.dynamodb.conditions import ConditionBase, Key

from airflow_coordination.protocol.port import AUDITED
from airflow_coordination.protocol.publication import retracted
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.protocol.side_writes import (
    Audit,
    CountFailure,
    EmptyHeads,
    ForgetFailures,
    PutFollowUp,
    PutHeads,
    Record,
    TenureEnded,
)
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb.expressions import query
from airflow_coordination.stores.dynamodb.follow_ups import follow_up_item
from airflow_coordination.stores.dynamodb.heads import head_put, heads
from airflow_coordination.stores.dynamodb.index_keys import instant
from airflow_coordination.stores.dynamodb.items import KEY, READABLE_KEY, SOURCE, whole_item
from airflow_coordination.stores.dynamodb.keys import AUDIT, PAUSE, belonging, part_key, parts_between
from airflow_coordination.stores.dynamodb.limits import MAX_TRANSACTION
from airflow_coordination.stores.dynamodb.requests import Table
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.times import from_micros, to_micros

_ITSELF: Final = 2
"""Items that every action writes: the partition and the audit."""


def beside(table: Table, records: Iterable[Record], now: datetime) -> list[dict[str, Any]]:
    """Return the writes of some records, as a transaction takes them.

    :raises PartitionUpdateError: when they are too many for one transaction.
    """
    return [{"Put": put} for record in records for put in _puts(record, table, now)]


@singledispatch
def _puts(record: Any, table: Table, now: datetime) -> Iterator[dict[str, Any]]:
    raise TypeError(f"not a record of the protocol: {record!r}")


@_puts.register
def _put_heads(record: PutHeads, table: Table, now: datetime) -> Iterator[dict[str, Any]]:
    yield from (head_put(head, now) for head in record.heads)


@_puts.register
def _empty_heads(record: EmptyHeads, table: Table, now: datetime) -> Iterator[dict[str, Any]]:
    """Yield what a retract empties. While the partition is as its condition says, no ending moves a head record."""
    yield from (head_put(retracted(head), now) for head in _all_heads(table, record))


def _all_heads(table: Table, record: EmptyHeads) -> list[HeadRecord]:
    found = heads(table, record.source, None, record.key, None, MAX_TRANSACTION, None)
    if len(found) > MAX_TRANSACTION - _ITSELF:
        problem = f"it has published to more than {MAX_TRANSACTION - _ITSELF} datasets"
        remedy = (
            f"DynamoDB writes {MAX_TRANSACTION} items at once. Reset it, and let what it publishes anew replace them"
        )
        raise PartitionUpdateError("retract", record.key, f"{problem}, and {remedy}")
    return found


@_puts.register
def _counted(record: CountFailure | ForgetFailures, table: Table, now: datetime) -> Iterator[dict[str, Any]]:
    """Yield nothing: all endings of a source would wait for each other at one item (:mod:`.failures`)."""
    yield from ()


@_puts.register
def _tenure_ended(record: TenureEnded, table: Table, now: datetime) -> Iterator[dict[str, Any]]:
    """Yield nothing: an item of its own would cost each ending a request and a write unit."""
    yield from ()


@_puts.register
def _audit(record: Audit, table: Table, now: datetime) -> Iterator[dict[str, Any]]:
    item = {
        SOURCE: belonging(record.source, AUDIT),
        KEY: part_key(record.key, f"{instant(now)}|{record.op}"),
        READABLE_KEY: record.key,
        "at": to_micros(now),
        "action": record.action,
        "by": record.by,
        "why": record.why,
    }
    yield {"Item": whole_item(item)}


@_puts.register
def _put_follow_up(record: PutFollowUp, table: Table, now: datetime) -> Iterator[dict[str, Any]]:
    yield {"Item": whole_item(follow_up_item(record.follow_up, now))}


def audit(table: Table, source: str, key: str | None) -> list[dict[str, Any]]:
    """Return the people's actions on a partition, or the newest of a source, oldest first.

    They lie by partition, so that those of a source are all read: for a person, not for each second.
    """
    call, condition = Call("read the audit", key or "", writes=False), Key(SOURCE).eq(belonging(source, AUDIT))
    if key is None:
        return sorted(_audited(table, call, condition), key=lambda one: one["at"])[-AUDITED:]
    return _audited(table, call, condition & Key(KEY).between(*parts_between(key)))


def _audited(table: Table, call: Call, condition: ConditionBase) -> list[dict[str, Any]]:
    pages = table.pages(call, None, ConsistentRead=True, **query(condition))
    return [
        {
            "key": item[READABLE_KEY],
            "at": from_micros(int(item["at"])),
            "action": item["action"],
            "by": item["by"],
            "why": item["why"],
        }
        for page in pages
        for item in page
        if item[KEY] != PAUSE  # it lies beside its own audit
    ]
