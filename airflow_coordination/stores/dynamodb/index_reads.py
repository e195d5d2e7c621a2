"""Reads by the index: what can be acquired, what can still happen, and pages of one status."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from boto3.dynamodb.conditions import Attr, ConditionBase, Key

from airflow_coordination.protocol.beside.documents import BranchCounts
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.results import Outlook
from airflow_coordination.protocol.steps import due_at
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.acquiring import PAGE
from airflow_coordination.stores.dynamodb.counting import EXACT_FOR_LARGE, Counting
from airflow_coordination.stores.dynamodb.expressions import query
from airflow_coordination.stores.dynamodb.items import Candidate
from airflow_coordination.stores.dynamodb.keys import (
    CRASHED,
    DELAYED,
    FRESH,
    INDEX,
    LARGE,
    PARKED,
    begins_with,
    belonging,
    blocked,
    combination,
    created_at,
    instant,
    member_key,
    members_prefix,
    stored_key,
)
from airflow_coordination.stores.dynamodb.partitions import Partitions
from airflow_coordination.stores.dynamodb.queue import LOOK, Queue, batches, first
from airflow_coordination.values.status import ASSIGNED, CLOSED, COMPLETED, UNASSIGNED, PartitionStatus, Rank


class Looking:
    """Looks at the index of one table, and at the items where it lags.

    :param partitions: the items.
    :param queue: the index.
    :param counting: knows how many there are in each status.
    """

    def __init__(self, partitions: Partitions, queue: Queue, counting: Counting) -> None:
        self._partitions, self._queue, self._counting = partitions, queue, counting
        self._clock = partitions.table.clock

    def claimable(self, call: Call, source: str, limit: int) -> list[Candidate]:
        """Return rows of what can be acquired now, in the acquisition order."""
        past = self._clock.surely_past()
        found: list[Candidate] = []
        for rows in batches(self._queue, call, source, past, max(limit, PAGE)):
            leases = [row.seen for row in rows if row.seen.status is ASSIGNED]
            ended = self._partitions.expired(call, leases, past)
            found += [row for row in rows if row.seen.status is not ASSIGNED or row.seen.key in ended]
            if len(found) >= limit:
                break
        return found[:limit]

    def outlook(self, source: str) -> Outlook:
        """Return what can still happen in the source, counting no further than ``LOOK`` of each kind.

        Where the index shows nothing that moves, the items themselves are asked: it lags, and its parts are read one
        after the other, so that a partition may pass by them all. They also say which of them stand still: what the
        index has lost sight of is not taken for completed.
        """
        found = self._indexed(source)
        if found.claimable or found.assigned or found.waiting:
            return self._with_completed(source, found)
        seen = self._counting.look(source, self._clock.now())
        parked, blocked = min(seen.parked, LOOK), min(seen.blocked, LOOK)
        return replace(found, waiting=seen.moving, parked=parked, blocked=blocked, completed=seen.counts[COMPLETED])

    def glance(self, source: str) -> Outlook:
        """Return what the index shows, and what is completed as it was counted last; of no more it is sure."""
        return self._with_completed(source, self._indexed(source))

    def _with_completed(self, source: str, found: Outlook) -> Outlook:
        counts = self._counting.counts(source, self._clock.now(), EXACT_FOR_LARGE)
        return replace(found, completed=counts[COMPLETED])

    def _indexed(self, source: str) -> Outlook:
        """Return what the index shows, which is nothing of what is completed."""
        call, now = Call("look ahead", writes=False), self._clock.now()
        past = self._clock.surely_past()
        count = self._queue.count
        due = len(first(self._queue.due(call, source, CLOSED, past, LOOK), LOOK))
        closed = count(call, source, CLOSED, Key(it.STANDING).lt(PARKED), LOOK)
        delayed = count(
            call, source, UNASSIGNED, Key(it.STANDING).between(DELAYED + instant(past) + CRASHED, FRESH), LOOK
        )
        claimable = self.claimable(call, source, 1)
        return Outlook(
            claimable=len(claimable),
            assigned=count(call, source, ASSIGNED, None, LOOK),
            waiting=closed - due + delayed,
            parked=count(call, source, CLOSED, Key(it.STANDING).eq(PARKED), LOOK),
            next_due=self._queue.first_due(call, source, now),
            oldest_claimable=next((self._age(call, row, now) for row in claimable), None),
            blocked=self._queue.blocked(call, source, LOOK),
        )

    def _age(self, call: Call, row: Candidate, now: datetime) -> timedelta | None:
        """Return for how long a partition could have been acquired, ``None`` if somebody has done so by now.

        Where the index does not say it, the item is read: of a lease, which may have been renewed since, and of a new
        one that was held before, which came back to where it stood. One that nobody has ever held does so, too, when a
        person parks and releases it: it counts as waiting since its creation.
        """
        is_new = row.rank is Rank.NEW and not row.standing.startswith(DELAYED)
        due: datetime | None
        if row.seen.status is ASSIGNED or (is_new and row.seen.token):
            partition = self._partitions.get(call, row.seen.source, row.seen.key)
            due = None if partition is None else due_at(partition)
        else:
            due = created_at(row.place) if is_new else row.due
        return now - due if due is not None and due <= now else None


def _runs_in(partition: Partition, branch: int) -> bool:
    return partition.branch == branch and not partition.deleted


MOST_ROWS: Final = 5_000
"""Rows of the index that are put in order; of a status with more partitions, the table itself soon shows a page
full. They are about 130 read units."""


class Listing:
    """Lists the partitions of one table.

    :param partitions: their items.
    """

    def __init__(self, partitions: Partitions) -> None:
        self._partitions, self._table = partitions, partitions.table

    def page(
        self,
        call: Call,
        source: str,
        status: PartitionStatus | None,
        after: str | None,
        limit: int,
        parked: bool | None,
    ) -> list[Partition]:
        """Return up to ``limit`` partitions with a key above ``after`` in byte order, tombstones left out."""
        status = CLOSED if parked else status
        keys = None if status in (None, COMPLETED) else self._keys(call, source, status, after, parked)
        found = self._scanned(call, source, status, after) if keys is None else self._read(call, source, keys, limit)
        page: list[Partition] = []
        for each in found:
            if each.deleted or status not in (None, each.status) or parked not in (None, each.parked):
                continue
            page.append(each)
            if len(page) >= limit:
                break
        return page

    def branch(self, call: Call, source: str, branch: int, after: str | None, limit: int) -> list[Partition]:
        """Return up to ``limit`` partitions that run in a branch, with a key above ``after``."""
        found: list[Partition] = []
        for keys in self._members(call, source, branch, after, min(limit, self._partitions.BATCH)):
            items = self._table.get_many(call, [it.typed(it.lease_key(source, key)) for key in keys])
            read = {it.key_of(item): item for item in items}
            some = (self._partitions.decode(call, read[key]) for key in keys if key in read)
            found += (each for each in some if _runs_in(each, branch))
            if len(found) >= limit:
                break
        return found[:limit]

    def branch_counts(self, call: Call, source: str, branch: int) -> BranchCounts:
        """Return how far the partitions of a branch are, each read as it is."""
        found: list[Partition] = []
        for keys in self._members(call, source, branch, None, self._partitions.BATCH):
            some = self._partitions.some(call, source, keys)
            found += (each for each in some.values() if _runs_in(each, branch))
        completed = sum(each.status is COMPLETED for each in found)
        return BranchCounts(len(found), completed, sum(each.parked for each in found))

    def _members(self, call: Call, source: str, branch: int, after: str | None, size: int) -> Iterator[list[str]]:
        """Yield the keys of all that was ever put into a branch, in their order, some at a time.

        :param size: how many at a time.
        """
        first, end = begins_with(members_prefix(branch))
        last = member_key(branch, after) if after else first
        condition = Key(it.SOURCE).eq(belonging(source, LARGE)) & Key(it.KEY).between(last, end)
        for page in self._table.pages(call, None, ConsistentRead=True, **query(condition)):
            keys = [str(item[it.READABLE_KEY]) for item in page if item[it.KEY] != last]
            yield from (keys[begin : begin + size] for begin in range(0, len(keys), size))

    def _keys(
        self, call: Call, source: str, status: PartitionStatus, after: str | None, parked: bool | None
    ) -> list[str] | None:
        """Return the stored keys of what may have a status, in their order; ``None`` when those are too many."""
        stored = stored_key(after) if after else ""
        keys: set[str] = set()
        rows = 0
        for combined in (combination(source, status), *([blocked(source)] if status is UNASSIGNED else [])):
            condition: ConditionBase = Key(it.COMBINATION).eq(combined)
            if parked is not None and status is CLOSED:
                condition &= Key(it.STANDING).eq(PARKED) if parked else Key(it.STANDING).lt(PARKED)
            for page in self._table.pages(call, None, IndexName=INDEX, **query(condition, (it.KEY,))):
                keys.update(item[it.KEY] for item in page if item[it.KEY] > stored)
                rows += len(page)
                if rows > MOST_ROWS:
                    return None
        return sorted(keys)

    def _read(self, call: Call, source: str, keys: list[str], limit: int) -> Iterator[Partition]:
        """Yield the partitions of some keys, in their order; no more are read than a page may show, until it is not."""
        size = min(limit, self._partitions.BATCH)
        for begin in range(0, len(keys), size):
            batch = [it.typed({it.SOURCE: source, it.KEY: key}) for key in keys[begin : begin + size]]
            items = sorted(self._table.get_many(call, batch), key=lambda item: str(item[it.KEY]))
            for item in items:
                yield self._partitions.decode(call, item)

    def _scanned(
        self, call: Call, source: str, status: PartitionStatus | None, after: str | None
    ) -> Iterator[Partition]:
        """Yield all partitions of a source above a key, but for those that the service leaves out."""
        condition: ConditionBase = Key(it.SOURCE).eq(source)
        if after:
            condition &= Key(it.KEY).gt(stored_key(after))
        kept: ConditionBase = Attr(it.DELETED).not_exists()
        if status is not None:
            kept &= Attr(it.STATUS).eq(str(status))
        for page in self._table.pages(call, None, ConsistentRead=True, **query(condition, kept=kept)):
            for item in page:
                yield self._partitions.decode(call, item)
