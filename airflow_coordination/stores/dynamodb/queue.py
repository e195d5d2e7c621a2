"""The acquisition order over the index: crashed, reopened, new, page by page; and the sweeps that refill it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import partial
from itertools import chain, groupby, islice
from operator import attrgetter
from typing import Final

from boto3.dynamodb.conditions import ConditionBase, Key

from airflow_coordination.protocol import steps
from airflow_coordination.protocol.results import Swept
from airflow_coordination.protocol.writes import Sweep
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb import changes
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.children import Stragglers
from airflow_coordination.stores.dynamodb.expressions import query
from airflow_coordination.stores.dynamodb.items import Candidate, candidate
from airflow_coordination.stores.dynamodb.keys import (
    CRASHED,
    DELAYED,
    FRESH,
    INDEX,
    PARKED,
    RELEASING,
    blocked,
    combination,
    instant,
)
from airflow_coordination.stores.dynamodb.partitions import Partitions, check_ours
from airflow_coordination.stores.dynamodb.requests import Table, side_by_side
from airflow_coordination.values.status import ASSIGNED, CLOSED, PartitionStatus, Rank

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

    def count(self, call: Call, source: str, status: PartitionStatus, within: ConditionBase | None, limit: int) -> int:
        """Return how many rows there are, counting no further than ``limit``."""
        return self._count(call, combination(source, status), within, limit)

    def blocked(self, call: Call, source: str, limit: int) -> int:
        """Return how many partitions wait for a parent, counting no further than ``limit``."""
        return self._count(call, blocked(source), Key(it.STANDING).gt(RELEASING), limit)

    def _count(self, call: Call, combined: str, within: ConditionBase | None, limit: int) -> int:
        condition: ConditionBase = Key(it.COMBINATION).eq(combined)
        arguments = query(condition & within if within is not None else condition)
        return self._table.count(call, limit, IndexName=INDEX, **arguments)


def first(pages: Iterable[list[Candidate]], limit: int) -> list[Candidate]:
    """Return the first ``limit`` rows of some pages, asking for no more of them than that takes."""
    return list(islice(chain.from_iterable(pages), limit))


Batches = Iterator[list[Candidate]]
_END: Final[tuple[None, list[Candidate]]] = (None, [])


class _Waiting:
    """The UNASSIGNED rows, taken class by class in the order they stand."""

    def __init__(self, pieces: Iterator[tuple[Rank, list[Candidate]]]) -> None:
        self._pieces = pieces
        self._next: tuple[Rank | None, list[Candidate]] | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more of it waits, as far as it was asked."""
        return self._next is _END

    def take(self, rank: Rank) -> list[Candidate]:
        """Return the next piece if it is of this class, otherwise nothing."""
        if self._next is None:
            self._next = next(self._pieces, _END)
        found, rows = self._next
        if found is not rank:
            return []
        self._next = None
        return rows


def batches(queue: Queue, call: Call, source: str, past: datetime, size: int, *, new_first: bool = False) -> Batches:
    """Yield candidates in the acquisition order, in batches that are sorted in themselves.

    The first batch of a class is exact up to ``size`` partitions that came due since the last sweep; behind it,
    partitions that only a race or an old index let pass follow page by page. Where nothing waits, a page of those that
    others hold is looked through on the way (:meth:`Queue.due`).

    :param new_first: start at "new", then the crashed and the reopened (promise S9: no class starves).
    """
    if new_first:
        yield from _of(_Waiting(queue.waiting(call, source, past, size, DELAYED)), Rank.NEW)
    waiting = _Waiting(queue.waiting(call, source, past, size, CRASHED))

    def due(status: PartitionStatus) -> Batches:
        yield from queue.due(call, source, status, past, size, watch=waiting.is_over)

    yield from _of(waiting, Rank.CRASHED, due(PartitionStatus.ASSIGNED))
    yield from _of(waiting, Rank.REOPENED, due(PartitionStatus.CLOSED))
    if not new_first:
        yield from _of(waiting, Rank.NEW)


def _of(waiting: _Waiting, rank: Rank, due: Batches | None = None) -> Batches:
    """Yield one class: what waits in it, together with what came due for it."""
    more = due or iter(())
    while batch := [*waiting.take(rank), *next(more, [])]:
        yield sorted(batch, key=attrgetter("order"))


class Sweeping:
    """The step that reopens and reclaims.

    :param partitions: the items.
    :param queue: the index.
    """

    def __init__(self, partitions: Partitions, queue: Queue) -> None:
        self._partitions, self._queue = partitions, queue
        self._stragglers = Stragglers(partitions)

    def sweep(self, write: Sweep) -> Swept:
        """Reopen and reclaim what is due, at most ``limit`` of each; what was delayed goes back to its place."""
        call, past = Call("sweep"), self._partitions.moment().past
        source, limit = write.source, write.limit
        work: list[tuple[Callable[[Candidate, Sweep], str], list[Candidate]]] = [
            (self._reopen, first(self._due(call, write, CLOSED, past), limit)),
            (self._reclaim, first(self._due(call, write, ASSIGNED, past), limit)),
            (self._promote, first(self._queue.delayed(call, source, past, limit), limit)),
        ]
        self._queue.watch_completed(call, source)
        done = Counter(side_by_side([partial(step, row, write) for step, rows in work for row in rows]))
        released = self._stragglers.release(source)
        return Swept(done["reopened"], done["reclaimed"], done["parked"], released)

    def _due(self, call: Call, write: Sweep, status: PartitionStatus, past: datetime) -> Iterator[list[Candidate]]:
        return self._queue.due(call, write.source, status, past, write.limit, watch=True)

    def _reopen(self, row: Candidate, write: Sweep) -> str:
        call = Call("reopen", row.seen.key)
        change = changes.reopen(row, write, self._partitions.moment())
        return "left" if self._partitions.change(call, write.source, row.seen.key, change) else "reopened"

    def _promote(self, row: Candidate, write: Sweep) -> str:
        change = changes.promote(row)
        self._partitions.change(Call("queue", row.seen.key), write.source, row.seen.key, change)
        return "promoted"

    def _reclaim(self, row: Candidate, write: Sweep) -> str:
        """Reclaim a lease by what its item says: how its tenure ends, the index does not know."""
        call, at = Call("reclaim", row.seen.key), self._partitions.moment()
        now = self._partitions.bare(call, write.source, row.seen.key)
        if now is None or now.status is not PartitionStatus.ASSIGNED or now.deleted:
            return "left"
        after = steps.reclaim(write, now, at.past)
        if after is None:
            change = changes.follow_renewals(row.seen, row.standing)
            self._partitions.change(call, write.source, now.key, change)
            return "left"
        if self._partitions.change(call, write.source, now.key, changes.replace(now, after, at)):
            return "left"
        self._partitions.history.ended(now, after)
        return "parked" if after.parked else "reclaimed"
