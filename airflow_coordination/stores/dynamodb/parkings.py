"""What follows parkings: a parked partition is the note itself, until that is done.

Which partitions are parked, the index says; what is to follow them, only their items. So an item says of a source that
something was ever said to follow in it: of all others, nobody looks through what is parked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from airflow_coordination.protocol.follow_up import FollowUp, of_parked
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb import changes
from airflow_coordination.stores.dynamodb.items import KEY, SOURCE, Item, typed, whole_item
from airflow_coordination.stores.dynamodb.keys import FOLLOWED, LARGE, belonging
from airflow_coordination.stores.dynamodb.listing import Listing
from airflow_coordination.stores.dynamodb.partitions import Partitions
from airflow_coordination.values.status import CLOSED

_PAGE: Final = 1_000


class Parkings:
    """Knows what is to follow the parkings in one table.

    :param partitions: the items.
    """

    def __init__(self, partitions: Partitions) -> None:
        self._partitions, self._listing = partitions, Listing(partitions)
        self._announced: set[str] = set()

    def announce(self, call: Call, source: str) -> None:
        """Say of a source that something may be to follow: before that is said of a partition, once in a process."""
        if source not in self._announced:
            table = self._partitions.table
            table.send(call, "put_item", TableName=table.name, Item=whole_item(_announcement(source)))
            self._announced.add(source)

    def notes(self, source: str, key: str | None) -> list[FollowUp]:
        """Return what is to follow parkings, of one partition if it is named; in no order."""
        call = Call("read the follow-ups", key or "", writes=False)
        found: Iterable[Partition]
        if key is not None:
            one = self._partitions.bare(call, source, key)
            found = () if one is None else (one,)
        else:
            found = self._parked(call, source)
        return [note for each in found if (note := of_parked(each)) is not None]

    def clear(self, done: FollowUp) -> None:
        """Take what was to follow out of a partition that is parked as the note says."""
        change = changes.followed(done, self._partitions.moment())
        self._partitions.change(Call("clear a follow-up", done.key), done.source, done.key, change)

    def forget(self, note: FollowUp, audit: list[dict[str, Any]]) -> None:
        """Take it away undone.

        :param audit: what the same transaction writes about who does it.
        """
        call, change = Call("forget a follow-up", note.key), changes.followed(note, self._partitions.moment())
        self._partitions.change(call, note.source, note.key, change, audit)

    def _parked(self, call: Call, source: str) -> Iterator[Partition]:
        after: str | None = None
        while self._is_announced(call, source):
            page = self._listing.page(call, source, CLOSED, after, _PAGE, parked=True)
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1].key

    def _is_announced(self, call: Call, source: str) -> bool:
        if source not in self._announced and self._partitions.table.get(call, typed(_announcement(source))):
            self._announced.add(source)
        return source in self._announced


def _announcement(source: str) -> Item:
    return {SOURCE: belonging(source, LARGE), KEY: FOLLOWED}
