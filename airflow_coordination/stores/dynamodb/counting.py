"""How many partitions are in each status: counters that follow along, and an exact count now and then.

A hot counter in every transition would cost a second write each. So every process adds up what its own steps did
and brings it to the source's item of counts now and then; what a killed process had not brought is found again by
the next exact count.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Final

from boto3.dynamodb.conditions import Attr, Key

from airflow_coordination.leases.clock import Clock, from_micros, to_micros
from airflow_coordination.leases.errors import CoordinationError
from airflow_coordination.leases.partition import PartitionStatus
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.expressions import Expression, put, query
from airflow_coordination.stores.dynamodb.keys import COUNTS, belonging
from airflow_coordination.stores.dynamodb.partitions import check_ours
from airflow_coordination.stores.dynamodb.requests import Table

FLUSH_SECONDS: Final = 10.0
SMALL: Final = 2_000
EXACT_FOR: Final = timedelta(seconds=10)
EXACT_FOR_LARGE: Final = timedelta(hours=1)
"""For how long an exact count serves: of a source of at most ``SMALL`` partitions, and of a larger one."""
_COUNTED_AT: Final = "countedAt"
_COUNTED: Final = (it.STATUS, it.SOURCE, it.KEY, it.OWNER, it.LAST_OP)

Counts = dict[PartitionStatus, int]


class Counting:
    """The counts of all sources in one table.

    :param table: where they are.
    :param clock: says when this process brings its sums to the store.
    """

    def __init__(self, table: Table, clock: Clock) -> None:
        self._table, self._clock = table, clock
        self._sums: dict[str, Counter[PartitionStatus]] = {}
        self._brought_at = clock.monotonic()
        self._lock = threading.Lock()

    def moved(self, source: str, before: PartitionStatus | None, after: PartitionStatus | None, by: int = 1) -> None:
        """Note that partitions went from one status to another; ``None`` = did not exist, or do not any more."""
        with self._lock:
            sums = self._sums.setdefault(source, Counter())
            for status, change in ((before, -by), (after, by)):
                if status is not None:
                    sums[status] += change
            late = self._clock.monotonic() - self._brought_at > FLUSH_SECONDS
        if late:
            self.bring()

    def bring(self) -> None:
        """Add this process's sums to the store's. They are best effort: what cannot be brought is forgotten."""
        with self._lock:
            sums, self._sums = self._sums, {}
            self._brought_at = self._clock.monotonic()
        for source, changes in sums.items():
            changed = {status: change for status, change in changes.items() if change}
            if changed:
                self._add(source, changed)

    def _add(self, source: str, changes: dict[PartitionStatus, int]) -> None:
        expression = Expression()
        added = ", ".join(
            f"{expression.name(str(status))} {expression.operand(change)}" for status, change in changes.items()
        )
        condition = expression.condition(
            Attr(_COUNTED_AT).exists()
        )  # before the first count there is nothing to add to
        with suppress(CoordinationError):
            self._table.attempt(
                Call("count partitions"),
                "update_item",
                Key=it.typed(_key(source)),
                UpdateExpression=f"ADD {added}",
                ConditionExpression=condition,
                **expression.arguments(),
            )

    def counts(self, source: str, now: datetime, exact_for: timedelta | None = None) -> Counts:
        """Return how many partitions are in each status, all four named.

        :param exact_for: for how long an exact count serves; by the source's size when ``None``.
        """
        self.bring()
        call = Call("count partitions", writes=False)
        item = self._table.get(call, it.typed(_key(source)))
        if item is not None and _serves(item, now, exact_for):
            return _counts(item)
        return self.count(source, now)

    def count(self, source: str, now: datetime) -> Counts:
        """Count exactly, by reading the source; others are served by it for a while."""
        self.bring()  # what is counted now must not be added later
        found: Counter[PartitionStatus] = Counter(self._statuses(source))
        counts = {status: found[status] for status in PartitionStatus}
        item = {**_key(source), _COUNTED_AT: to_micros(now), **{str(name): n for name, n in counts.items()}}
        newer = Attr(_COUNTED_AT).not_exists() | Attr(_COUNTED_AT).lte(to_micros(now))
        with suppress(CoordinationError):
            self._table.attempt(Call("count partitions"), "put_item", **put(item, newer))
        return counts

    def _statuses(self, source: str) -> Iterator[PartitionStatus]:
        arguments = query(Key(it.SOURCE).eq(source), _COUNTED, kept=Attr(it.DELETED).not_exists())
        call = Call("count partitions", writes=False)
        for page in self._table.pages(call, None, ConsistentRead=True, **arguments):
            for item in page:
                check_ours(self._table.description, item)
                yield it.one_of(PartitionStatus, item, it.STATUS)


def _key(source: str) -> it.Item:
    return {it.SOURCE: belonging(source, COUNTS), it.KEY: COUNTS}


def _serves(item: it.Item, now: datetime, exact_for: timedelta | None) -> bool:
    counts = _counts(item)
    if min(counts.values()) < 0:
        return False
    life = exact_for or (EXACT_FOR if sum(counts.values()) <= SMALL else EXACT_FOR_LARGE)
    return now - from_micros(int(item[_COUNTED_AT])) < life


def _counts(item: dict[str, Any]) -> Counts:
    return {status: int(item.get(str(status), 0)) for status in PartitionStatus}
