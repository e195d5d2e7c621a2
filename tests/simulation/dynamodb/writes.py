"""Writes: what each would do is found out first, so that a transaction does all or nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.simulation.dynamodb.expressions import Expressions, compiled
from tests.simulation.dynamodb.items import MAX_ITEM_BYTES, Item, canonical, size_of
from tests.simulation.dynamodb.rejections import Rejected, invalid
from tests.simulation.dynamodb.schemas import Key
from tests.simulation.dynamodb.shelves import Row
from tests.simulation.dynamodb.tables import Table

Request = dict[str, Any]
REFUSED = "ConditionalCheckFailedException"
_SAID = frozenset(
    {
        "TableName",
        "ConditionExpression",
        "ExpressionAttributeNames",
        "ExpressionAttributeValues",
        "ReturnValuesOnConditionCheckFailure",
    }
)
ARGUMENTS = {
    "Put": _SAID | {"Item"},
    "Update": _SAID | {"Key", "UpdateExpression"},
    "Delete": _SAID | {"Key"},
}
"""What a write of each kind may say."""


@dataclass(frozen=True, slots=True)
class Write:
    """What a request does to one item.

    :param before: the item as it was.
    :param after: the item as it will be, ``None`` when it is deleted.
    """

    table: Table
    key: Key
    before: Row | None
    after: Row | None

    def apply(self) -> None:
        """Do it."""
        self.table.put(self.key, self.before, self.after)


def planned(kind: str, table: Table, request: Request) -> Write:
    """Return what a request would do.

    :param kind: ``Put``, ``Update`` or ``Delete``.
    :raises Rejected: when it may not; with the item, if the request asks for it.
    """
    return _KINDS[kind](table, request)


def _put(table: Table, request: Request) -> Write:
    item = {name: canonical(value) for name, value in request["Item"].items()}
    key = table.schema.checked(item)
    before, after = table.get(key), _row(table, item, "Item size has exceeded the maximum allowed size")
    _check(compiled(request.get("ConditionExpression")), before, request)
    return Write(table, key, before, after)


def _delete(table: Table, request: Request) -> Write:
    key = table.schema.only(request["Key"])
    before = table.get(key)
    _check(compiled(request.get("ConditionExpression")), before, request)
    return Write(table, key, before, None)


def _update(table: Table, request: Request) -> Write:
    key = table.schema.only(request["Key"])
    said = compiled(request.get("ConditionExpression"), request["UpdateExpression"])
    before = table.get(key)
    names, values = _check(said, before, request)
    assert said.update is not None
    _check_paths(table, said.update.paths(names))
    after = said.update.apply(before.item if before else {}, names, values)
    item = after if before else request["Key"] | after
    return Write(table, key, before, _row(table, item, "Item size to update has exceeded the maximum allowed size"))


_KINDS: dict[str, Callable[[Table, Request], Write]] = {"Put": _put, "Update": _update, "Delete": _delete}


def _check(said: Expressions, before: Row | None, request: Request) -> tuple[dict[str, str], Item]:
    """Refuse what the condition forbids; return the placeholders' names and values."""
    names, values = placeholders(said, request)
    if said.condition is None or said.condition(before.item if before else {}, names, values):
        return names, values
    shown = before and request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
    raise Rejected(REFUSED, "The conditional request failed", **({"Item": dict(before.item)} if shown else {}))


def placeholders(said: Expressions, request: Request) -> tuple[dict[str, str], Item]:
    """Return the names and the values that a request's placeholders stand for."""
    names = request.get("ExpressionAttributeNames", {})
    values = request.get("ExpressionAttributeValues", {})
    said.check(names, values)
    return names, {name: canonical(value) for name, value in values.items()}


def _check_paths(table: Table, paths: list[str]) -> None:
    if len(set(paths)) < len(paths):
        raise invalid("Invalid UpdateExpression: Two document paths overlap with each other")
    for name in table.schema:
        if name in paths:
            raise invalid(f"Cannot update attribute {name}. This attribute is part of the key")


def _row(table: Table, item: Item, too_large: str) -> Row:
    table.check(item)
    size = size_of(item)
    if size > MAX_ITEM_BYTES:
        raise invalid(too_large)
    return Row(item, size)
