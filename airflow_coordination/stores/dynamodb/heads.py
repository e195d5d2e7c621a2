"""Head records: items of their own, never under TTL."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Any, Final

from boto3.dynamodb.conditions import Attr, ConditionBase, Key

from airflow_coordination.leases.blocks import dump_blocks, load_blocks
from airflow_coordination.leases.clock import from_micros, to_micros
from airflow_coordination.leases.results import HeadRecord
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb.expressions import query
from airflow_coordination.stores.dynamodb.items import KEY, READABLE_KEY, SOURCE, Item, whole_item
from airflow_coordination.stores.dynamodb.keys import HEADS, SEPARATOR, belonging, part_key, parts_between, parts_prefix
from airflow_coordination.stores.dynamodb.requests import Table

_ABOVE_SEPARATOR: Final = "\x01"
_PLAIN: Final = ("dataset", "rows", "bytes", "generation", "op", "token", "kind", "state")


def head_put(head: HeadRecord, now: datetime) -> dict[str, Any]:
    """Return the put of a head record; the ending's condition in the same transaction guards it."""
    item = {
        SOURCE: belonging(head.source, HEADS),
        KEY: part_key(head.key, head.dataset),
        READABLE_KEY: head.key,
        "blocks": dump_blocks(head.blocks),
        "publishedAt": to_micros(now),
        **{name: getattr(head, name) for name in _PLAIN},
    }
    return {"Item": whole_item(item)}


def _head(source: str, item: Item) -> HeadRecord:
    return HeadRecord(
        source=source,
        dataset=item["dataset"],
        key=item[READABLE_KEY],
        blocks=load_blocks(item["blocks"]),
        rows=int(item["rows"]),
        bytes=int(item["bytes"]),
        generation=item["generation"],
        op=item["op"],
        token=int(item["token"]),
        kind=item["kind"],
        state=item["state"],
        published_at=from_micros(int(item["publishedAt"])),
    )


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
