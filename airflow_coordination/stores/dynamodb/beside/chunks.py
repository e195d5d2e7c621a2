"""Sums of the chunks of datasets: an item each, under an identifier of their own, in the order of a list.

They are put one by one, side by side: that costs the write units that a batch costs, and no right that a worker of
before has not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, Final

from boto3.dynamodb.conditions import ConditionBase, Key

from airflow_coordination.protocol.beside.chunk_sums import UNBOUNDED, ChunkSums, ChunkTotals, added_up, in_order
from airflow_coordination.protocol.fields import CHUNK_FIELDS, Kind
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb.expressions import query
from airflow_coordination.stores.dynamodb.items import KEY, SOURCE, Item, typed, whole_item
from airflow_coordination.stores.dynamodb.keys import CHUNKS, belonging, part_key, parts_between
from airflow_coordination.stores.dynamodb.requests import Table, side_by_side
from airflow_coordination.values.errors import OutcomeUnknownError, StoreUnavailableError
from airflow_coordination.values.times import from_micros, to_micros

MOST_READ: Final = 1_500
"""Items that one look at the totals of a source reads at most."""
OF_A_DATASET: Final = 250
"""Items of one dataset that it reads at most, so that the first dataset does not take all."""
_DECODERS: Final[dict[Kind, Callable[[Any], Any]]] = {
    Kind.TEXT: str,
    Kind.NUMBER: int,
    Kind.TIME: lambda micros: from_micros(int(micros)),
}


def put_chunks(table: Table, source: str, rows: Sequence[ChunkSums]) -> None:
    """Write sums over those that are there.

    :raises OutcomeUnknownError: when some of several may be written.
    """
    call, now = Call("write sums of chunks", source), table.clock.now()
    puts = [whole_item(_item(source, row, now)) for row in in_order(rows)]
    each_of(call, [partial(table.send, call, "put_item", TableName=table.name, Item=item) for item in puts])


def each_of(call: Call, requests: Sequence[Callable[[], Any]]) -> None:
    """Send several requests that write, side by side.

    :raises OutcomeUnknownError: when some of several may have been carried out.
    """
    try:
        side_by_side(requests)
    except StoreUnavailableError as error:
        if len(requests) == 1:
            raise
        raise OutcomeUnknownError(call.action, error.reason) from error


def _key(source: str, dataset: str, place: str) -> dict[str, str]:
    return {SOURCE: belonging(source, CHUNKS), KEY: part_key(dataset, place)}


def _item(source: str, row: ChunkSums, now: datetime) -> dict[str, Any]:
    said = {field.stored: _encoded(getattr(row, field.name)) for field in CHUNK_FIELDS[:-1]}
    known = {name: value for name, value in said.items() if value is not None}
    return {**_key(source, row.dataset, row.place), **known, CHUNK_FIELDS[-1].stored: to_micros(now)}


def _encoded(value: Any) -> Any:
    return to_micros(value) if isinstance(value, datetime) else value


def _decoded(item: Item) -> ChunkSums:
    stored = (field for field in CHUNK_FIELDS if field.stored in item)
    return ChunkSums(**{field.name: _DECODERS[field.kind](item[field.stored]) for field in stored})


def chunks(
    table: Table, source: str, dataset: str | None, after: tuple[str, str] | None, limit: int
) -> list[ChunkSums]:
    """Return sums by dataset in byte order, then the newest chunk first."""
    return list(islice(_read(table, source, dataset, after, limit), limit))


def _read(
    table: Table, source: str, dataset: str | None, after: tuple[str, str] | None, limit: int
) -> Iterator[ChunkSums]:
    condition: ConditionBase = Key(SOURCE).eq(belonging(source, CHUNKS))
    last = part_key(*after) if after else ""
    if dataset is not None:
        first, end = parts_between(dataset)
        if last >= end:
            return
        condition &= Key(KEY).between(max(first, last), end)
    elif last:
        condition &= Key(KEY).gt(last)
    call, size = Call("read sums of chunks", source, writes=False), min(limit + bool(last), MOST_READ)
    for page in table.pages(call, size, ConsistentRead=True, **query(condition)):
        yield from (_decoded(item) for item in page if item[KEY] != last)


def chunk_totals(table: Table, source: str, dataset: str | None) -> Sequence[ChunkTotals]:
    """Return what the newest of each dataset add up to."""
    if dataset is not None:
        newest = chunks(table, source, dataset, None, MOST_READ)
        return [replace(each, whole=len(newest) < MOST_READ) for each in added_up(newest)]
    found: list[ChunkSums] = []
    cut: set[str] = set()
    after: tuple[str, str] | None = None
    left = MOST_READ
    while left > 0:
        most = min(OF_A_DATASET, left)
        page = chunks(table, source, None, after, most)
        left -= len(page)
        first, last = {row.dataset for row in page[:1]}, {row.dataset for row in page[-1:]}
        goes_on = len(page) == most
        if goes_on and first == last:
            cut |= last
        elif goes_on:  # the last one begins anew, with a share of its own
            page = [row for row in page if row.dataset not in last]
        found += page
        if not goes_on:
            break
        after = page[-1].dataset, UNBOUNDED
    return [replace(each, whole=each.dataset not in cut) for each in added_up(found)]


def forget_chunks(table: Table, source: str, dataset: str) -> None:
    """Remove all sums of a dataset.

    :raises OutcomeUnknownError: when some of several may be gone.
    """
    call = Call("forget sums of chunks", source)
    keys = [_key(source, dataset, row.place) for row in chunks(table, source, dataset, None, sys.maxsize)]
    each_of(call, [partial(table.send, call, "delete_item", TableName=table.name, Key=typed(key)) for key in keys])
