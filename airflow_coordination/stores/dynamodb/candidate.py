"""A row of the index: a partition that may be had, as far as the index knows it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.index_keys import CRASHED, DELAYED, REOPENED, parse_instant, parse_place
from airflow_coordination.values.status import PartitionStatus, Rank

_RANKS: Final = {CRASHED: Rank.CRASHED, REOPENED: Rank.REOPENED}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row of the index.

    :param seen: what the index repeats of the partition: of a lease too little to end it.
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


def candidate(item: it.Item, status: PartitionStatus) -> Candidate:
    """Return what a row of the index says.

    :raises InvalidInputError: when an attribute is corrupt.
    """
    with it.naming(item):
        return _candidate(item, status)


def _candidate(item: it.Item, status: PartitionStatus) -> Candidate:
    standing = item[it.STANDING]
    place = it.text(item, it.PLACE)
    seen = Partition(
        source=item[it.SOURCE],
        key=it.key_of(item),
        status=status,
        token=it.number(item, it.TOKEN),
        nonce=item.get(it.NONCE, ""),
        closed_count=it.number(item, it.CLOSED_COUNT),
        owner=item.get(it.OWNER),
    )
    if status is not PartitionStatus.UNASSIGNED:
        rank = Rank.CRASHED if status is PartitionStatus.ASSIGNED else Rank.REOPENED
        return Candidate(seen, rank, standing, place, standing)
    rank = _RANKS.get(standing[0], Rank.NEW)
    since = standing.split("|")[1] if rank is not Rank.NEW else standing.removeprefix(DELAYED)
    return Candidate(seen, rank, since, place, standing)
