"""Children that wait for what has finished: more than a transaction takes, or what older code and backups left so.

A child is read first, then its parents: what was created before a parent is read completed has waited for it rightly
until then, and a release is final.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import islice
from typing import Final

from boto3.dynamodb.conditions import ConditionBase, Key

from airflow_coordination.protocol.hierarchy import status_in
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.children import Children
from airflow_coordination.stores.dynamodb.expressions import query
from airflow_coordination.stores.dynamodb.index_keys import RELEASING, blocked
from airflow_coordination.stores.dynamodb.keys import INDEX
from airflow_coordination.stores.dynamodb.parallel import side_by_side
from airflow_coordination.stores.dynamodb.partitions import Partitions
from airflow_coordination.values.status import PartitionStatus

LOOKED_AT: Final = 25
"""So many of those that wait are looked at in one sweep, the next ones in the next."""


class Stragglers:
    """Releases them.

    :param partitions: the items.
    """

    def __init__(self, partitions: Partitions) -> None:
        self._partitions, self._children = partitions, Children(partitions)
        self._table = partitions.table
        self._seen: dict[str, str] = {}
        """Up to where in the index this process has looked, by source."""

    def release(self, source: str) -> int:
        """Release them, and return how many; one request where nobody waits for anybody."""
        call = Call("release children")
        rows = self._rows(call, source, "")
        parents = [key for key, standing in rows if standing == RELEASING]
        found = (self._partitions.get(call, source, key) for key in parents)
        finished = [seen for seen in found if seen is not None and seen.status is PartitionStatus.COMPLETED]
        released = sum(self._children.release_all(call, each) for each in finished)
        blocked = [key for key, standing in rows if standing != RELEASING]
        if len(rows) == LOOKED_AT:
            blocked += self._next_ones(call, source, rows[-1][1])
        return released + self._release_some(call, source, dict.fromkeys(blocked))

    def _next_ones(self, call: Call, source: str, last: str) -> list[str]:
        """Return the next few that wait, after those that the sweep before has looked at."""
        rows = self._rows(call, source, max(last, self._seen.get(source, "")))
        self._seen[source] = rows[-1][1] if len(rows) == LOOKED_AT else ""
        return [key for key, _ in rows]

    def _release_some(self, call: Call, source: str, keys: Iterable[str]) -> int:
        """Release those of some that wait for what has finished."""
        waiting = self._partitions.some(call, source, list(keys)).values()
        parents = list(dict.fromkeys(parent for child in waiting for parent in child.waits_for))
        found: dict[str, Partition] = {}
        for first in range(0, len(parents), Partitions.BATCH):
            found |= self._partitions.some(call, source, parents[first : first + Partitions.BATCH])
        finished = {key for key in parents if status_in(found, key) is PartitionStatus.COMPLETED}
        late = [(child, next(filter(finished.__contains__, child.waits_for), None)) for child in waiting]
        # One parent of each: the child is another one after it, and the next sweep reads it so.
        return sum(side_by_side([partial(self._children.release, call, child, key) for child, key in late if key]))

    def _rows(self, call: Call, source: str, above: str) -> list[tuple[str, str]]:
        """Return key and standing of the first rows above a standing."""
        place: ConditionBase = Key(it.COMBINATION).eq(blocked(source))
        if above:
            place &= Key(it.STANDING).gt(above)
        pages = self._table.pages(call, LOOKED_AT, IndexName=INDEX, **query(place))
        rows = ((it.key_of(row), row[it.STANDING]) for page in pages for row in page)
        return list(islice(rows, LOOKED_AT))
