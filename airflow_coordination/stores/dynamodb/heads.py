"""Head records: items of their own, never under TTL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any, Final

from boto3.dynamodb.conditions import Attr, ConditionBase, Key

from airflow_coordination.protocol.fields import HEAD_FIELDS, Field, Kind
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb.expressions import query
from airflow_coordination.stores.dynamodb.items import KEY, READABLE_KEY, SOURCE, Item, whole_item
from airflow_coordination.stores.dynamodb.keys import HEADS, SEPARATOR, belonging, part_key, parts_between, parts_prefix
from airflow_coordination.stores.dynamodb.requests import Table
from airflow_coordination.values.blocks import dump_blocks, load_blocks
from airflow_coordination.values.times import from_micros, to_micros

_ABOVE_SEPARATOR: Final = "\x01"
_OTHERS: Final = tuple(field for field in HEAD_FIELDS if field.name not in ("source", "key"))
"""Fields that are no part of where the item lies."""
_ATTRIBUTES: Final = {field.name: field.stored for field in HEAD_FIELDS} | {"rows": "rows", "bytes": "bytes"}


def head_put(head: HeadRecord, now: datetime) -> dict[str, Any]:
    """Return the put of a head record; the ending's condition in the same transaction guards it."""
    item = {
        SOURCE: belonging(head.source, HEADS),
        KEY: part_key(head.key, head.dataset),
        READABLE_KEY: head.key,
        **{_ATTRIBUTES[field.name]: _encoded(field, head, now) for field in _OTHERS},
    }
    return {"Item": whole_item(item)}


def _encoded(field: Field, head: HeadRecord, now: datetime) -> Any:
    if field.kind is Kind.TIME:
        return to_micros(now)
    return dump_blocks(head.blocks) if field.kind is Kind.BLOCKS else getattr(head, field.name)


_DECODERS: Final[dict[Kind, Callable[[Any], Any]]] = {
    Kind.TEXT: str,
    Kind.NUMBER: int,
    Kind.TIME: lambda micros: from_micros(int(micros)),
    Kind.BLOCKS: load_blocks,
}


def _head(source: str, item: Item) -> HeadRecord:
    stored = [field for field in _OTHERS if not field.optional or _ATTRIBUTES[field.name] in item]
    values = {field.name: _DECODERS[field.kind](item[_ATTRIBUTES[field.name]]) for field in stored}
    return HeadRecord(source=source, key=item[READABLE_KEY], **values)


def heads(
    table: Table,
    source: str,
    dataset: str | None,
    key: str | None,
    after: str | None,
    limit: int,
    after_dataset: str | None,
) -> list[HeadRecord]:
    """Return head records by key in byte order, then by dataset."""
    condition: ConditionBase = Key(SOURCE).eq(belonging(source, HEADS))
    last = part_key(after, after_dataset) if after and after_dataset is not None else None
    if key is not None:
        first, end = parts_between(key)
        condition &= Key(KEY).between(last if last and after == key else first, end)
    elif last:
        condition &= Key(KEY).gt(last)
    elif after:
        condition &= Key(KEY).gte(parts_prefix(after).removesuffix(SEPARATOR) + _ABOVE_SEPARATOR)
    kept = Attr("dataset").eq(dataset) if dataset is not None else None
    found = _read(table, source, query(condition, kept=kept))
    seen = (after, after_dataset)  # a range of sort keys includes its bounds
    return list(islice((head for head in found if (head.key, head.dataset) != seen), limit))


def _read(table: Table, source: str, arguments: dict[str, Any]) -> Iterator[HeadRecord]:
    call = Call("read head records", writes=False)
    for page in table.pages(call, None, ConsistentRead=True, **arguments):
        yield from (_head(source, item) for item in page)
