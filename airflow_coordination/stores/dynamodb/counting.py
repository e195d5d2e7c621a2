"""How many partitions are in each status: counters that follow along, and an exact count now and then.

A hot counter in every transition would cost a second write each. So every process adds up what its own steps did
and brings it to the source's item of counts now and then. How often is a matter of all together, about once in ten
seconds: who has done little by its end brings it with a small chance only, and then that many times as much. What a
killed process had not brought is found again by the next exact count.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from boto3.dynamodb.conditions import Attr, Key

from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.expressions import Expression, put, query
from airflow_coordination.stores.dynamodb.keys import COUNTS, belonging
from airflow_coordination.stores.dynamodb.partitions import check_ours
from airflow_coordination.stores.dynamodb.requests import Refusal, Table
from airflow_coordination.values.input_errors import CoordinationError
from airflow_coordination.values.status import PartitionStatus
from airflow_coordination.values.times import Clock, Randomness, from_micros, to_micros

FLUSH_SECONDS: Final = 10.0
"""How often all processes together bring their sums."""
FLEET: Final = 64
"""How many processes are thought to be at work until the counts say it."""
ENOUGH: Final = 1_000
"""Changes that are brought at once; of fewer, a process that ends brings its share by chance."""
SMALL: Final = 2_000
EXACT_FOR: Final = timedelta(seconds=10)
EXACT_FOR_LARGE: Final = timedelta(hours=1)
"""For how long an exact count serves: of a source of at most ``SMALL`` partitions, and of a larger one."""
_COUNTED_AT: Final = "countedAt"
_LOOKED_AT: Final = (it.STATUS, it.SOURCE, it.KEY, it.OWNER, it.TOKEN, it.WAITS_FOR, it.REOPEN)

Counts = dict[PartitionStatus, int]


@dataclass(frozen=True, slots=True)
class Looked:
    """What a source has, item by item.

    :param counts: how many partitions are in each status.
    :param parked: how many of the CLOSED ones a person has to move.
    :param blocked: how many of the UNASSIGNED ones wait for parents.
    """

    counts: Counts
    parked: int
    blocked: int

    @property
    def moving(self) -> int:
        """How many are held, or can be acquired now or at their time."""
        unfinished = sum(self.counts.values()) - self.counts[PartitionStatus.COMPLETED]
        return unfinished - self.parked - self.blocked


class Counting:
    """The counts of all sources in one table.

    :param table: where they are.
    :param clock: says when this process brings its sums to the store.
    :param randomness: draws who brings.
    """

    def __init__(self, table: Table, clock: Clock, randomness: Randomness) -> None:
        self._table, self._clock, self._randomness = table, clock, randomness
        self._sums: dict[str, Counter[PartitionStatus]] = {}
        self._moves: Counter[str] = Counter()
        self._fleet = FLEET
        self._brought_at = clock.monotonic()
        self._lock = threading.Lock()

    def moved(self, source: str, before: PartitionStatus | None, after: PartitionStatus | None, by: int = 1) -> None:
        """Note that partitions went from one status to another; ``None`` = did not exist, or do not any more."""
        with self._lock:
            sums = self._sums.setdefault(source, Counter())
            for status, change in ((before, -by), (after, by)):
                if status is not None:
                    sums[status] += change
            self._moves[source] += by
            seconds = self._clock.monotonic() - self._brought_at
            many = self._moves.total() >= ENOUGH
        if seconds > FLUSH_SECONDS * (1 if many else self._fleet):
            self.bring()

    def bring(self) -> None:
        """Add this process's sums to the store's. They are best effort: what cannot be brought is forgotten."""
        for source, (changes, _) in self._taken().items():
            self._add(source, changes)

    def end(self) -> None:
        """Bring what is left when this process ends: much of it surely, little by chance and then as much as ENOUGH."""
        for source, (changes, moves) in self._taken().items():
            share = min(1.0, moves / ENOUGH)
            if self._randomness.chance(share):
                self._add(source, Counter({status: round(change / share) for status, change in changes.items()}))

    def _taken(self) -> dict[str, tuple[Counter[PartitionStatus], int]]:
        """Return sums and number of moves by source, and begin anew."""
        with self._lock:
            sums, moves = self._sums, self._moves
            self._sums, self._moves = {}, Counter()
            self._brought_at = self._clock.monotonic()
        return {source: (changes, moves[source]) for source, changes in sums.items()}

    def _add(self, source: str, sums: Counter[PartitionStatus]) -> None:
        changes = {status: change for status, change in sums.items() if change}
        if not changes:
            return
        expression = Expression()
        added = ", ".join(
            f"{expression.name(str(status))} {expression.operand(change)}" for status, change in changes.items()
        )
        condition = expression.condition(
            Attr(_COUNTED_AT).exists()
        )  # before the first count there is nothing to add to
        with suppress(CoordinationError):
            answer = self._table.attempt(
                Call("count partitions"),
                "update_item",
                Key=it.typed(_key(source)),
                UpdateExpression=f"ADD {added}",
                ConditionExpression=condition,
                ReturnValues="ALL_NEW",
                **expression.arguments(),
            )
            if not isinstance(answer, Refusal):
                self._fleet = max(1, _counts(it.plain(answer["Attributes"]))[PartitionStatus.ASSIGNED])

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
        return self.look(source, now).counts

    def look(self, source: str, now: datetime) -> Looked:
        """Count exactly, as :meth:`count` does; return what moves without a person or a parent, and what does not."""
        self.bring()  # what is counted now must not be added later
        found: Counter[PartitionStatus] = Counter()
        parked = blocked = 0
        for item in self._items(source):
            status = it.one_of(PartitionStatus, item, it.STATUS)
            found[status] += 1
            parked += status is PartitionStatus.CLOSED and it.REOPEN not in item
            blocked += status is PartitionStatus.UNASSIGNED and it.WAITS_FOR in item
        counts = {status: found[status] for status in PartitionStatus}
        item = {**_key(source), _COUNTED_AT: to_micros(now), **{str(name): n for name, n in counts.items()}}
        newer = Attr(_COUNTED_AT).not_exists() | Attr(_COUNTED_AT).lte(to_micros(now))
        with suppress(CoordinationError):
            self._table.attempt(Call("count partitions"), "put_item", **put(item, newer))
        return Looked(counts, parked, blocked)

    def _items(self, source: str) -> Iterator[it.Item]:
        arguments = query(Key(it.SOURCE).eq(source), _LOOKED_AT, kept=Attr(it.DELETED).not_exists())
        call = Call("count partitions", writes=False)
        for page in self._table.pages(call, None, ConsistentRead=True, **arguments):
            for item in page:
                check_ours(self._table.description, item)
                yield item


def _key(source: str) -> it.Item:
    return {it.SOURCE: belonging(source, COUNTS), it.KEY: COUNTS}


def _serves(item: it.Item, now: datetime, exact_for: timedelta | None) -> bool:
    counts = _counts(item)
    if any(item.get(str(status), 0) < -ENOUGH for status in PartitionStatus):
        return False
    life = exact_for or (EXACT_FOR if sum(counts.values()) <= SMALL else EXACT_FOR_LARGE)
    return now - from_micros(int(item[_COUNTED_AT])) < life


def _counts(item: dict[str, Any]) -> Counts:
    return {status: max(0, int(item.get(str(status), 0))) for status in PartitionStatus}
