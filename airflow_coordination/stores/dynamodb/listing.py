"""Pages of partitions: those of one status by the index, so that they cost what has that status, not the whole source.

The index is late, and sorted by time; a page is in the order of keys, and what it shows is true when it is read. So the
index says only which items to look at: their keys are put in order, and the items read, so that every acknowledged
write is seen, until the page is full. What the index has not heard of yet is missing in that page.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from boto3.dynamodb.conditions import Attr, ConditionBase, Key

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.expressions import query
from airflow_coordination.stores.dynamodb.index_keys import PARKED, blocked, combination
from airflow_coordination.stores.dynamodb.keys import INDEX, stored_key
from airflow_coordination.stores.dynamodb.partitions import Partitions
from airflow_coordination.values.status import CLOSED, COMPLETED, UNASSIGNED, PartitionStatus

MOST_ROWS: Final = 5_000
"""So many rows of the index are put in order; of a status that more partitions have, the table itself soon shows a page
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
        for first in range(0, len(keys), size):
            batch = [it.typed({it.SOURCE: source, it.KEY: key}) for key in keys[first : first + size]]
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
