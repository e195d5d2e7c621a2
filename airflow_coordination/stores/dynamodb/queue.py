"""Reading the index: who can be acquired, in the acquisition order, as far as the index knows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Final

from boto3.dynamodb.conditions import ConditionBase, Key

from airflow_coordination.leases.partition import Partition, PartitionStatus, Rank
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.expressions import query
from airflow_coordination.stores.dynamodb.places import (
    CRASHED,
    DELAYED,
    FRESH,
    PARKED,
    REOPENED,
    combination,
    instant,
    parse_instant,
    parse_place,
)
from airflow_coordination.stores.dynamodb.requests import Table

INDEX: Final = "source-status"
_RANKS: Final = {CRASHED: Rank.CRASHED, REOPENED: Rank.REOPENED}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row of the index.

    :param seen: what the index repeats of the partition.
    :param rank: the class it would be acquired in.
    :param since: since when it can be acquired, as text of an instant; decides the order inside a class.
    :param place: where it stands among the new ones.
    :param standing: where it stands in the index.
    """

    seen: Partition
    rank: Rank
    since: str
    place: str
    standing: str

    @property
    def order(self) -> tuple[int, str, int]:
        """The place inside its class: priority, then oldest first; for "new" the supplier's order."""
        priority, ordinal = parse_place(self.place)
        return priority, "" if self.rank is Rank.NEW else self.since, ordinal

    @property
    def due(self) -> datetime:
        """Since when it can be acquired."""
        return parse_instant(self.since, it.STANDING)


class Queue:
    """The index of one table.

    :param table: where it is.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def rows(
        self, call: Call, source: str, status: PartitionStatus, within: ConditionBase | None, limit: int | None
    ) -> list[Candidate]:
        """Return the rows of a status in the order they stand, at most ``limit`` of them."""
        condition: ConditionBase = Key(it.COMBINATION).eq(combination(source, status))
        arguments = query(condition & within if within is not None else condition)
        pages = self._table.pages(call, limit, IndexName=INDEX, **arguments)
        return [_candidate(item, status) for page in pages for item in page]

    def expired(self, call: Call, source: str, past: datetime, limit: int) -> list[Candidate]:
        """Return leases that had ended when they were last put into the index; some may have been renewed since."""
        return self.rows(call, source, PartitionStatus.ASSIGNED, Key(it.STANDING).lte(instant(past)), limit)

    def reopening(self, call: Call, source: str, past: datetime, limit: int) -> list[Candidate]:
        """Return closed partitions whose time has come."""
        return self.rows(call, source, PartitionStatus.CLOSED, Key(it.STANDING).lte(instant(past)), limit)

    def delayed(self, call: Call, source: str, past: datetime, limit: int) -> list[Candidate]:
        """Return waiting partitions whose delay is over."""
        within = Key(it.STANDING).between(DELAYED, DELAYED + instant(past))
        return self.rows(call, source, PartitionStatus.UNASSIGNED, within, limit)

    def waiting(self, call: Call, source: str, past: datetime, limit: int) -> list[Candidate]:
        """Return what waits and can be had: the crashed, the reopened, and the new ones, at most ``limit`` in all.

        One query, unless so many partitions are delayed that no new one is among the first ``limit``.
        """
        status = PartitionStatus.UNASSIGNED
        found = self.rows(call, source, status, None, limit)
        if len(found) >= limit and found[-1].standing.startswith(DELAYED):
            found += self.rows(call, source, status, Key(it.STANDING).gte(FRESH), limit)
        return [row for row in found if not row.standing.startswith(DELAYED) or row.since <= instant(past)]

    def in_order(self, call: Call, source: str, past: datetime, limit: int) -> list[Candidate]:
        """Return what can be acquired, by class and inside each class by priority and age."""
        waiting = self.waiting(call, source, past, limit)
        crashed = of_rank(waiting, Rank.CRASHED, self.expired(call, source, past, limit))
        reopened = of_rank(waiting, Rank.REOPENED, self.reopening(call, source, past, limit))
        return [*crashed, *reopened, *of_rank(waiting, Rank.NEW)]

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
        condition: ConditionBase = Key(it.COMBINATION).eq(combination(source, status))
        arguments = query(condition & within if within is not None else condition)
        answer = self._table.send(
            call, "query", TableName=self._table.name, IndexName=INDEX, Select="COUNT", Limit=limit, **arguments
        )
        return int(answer["Count"])


def of_rank(waiting: Iterable[Candidate], rank: Rank, more: Iterable[Candidate] = ()) -> list[Candidate]:
    """Return the candidates of one class, in order."""
    return sorted([*(row for row in waiting if row.rank is rank), *more], key=attrgetter("order"))


def _candidate(item: it.Item, status: PartitionStatus) -> Candidate:
    standing = item[it.STANDING]
    place = item[it.PLACE]
    seen = Partition(
        source=item[it.SOURCE],
        key=it.key_of(item),
        status=status,
        token=int(item[it.TOKEN]),
        nonce=item.get(it.NONCE, ""),
        last_op=item[it.LAST_OP],
        closed_count=int(item[it.CLOSED_COUNT]),
        owner=item.get(it.OWNER),
    )
    if status is not PartitionStatus.UNASSIGNED:
        rank = Rank.CRASHED if status is PartitionStatus.ASSIGNED else Rank.REOPENED
        return Candidate(seen, rank, standing, place, standing)
    rank = _RANKS.get(standing[0], Rank.NEW)
    since = standing.split("|")[1] if rank is not Rank.NEW else standing.removeprefix(DELAYED)
    return Candidate(seen, rank, since, place, standing)
