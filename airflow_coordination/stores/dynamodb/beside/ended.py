"""Sums of what ended in each five minutes: an item each, beside the rows of the history, the newest first.

So nobody needs a right that a policy of before has not given.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Any, Final

from boto3.dynamodb.conditions import Attr, Key

from airflow_coordination.protocol.beside.ended_sums import MOST_SLOTS, EndedSums, EndedTenure
from airflow_coordination.protocol.fields import ENDED_FIELDS, Kind
from airflow_coordination.stores.calls import Call, StoreFacts
from airflow_coordination.stores.dynamodb.beside.chunks import each_of
from airflow_coordination.stores.dynamodb.expressions import put, query
from airflow_coordination.stores.dynamodb.items import KEY, SOURCE, Item, typed
from airflow_coordination.stores.dynamodb.keys import ENDED_SUMS, HISTORY, begins_with, belonging, newest_first
from airflow_coordination.stores.dynamodb.partitions import Partitions
from airflow_coordination.stores.dynamodb.requests import Refusal, Table
from airflow_coordination.values.times import from_micros, to_micros

_COUNTED_TO: Final = next(field.stored for field in ENDED_FIELDS if field.name == "counted_to")


class KeepsEnded(ABC):
    """What :class:`.DynamoDBStore` has of them."""

    table: Table
    _partitions: Partitions

    @abstractmethod
    def _ready(self) -> StoreFacts:
        """Return the store's facts, having checked its schema once in this process."""

    def ended_between(self, source: str, since: datetime, until: datetime, limit: int) -> Sequence[EndedTenure]:
        """Return the first endings of the history from a time up to another one, the oldest first."""
        self._ready()
        return self._partitions.history.between(source, since, until, limit)

    def ended_sums(self, source: str, limit: int) -> Sequence[EndedSums]:
        """Return the newest sums of what ended, the newest first."""
        self._ready()
        return list(islice(_kept(self.table, source, begins_with(ENDED_SUMS), limit), limit))

    def put_ended_sums(self, source: str, row: EndedSums, seen: datetime | None) -> bool:
        """Write sums of what ended in five minutes, if nobody has counted on since ``seen``."""
        self._ready()
        condition = Attr(KEY).not_exists() if seen is None else Attr(_COUNTED_TO).eq(to_micros(seen))
        call = Call("write sums of what ended", source)
        return not isinstance(self.table.attempt(call, "put_item", **put(_item(source, row), condition)), Refusal)

    def forget_ended_sums(self, source: str, before: datetime) -> None:
        """Remove the sums of what ended before a time.

        :raises OutcomeUnknownError: when some of several may be gone.
        """
        self._ready()
        call, older = Call("forget sums of what ended", source), before - timedelta(microseconds=1)
        places = _place(older), begins_with(ENDED_SUMS)[1]
        keys = [_key(source, row.start) for row in _kept(self.table, source, places, MOST_SLOTS)]
        delete = partial(self.table.send, call, "delete_item", TableName=self.table.name)
        each_of(call, [partial(delete, Key=typed(key)) for key in keys])


def _place(start: datetime) -> str:
    return ENDED_SUMS + newest_first(to_micros(start))


def _key(source: str, start: datetime) -> dict[str, str]:
    return {SOURCE: belonging(source, HISTORY), KEY: _place(start)}


def _item(source: str, row: EndedSums) -> dict[str, Any]:
    said = ((field, getattr(row, field.name)) for field in ENDED_FIELDS)
    numbers = {field.stored: to_micros(value) if field.kind is Kind.TIME else value for field, value in said}
    return {**_key(source, row.start), **numbers}


def _decoded(item: Item) -> EndedSums:
    numbers = ((field, int(item[field.stored])) for field in ENDED_FIELDS)
    said: dict[str, Any] = {
        field.name: from_micros(number) if field.kind is Kind.TIME else number for field, number in numbers
    }
    return EndedSums(**said)


def _kept(table: Table, source: str, places: tuple[str, str], size: int) -> Iterator[EndedSums]:
    condition = Key(SOURCE).eq(belonging(source, HISTORY)) & Key(KEY).between(*places)
    call = Call("read sums of what ended", source, writes=False)
    for page in table.pages(call, size, ConsistentRead=True, **query(condition)):
        yield from map(_decoded, page)
