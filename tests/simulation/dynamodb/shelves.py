"""Rows in the order of their keys, and pages of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from operator import itemgetter
from typing import Any, NamedTuple

from tests.simulation.dynamodb.items import Item
from tests.simulation.dynamodb.key_conditions import Bounds

Order = tuple[Any, ...]
"""Where a row stands: the second part of its key, then what sets it apart from others with the same."""
_first = itemgetter(0)


class Row(NamedTuple):
    """An item, which nobody changes, and its bytes."""

    item: Item
    size: int


class Shelf:
    """The rows with one hash key."""

    def __init__(self) -> None:
        self._rows: dict[Order, Row] = {}
        self._order: list[Order] = []

    def get(self, at: Order) -> Row | None:
        """Return the row that stands there."""
        return self._rows.get(at)

    def put(self, at: Order, row: Row | None) -> None:
        """Put a row there in the place of what there is; ``None`` takes it away."""
        if row is None:
            del self._rows[at]
            del self._order[bisect_left(self._order, at)]
            return
        if at not in self._rows:
            insort(self._order, at)
        self._rows[at] = row

    def rows(self, bounds: Bounds, after: Order | None) -> Iterator[Row]:
        """Yield what is within the bounds and stands behind ``after``."""
        first = self._low(bounds.low)
        if after is not None:
            first = max(first, bisect_right(self._order, after))
        for at in self._order[first : self._high(bounds.high)]:
            yield self._rows[at]

    def _low(self, bound: tuple[str, bool] | None) -> int:
        if bound is None:
            return 0
        bisect = bisect_left if bound[1] else bisect_right
        return bisect(self._order, bound[0], key=_first)

    def _high(self, bound: tuple[str, bool] | None) -> int:
        if bound is None:
            return len(self._order)
        bisect = bisect_right if bound[1] else bisect_left
        return bisect(self._order, bound[0], key=_first)
