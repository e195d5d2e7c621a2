"""Reading the index: who can be acquired, in the acquisition order, as far as the index knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain, groupby, islice
from operator import attrgetter
from typing import Final

from boto3.dynamodb.conditions import ConditionBase, Key

from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.candidate import Candidate, candidate
from airflow_coordination.stores.dynamodb.expressions import query
from airflow_coordination.stores.dynamodb.index_keys import (
    CRASHED,
    DELAYED,
    FRESH,
    PARKED,
    RELEASING,
    blocked,
    combination,
    instant,
)
from airflow_coordination.stores.dynamodb.keys import INDEX
from airflow_coordination.stores.dynamodb.partitions import check_ours
from airflow_coordination.stores.dynamodb.requests import Table
from airflow_coordination.values.status import PartitionStatus, Rank

LOOK: Final = 1_000
"""How far one look at the index goes: of each kind no more rows than this."""
WATCHED: Final = 100
"""How many leases and closed partitions are looked through for those of another writer, the earliest first."""


class Queue:
    """The index of one table.

    :param table: where it is.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def pages(
        self, call: Call, source: str, status: PartitionStatus, within: ConditionBase | None, size: int
    ) -> Iterator[list[Candidate]]:
        """Yield the rows of a status in the order they stand, page by page as they are wanted."""
        condition: ConditionBase = Key(it.COMBINATION).eq(combination(source, status))
        arguments = query(condition & within if within is not None else condition)
        for page in self._table.pages(call, size, IndexName=INDEX, **arguments):
            yield [candidate(item, status) for item in page if self._is_ours(call, item)]

    def _is_ours(self, call: Call, row: it.Item) -> bool:
        """Return whether this package wrote a row; one from before the takeover is nobody's, and about to go.

        :raises SchemaVersionError: when Data Prepper wrote the item that the row is of, and it still is so.
        """
        if it.is_ours(row):
            return True
        item = self._table.get(call, it.typed({it.SOURCE: row[it.SOURCE], it.KEY: row[it.KEY]}))
        if item is not None:
            check_ours(self._table.description, item)
        return False

    def rows(
        self, call: Call, source: str, status: PartitionStatus, within: ConditionBase | None, limit: int
    ) -> list[Candidate]:
        """Return the first ``limit`` rows of a status."""
        return first(self.pages(call, source, status, within, limit), limit)

    def due(
        self, call: Call, source: str, status: PartitionStatus, past: datetime, size: int, *, watch: bool = False
    ) -> Iterator[list[Candidate]]:
        """Yield closed partitions whose time has come, or leases that had ended when they were last put into the index.

        :param watch: read the first that are not due, too: what another writer holds is not due for long.
        """
        if not watch:
            yield from self.pages(call, source, status, Key(it.STANDING).lte(instant(past)), size)
            return
        for page in self.pages(call, source, status, None, WATCHED):
            due = [row for row in page if row.standing <= instant(past)]
            yield due
            if len(due) < len(page):
                return

    def watch_completed(self, call: Call, source: str) -> None:
        """Look for what another writer has completed: ours leave the index, Data Prepper's stay in it.

        :raises SchemaVersionError: naming it.
        """
        next(self.pages(call, source, PartitionStatus.COMPLETED, None, 1))

    def watch(self, call: Call, source: str) -> None:
        """Look for what another writer has written: at the first rows of every status.

        :raises SchemaVersionError: naming the first such item.
        """
        for status in PartitionStatus:
            next(self.pages(call, source, status, None, WATCHED), None)

    def delayed(self, call: Call, source: str, past: datetime, size: int) -> Iterator[list[Candidate]]:
        """Yield waiting partitions whose delay is over."""
        within = Key(it.STANDING).between(DELAYED, DELAYED + instant(past))
        return self.pages(call, source, PartitionStatus.UNASSIGNED, within, size)

    def waiting(
        self, call: Call, source: str, past: datetime, size: int, above: str = CRASHED
    ) -> Iterator[tuple[Rank, list[Candidate]]]:
        """Yield what waits and can be had, class by class, in pieces of at most ``size``.

        The delayed stand before the new ones, so that one query finds those whose delay is over and new ones. Where
        a whole page of others is delayed, the next query leaps over them.

        :param above: where to begin: at the crashed, or with ``DELAYED`` at the class "new".
        """
        status = PartitionStatus.UNASSIGNED
        for page in self.pages(call, source, status, Key(it.STANDING).gte(above), size):
            due = [row for row in page if not row.standing.startswith(DELAYED) or row.since <= instant(past)]
            for rank, rows in groupby(due, key=attrgetter("rank")):
                yield rank, list(rows)
            if len(page) >= size and page[-1].standing.startswith(DELAYED) and page[-1].since > instant(past):
                for fresh in self.pages(call, source, status, Key(it.STANDING).gte(FRESH), size):
                    yield Rank.NEW, fresh
                return

    def first_due(self, call: Call, source: str, now: datetime) -> datetime | None:
        """Return when the next lease ends, the next partition reopens, or the next delay is over."""
        above = instant(now) + CRASHED  # nothing stands between an instant and this
        later = Key(it.STANDING).between(above, PARKED)
        delayed = Key(it.STANDING).between(DELAYED + above, FRESH)
        heads = [
            *self.rows(call, source, PartitionStatus.ASSIGNED, later, 1),
            *self.rows(call, source, PartitionStatus.CLOSED, later, 1),
            *self.rows(call, source, PartitionStatus.UNASSIGNED, delayed, 1),
        ]
        return min((row.due for row in heads if row.standing != PARKED), default=None)

    def count(
        self, call: Call, source: str, status: PartitionStatus, within: ConditionBase | None, limit: int | None
    ) -> int:
        """Return how many rows there are, counting no further than ``limit``, ``None`` = all of them."""
        return self._count(call, combination(source, status), within, limit)

    def blocked(self, call: Call, source: str, limit: int | None) -> int:
        """Return how many partitions wait for a parent, counting no further than ``limit``, ``None`` = all of them."""
        return self._count(call, blocked(source), Key(it.STANDING).gt(RELEASING), limit)

    def _count(self, call: Call, combined: str, within: ConditionBase | None, limit: int | None) -> int:
        condition: ConditionBase = Key(it.COMBINATION).eq(combined)
        arguments = query(condition & within if within is not None else condition)
        counted = self._table.counts(call, limit, IndexName=INDEX, **arguments)
        return next(counted) if limit is not None else sum(counted)


def first(pages: Iterable[list[Candidate]], limit: int) -> list[Candidate]:
    """Return the first ``limit`` rows of some pages, asking for no more of them than that takes."""
    return list(islice(chain.from_iterable(pages), limit))
