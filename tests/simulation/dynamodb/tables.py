"""One table: its items, its indexes and its TTL."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

from tests.simulation.dynamodb.indexes import Index
from tests.simulation.dynamodb.items import Item
from tests.simulation.dynamodb.key_conditions import Bounds
from tests.simulation.dynamodb.rejections import invalid
from tests.simulation.dynamodb.schemas import Key, Schema
from tests.simulation.dynamodb.shelves import Order, Row, Shelf

_ALL = Bounds("", None, None)


class Table:
    """A table.

    :param described: as its maker has asked for it.
    :param now: the service's time.
    :param delay: draws how many seconds a change takes until an index shows it.
    """

    def __init__(self, described: dict[str, Any], now: Callable[[], datetime], delay: Callable[[], float]) -> None:
        if any(attribute["AttributeType"] != "S" for attribute in described["AttributeDefinitions"]):
            raise NotImplementedError("keys that are no texts")
        self.described, self.schema, self._now = described, Schema.of(described), now
        self.indexes = {
            index["IndexName"]: Index(index, self.schema, now, delay)
            for index in described.get("GlobalSecondaryIndexes", ())
        }
        self.ttl: str | None = None
        """The attribute that says when an item expires, ``None`` when TTL is not enabled."""
        self._shelves: defaultdict[str, Shelf] = defaultdict(Shelf)

    def get(self, key: Key) -> Row | None:
        """Return an item as it is now."""
        return self._shelves[key[0]].get(key[1:])

    def put(self, key: Key, before: Row | None, after: Row | None) -> None:
        """Put an item in the place of what there is; ``None`` takes it away."""
        if before is after:
            return
        self._shelves[key[0]].put(key[1:], after)
        for index in self.indexes.values():
            index.note(key, after and after.item)

    def check(self, item: Item) -> None:
        """Refuse an item whose index keys are no texts."""
        for index in self.indexes.values():
            index.check(item)

    def shelf(self, value: str) -> Shelf:
        """Return the items with a hash key."""
        return self._shelves[value]

    def order(self, item: Item) -> Order:
        """Return where an item stands among those with its hash key."""
        return (item[self.schema.range]["S"],)

    def rows(self, after: Key | None = None) -> Iterator[Row]:
        """Yield all items behind a key."""
        for value in sorted(self._shelves):
            if after is None or value > after[0]:
                yield from self._shelves[value].rows(_ALL, None)
            elif value == after[0]:
                yield from self._shelves[value].rows(_ALL, after[1:])

    def index(self, name: str) -> Index:
        """Return an index.

        :raises Rejected: when the table has none of that name.
        """
        if name not in self.indexes:
            raise invalid("The table does not have the specified index: " + name)
        return self.indexes[name]

    def expire(self) -> list[Key]:
        """Delete what has expired, and return the keys."""
        due = [row for row in self.rows() if self._expired(row.item)]
        for row in due:
            self.put(self.schema.key(row.item), row, None)
        return [self.schema.key(row.item) for row in due]

    def _expired(self, item: Item) -> bool:
        at = item.get(self.ttl, {}).get("N") if self.ttl is not None else None
        return at is not None and Decimal(at) <= Decimal(self._now().timestamp())
