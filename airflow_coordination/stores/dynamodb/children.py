"""Parents and children: what a child's item and its parent's say, the edges between them, and stragglers.

The stamp on a parent is the operation of the newest creation that has named it. Whoever completes it reads the stamp,
**then** the edges, and completes it under the condition that the stamp is the same: so no child is missed that was
created in between (lifecycle design, 3.2). Each child goes into the same transaction, under the condition that what it
waits for is as it was read: two parents that finish at once do not take each other's place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from typing import Any, Final

from boto3.dynamodb.conditions import Attr, ConditionBase, Key

from airflow_coordination.protocol import steps
from airflow_coordination.protocol.hierarchy import status_in
from airflow_coordination.protocol.partition import Partition, dump_keys
from airflow_coordination.protocol.writes import ReleaseChild
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.changes import Change, Moment
from airflow_coordination.stores.dynamodb.expressions import query, update
from airflow_coordination.stores.dynamodb.keys import (
    CHILDREN,
    INDEX,
    RELEASING,
    belonging,
    blocked,
    part_key,
    parts_between,
)
from airflow_coordination.stores.dynamodb.partitions import Partitions
from airflow_coordination.stores.dynamodb.requests import Refusal, side_by_side
from airflow_coordination.values.input_errors import CoordinationError
from airflow_coordination.values.status import PartitionStatus

TOGETHER: Final = 90
"""The most children released in the transaction that completes their parent; more follow right after it."""
_CHILD: Final = "childKey"
_PART_BYTES: Final = 255
_KEPT_BYTES: Final = 128
NOT_AWAITED: Final = Attr(it.AWAITED).not_exists()
"""Whether nobody waits for a partition: then completing it is one update, as if there were no children at all."""


def edge(source: str, parent: str, child: str) -> dict[str, Any]:
    """Return the put of the item that says who names whom as a parent."""
    item = {it.SOURCE: belonging(source, CHILDREN), it.KEY: _edge_key(parent, child), it.READABLE_KEY: parent}
    return {"Put": {"Item": it.whole_item({**item, _CHILD: child})}}


def _edge_key(parent: str, child: str) -> str:
    encoded = child.encode()
    if len(encoded) <= _PART_BYTES:
        return part_key(parent, child)
    kept = encoded[:_KEPT_BYTES].decode(errors="ignore")
    return part_key(parent, kept + hashlib.sha256(encoded).hexdigest())


def stamp(source: str, parent: str, op: str) -> dict[str, Any]:
    """Return the update that says on an unfinished parent that somebody waits for it."""
    return {"Update": update(it.lease_key(source, parent), {it.AWAITED: op}, _unfinished())}


def still_finished(source: str, parent: str) -> dict[str, Any]:
    """Return what checks that a parent is as it was read: completed, so that nobody need wait for it.

    It may have been cleaned up since. An update that changes nothing: a condition alone costs the same, and needs one
    more permission.
    """
    finished = Attr(it.LAST_OP).exists() & Attr(it.STATUS).eq(str(PartitionStatus.COMPLETED))
    return {"Update": update(it.lease_key(source, parent), {}, finished)}


def _is_there() -> ConditionBase:
    return Attr(it.LAST_OP).exists() & Attr(it.DELETED).not_exists()


def _unfinished() -> ConditionBase:
    return _is_there() & Attr(it.STATUS).ne(str(PartitionStatus.COMPLETED))


class Children:
    """The children of one table's partitions.

    :param partitions: the items.
    """

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions
        self._table = partitions.table

    def page(self, source: str, parent: str, after: str | None, limit: int) -> list[Partition]:
        """Return who names ``parent`` among its parents, by key in byte order."""
        call = Call("look for children", parent, writes=False)
        keys = sorted(key for key in self._keys(call, source, parent) if after is None or key > after)
        named = (child for child in self._read(call, source, keys) if parent in child.parents)
        return list(islice(named, limit))

    def waiting(self, call: Call, source: str, parent: str) -> list[Partition]:
        """Return who waits for ``parent``, read after the edges: every acknowledged creation is seen."""
        keys = list(self._keys(call, source, parent))
        return [child for child in self._read(call, source, keys) if parent in child.waits_for]

    def forgetting(self, call: Call, source: str, parent: str) -> list[dict[str, Any]]:
        """Return the deletions of the items that say who names ``parent``, as many as one transaction takes."""
        edges = islice(self._edges(call, source, parent), TOGETHER)
        return [{"Delete": {"Key": it.typed({name: edge[name] for name in (it.SOURCE, it.KEY)})}} for edge in edges]

    def _keys(self, call: Call, source: str, parent: str) -> Iterator[str]:
        return (edge[_CHILD] for edge in self._edges(call, source, parent))

    def _edges(self, call: Call, source: str, parent: str) -> Iterator[it.Item]:
        place = Key(it.SOURCE).eq(belonging(source, CHILDREN)) & Key(it.KEY).between(*parts_between(parent))
        return chain.from_iterable(self._table.pages(call, None, ConsistentRead=True, **query(place)))

    def _read(self, call: Call, source: str, keys: Sequence[str]) -> Iterator[Partition]:
        """Yield partitions in the order of their keys, without their large texts."""
        for first in range(0, len(keys), self._partitions.BATCH):
            batch = keys[first : first + self._partitions.BATCH]
            found = self._partitions.some(call, source, batch)
            yield from (found[key] for key in batch if key in found)

    def release(self, call: Call, child: Partition, parent: str) -> bool:
        """Release a child that was read before its parent was read completed; return whether this did.

        No condition on the parent: it finished at a moment after the child was created, and a release is final.
        """
        change = freed(child, parent, self._partitions.moment())
        return self._partitions.change(call, child.source, child.key, change) is None

    def release_all(self, call: Call, parent: Partition) -> int:
        """Release who waits for a completed partition, one by one, then take its stamp off; return how many.

        That it is completed is read once more, after the children: one that was created after a reset in between waits
        for it rightly.

        :param parent: as it was read before: its stamp is older than this look at its children.
        """
        source = parent.source
        waiting = self.waiting(call, source, parent.key)
        if status_in(self._partitions.some(call, source, [parent.key]), parent.key) is not PartitionStatus.COMPLETED:
            return 0
        done = side_by_side([partial(self.release, call, child, parent.key) for child in waiting])
        if all(done):
            finished = Attr(it.STATUS).eq(str(PartitionStatus.COMPLETED)) & Attr(it.AWAITED).eq(parent.awaited_op)
            gone = dict.fromkeys((it.AWAITED, it.COMBINATION, it.STANDING))
            self._partitions.change(call, source, parent.key, Change(gone, finished))
        return sum(done)

    def finish(self, call: Call, seen: Partition, change: Change, others: Sequence[dict[str, Any]]) -> Refusal | int:
        """Complete an awaited partition, and release who waits for it.

        :param seen: the partition, read just now: its stamp is older than this look at its children.
        :param change: completes it, whoever waits.
        :param others: what the same transaction writes beside it.
        :return: how many have waited, or whose condition did not hold; whether it was the partition's own, only
            another look at it tells.
        """
        waiting = self.waiting(call, seen.source, seen.key)
        many = len(waiting) + len(others) > TOGETHER
        released = [] if many else self.together(waiting, seen.key, self._partitions.moment())
        whole = completing(change, seen, later=many)
        refusal = self._partitions.change_together(call, seen.source, seen.key, whole, [*others, *released])
        if refusal is not None:
            return refusal
        if many:
            with suppress(CoordinationError):  # the sweeps go on with it
                self.release_all(call, seen)
        return len(waiting)

    def together(self, waiting: Sequence[Partition], parent: str, at: Moment) -> list[dict[str, Any]]:
        """Return the updates that release children, for the transaction that completes their parent."""
        changes = ((child, freed(child, parent, at)) for child in waiting)
        return [
            {"Update": update(it.lease_key(child.source, child.key), change.sets, change.condition)}
            for child, change in changes
        ]


def freed(child: Partition, parent: str, at: Moment) -> Change:
    """Return the change that releases a child as it was read: of this creation, waiting for these, in this status."""
    release = ReleaseChild(source=child.source, key=child.key, parent=parent)
    after = steps.step(release, child, at.now)
    assert after is not None, "it waits for the parent"
    old, new = it.encode(child, at.now), it.encode(after, at.now)
    sets = {name: new.get(name) for name in (*old, *new) if old.get(name) != new.get(name)}
    same = Attr(it.WAITS_FOR).eq(dump_keys(child.waits_for)) & Attr(it.CREATE_OP).eq(child.create_op)
    return Change(sets, same & Attr(it.STATUS).eq(str(child.status)))


def completing(change: Change, seen: Partition, *, later: bool) -> Change:
    """Return the change that completes an awaited partition: under the stamp that was read before its children.

    :param later: there are too many children for one transaction: the stamp stays, and sweeps find it.
    """
    # A parent is not forgotten: whoever names it later would be told that there is none.
    sets = {**change.sets, it.EXPIRATION: None, it.AWAITED: None}
    if later:
        sets |= {it.COMBINATION: blocked(seen.source), it.STANDING: RELEASING}
        del sets[it.AWAITED]
    return Change(sets, change.condition & Attr(it.AWAITED).eq(seen.awaited_op))


LOOKED_AT: Final = 25
"""The most waiting children that one sweep looks at, the next ones in the next."""


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
