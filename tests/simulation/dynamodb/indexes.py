"""A secondary index: it knows what was written some time ago, each item's changes in their order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta
from heapq import heappop, heappush
from typing import Any
from zlib import crc32

from tests.simulation.dynamodb.items import Item, size_of
from tests.simulation.dynamodb.rejections import invalid
from tests.simulation.dynamodb.schemas import Key, Schema
from tests.simulation.dynamodb.shelves import Order, Row, Shelf


class Index:
    """What queries of one index see.

    :param described: the index as the table's maker has asked for it.
    :param table: the key of the table.
    :param now: the service's time.
    :param delay: draws how many seconds a change takes until the index shows it.
    """

    def __init__(
        self, described: dict[str, Any], table: Schema, now: Callable[[], datetime], delay: Callable[[], float]
    ) -> None:
        self.schema, self._table = Schema.of(described), table
        self._shelves: defaultdict[str, Shelf] = defaultdict(Shelf)
        self._now, self._delay = now, delay
        kept = described["Projection"]
        keys = (table.hash, table.range, self.schema.hash, self.schema.range)
        self._kept = None if kept["ProjectionType"] == "ALL" else (*keys, *kept.get("NonKeyAttributes", ()))
        self._coming: list[tuple[datetime, int, Key, Item | None]] = []
        self._noted: dict[Key, tuple[Item | None, datetime]] = {}
        self._shown: dict[Key, tuple[str, Order]] = {}
        self._changes = 0

    def note(self, key: Key, item: Item | None) -> None:
        """Take a change of an item; it shows when it is due, and after the item's earlier changes."""
        row, now = self._row(item), self._now()
        before, at = self._noted.get(key, (None, now))
        if row == before:
            return
        due = max(at, now + timedelta(seconds=self._delay()))
        self._noted[key] = row, due
        self._changes += 1
        heappush(self._coming, (due, self._changes, key, row))
        self.bring()

    def bring(self, *, everything: bool = False) -> None:
        """Show what is due."""
        now = self._now()
        while self._coming and (everything or self._coming[0][0] <= now):
            _, _, key, row = heappop(self._coming)
            self._show(key, row)

    def shelf(self, value: str) -> Shelf:
        """Return the rows that show under a hash key."""
        self.bring()
        return self._shelves[value]

    def order(self, item: Item) -> Order:
        """Return where a row stands; of equal range keys it is unspecified, and so unlike the order of the items."""
        key = self._table.key(item)
        return item[self.schema.range]["S"], crc32("\0".join(key).encode()), key

    def check(self, item: Item) -> None:
        """Refuse an item whose keys of the index are no texts."""
        for name in (self.schema.hash, self.schema.range):
            if name in item and not item[name].get("S"):
                raise invalid(f"The AttributeValue for a key attribute cannot be {item[name]}. Index key: {name}")

    def _row(self, item: Item | None) -> Item | None:
        if item is None or self.schema.hash not in item or self.schema.range not in item:
            return None
        if self._kept is None:
            return item
        return {name: item[name] for name in self._kept if name in item}

    def _show(self, key: Key, row: Item | None) -> None:
        shown = self._shown.pop(key, None)
        if shown is not None:
            self._shelves[shown[0]].put(shown[1], None)
        if row is not None:
            place = row[self.schema.hash]["S"], self.order(row)
            self._shown[key] = place
            self._shelves[place[0]].put(place[1], Row(row, size_of(row)))
