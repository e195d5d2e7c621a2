"""Reads: one item, some, the rows of a query, a whole table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.simulation.dynamodb.expressions import Expressions, compiled
from tests.simulation.dynamodb.indexes import Index
from tests.simulation.dynamodb.items import Item, Names, Values
from tests.simulation.dynamodb.rejections import invalid
from tests.simulation.dynamodb.schemas import Schema
from tests.simulation.dynamodb.shelves import Order, Row
from tests.simulation.dynamodb.tables import Table
from tests.simulation.dynamodb.writes import Request, placeholders

PAGE_BYTES = 1024 * 1024
MAX_KEYS = 100
_MAX_ANSWER_BYTES = 16 * 1024 * 1024


def check_fresh(request: Request) -> None:
    """Refuse a read of a table that may be old: the store makes none, and the engine would have to guess."""
    if request.get("ConsistentRead") is not True:
        raise NotImplementedError("a read of a table without ConsistentRead")


def get(table: Table, key: Item) -> Item | None:
    """Return an item."""
    row = table.get(table.schema.only(key))
    return dict(row.item) if row else None


def get_many(table: Table, keys: list[Item]) -> list[Item]:
    """Return those items that exist."""
    wanted = [table.schema.only(key) for key in keys]
    if not 0 < len(wanted) <= MAX_KEYS:
        raise invalid(f"Too many items requested for the BatchGetItem call: {len(wanted)}")
    if len(set(wanted)) < len(wanted):
        raise invalid("Provided list of item keys contains duplicates")
    rows = [row for row in map(table.get, wanted) if row]
    if sum(row.size for row in rows) > _MAX_ANSWER_BYTES:
        raise NotImplementedError("answers of more than 16 MB")
    return [dict(row.item) for row in rows]


def query(table: Table, request: Request) -> dict[str, Any]:
    """Answer a query of a table or of an index."""
    place: Table | Index = table
    if "IndexName" not in request:
        check_fresh(request)
    elif request.get("ConsistentRead"):
        raise invalid("Consistent reads are not supported on global secondary indexes")
    else:
        place = table.index(request["IndexName"])
    said = compiled(request.get("FilterExpression"), None, request["KeyConditionExpression"], _attributes(request))
    names, values = placeholders(said, request)
    assert said.key is not None
    if said.key.names(names) not in ([place.schema.hash], list(place.schema)):
        raise invalid(f"Query condition missed key schema element: {place.schema.hash}")
    bounds = said.key.bounds(values)
    start, shelf = _start(place, request), place.shelf(bounds.hash)
    rows: Iterable[Row] = shelf.rows(bounds, start)
    if request.get("ScanIndexForward") is False:
        found = list(shelf.rows(bounds, None))[::-1]
        rows = (row for row in found if start is None or place.order(row.item) < start)
    return _page(rows, said, (names, values), request, (table.schema, place.schema))


def scan(table: Table, request: Request) -> dict[str, Any]:
    """Answer a scan."""
    check_fresh(request)
    said = compiled(request.get("FilterExpression"), None, None, _attributes(request))
    start = request.get("ExclusiveStartKey")
    rows = table.rows(table.schema.only(start) if start else None)
    return _page(rows, said, placeholders(said, request), request, (table.schema,))


def _attributes(request: Request) -> str | None:
    found: str | None = request.get("ProjectionExpression")
    return found


def _start(place: Table | Index, request: Request) -> Order | None:
    start = request.get("ExclusiveStartKey")
    return place.order(start) if start else None


def _page(
    rows: Iterable[Row],
    said: Expressions,
    given: tuple[Names, Values],
    request: Request,
    keys: tuple[Schema, ...],
) -> dict[str, Any]:
    """Return one page: so many rows, or so many bytes, before the filter."""
    found, seen, size, last = [], 0, 0, None
    for row in rows:
        seen, size = seen + 1, size + row.size
        if said.condition is None or said.condition(row.item, *given):
            found.append(row.item)
        if seen == request.get("Limit") or size > PAGE_BYTES:
            last = {name: row.item[name] for schema in keys for name in schema}
            break
    answer: dict[str, Any] = {"Count": len(found), "ScannedCount": seen}
    if request.get("Select") != "COUNT":
        answer["Items"] = [_projected(item, said.projection, given[0]) for item in found]
    return answer if last is None else answer | {"LastEvaluatedKey": last}


def _projected(item: Item, attributes: tuple[str, ...] | None, names: Names) -> Item:
    if attributes is None:
        return dict(item)
    return {names[name]: item[names[name]] for name in attributes if names[name] in item}
