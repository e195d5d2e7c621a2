"""Reading and changing the items of partitions, with what is too large for them or ended long ago."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from math import ceil
from typing import Any, Final

from boto3.dynamodb.conditions import Attr

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.stores.calls import MIGRATE, Call
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.changes import Change, Moment, under
from airflow_coordination.stores.dynamodb.expressions import update
from airflow_coordination.stores.dynamodb.history import History
from airflow_coordination.stores.dynamodb.items import (
    KEY,
    LARGE_OP,
    PROGRESS,
    SOURCE,
    TEXTS,
    Item,
    typed,
    whole_item,
)
from airflow_coordination.stores.dynamodb.keys import LARGE, belonging, bytes_of, instant, part_key
from airflow_coordination.stores.dynamodb.requests import Refusal, Remembered, Table
from airflow_coordination.values.blocks import Block, dump_blocks
from airflow_coordination.values.errors import SchemaVersionError, StoreUnavailableError
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.input_errors import CoordinationError, ProgressStateError, shown

INLINE_BYTES: Final = 256
REMEMBERED: Final = "rememberedState"
GLOBAL_STATE: Final = "|GLOBAL_STATE"
_READS: Final = 5


def stored(source: str, key: str, op: str, changed: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return what the partition's item is to hold of its texts, and the puts of those that are too large for it.

    :param changed: fields of the partition that change, as its rule says; what is none of its texts is left to others.
    """
    texts = {attribute: _text(changed[name]) for name, attribute in TEXTS.items() if name in changed}
    sets: dict[str, Any] = {}
    puts = []
    for name, text in texts.items():
        large = text is not None and len(text.encode()) > INLINE_BYTES
        sets[name], sets[LARGE_OP[name]] = (None, op) if large else (text, None)
        if large:
            puts.append({"Put": {"Item": whole_item({**_key(source, key, name), "op": op, "text": text})}})
    state = texts.get(PROGRESS)
    if state is not None and source.endswith(GLOBAL_STATE):
        puts.append({"Put": {"Item": whole_item({**_key(source, key, REMEMBERED), "op": op, "text": state})}})
    return sets, puts


def _text(value: str | tuple[Block, ...] | None) -> str | None:
    return (dump_blocks(value) if value else None) if isinstance(value, tuple) else value


def remembered(table: Table, call: Call, source: str, key: str) -> str | None:
    """Return the global state that was last saved under a fence of ours, ``None`` when none was.

    It lies beside the global state's own item, which Data Prepper replaces whole.
    """
    found = table.get(call, typed(_key(source, key, REMEMBERED)))
    return None if found is None else str(found["text"])


def _key(source: str, key: str, name: str) -> Item:
    return {SOURCE: belonging(source, LARGE), KEY: part_key(key, name)}


def whole(table: Table, call: Call, item: Item, key: str, again: Callable[[], Item | None]) -> Item | None:
    """Return the partition's item with its large texts in their places.

    :param again: reads the item once more, because a save in between has replaced a text.
    :raises ProgressStateError: when no save has: the text is gone.
    """
    before: Item | None = None
    for _ in range(_READS):
        found = _filled(table, call, item, key)
        if found is not None:
            return found
        newer = again()
        if newer is None:
            return None
        before, item = item, newer
    if item == before:
        problem, remedy = (
            "is gone from the store",
            "Restore it, or remove progressOp and stagedOp from its item by hand",
        )
        raise ProgressStateError(f"large text of partition {key}", belonging(item[SOURCE], LARGE), problem, remedy)
    raise call.unavailable(f"partition {key!r} is saved faster than it can be read")


def _filled(table: Table, call: Call, item: Item, key: str) -> Item | None:
    """Return the item with its large texts, ``None`` when one of them belongs to another save."""
    filled = dict(item)
    for name, large in LARGE_OP.items():
        if large in item:
            found = table.get(call, typed(_key(item[SOURCE], key, name)))
            if found is None or found["op"] != item[large]:
                return None
            filled[name] = found["text"]
    return filled


log = logging.getLogger(__name__)

UNIT: Final = 1024
"""Bytes of an item that one write unit is for (DynamoDB)."""
FIRST_AT: Final = 3
"""After so many renewals they are moved: by then it will pay."""
AGAIN_AFTER: Final = 10
"""Where it fails, it is tried once more after so many more."""
SHORTEST_LEASE: Final = timedelta(seconds=40)
"""In the second half of such a lease there is time for both requests, however slow they are."""
KEPT_FOR: Final = timedelta(days=30)
"""How long they are kept there: as a tombstone's, far longer than any message lives."""
ASIDE: Final = "endingsAside"
"""In the partition's item: the token of the tenure before which endings were moved."""
_UP_TO: Final = "upToToken"


class OldEndings:
    """Moves endings beside their partitions, and finds them again.

    :param table: where both lie.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._renewals = Remembered()

    def renewed(self, item: it.Item, timeout: timedelta, now: datetime) -> None:
        """Count a renewal, and move the endings away when it is time; that it fails harms nothing.

        The owner hears of its renewal after that. So nothing moves while the lease could end meanwhile by what its
        owner knows: where it is short, or this renewal came late.

        :param item: the partition's, as the renewal has left it.
        :param timeout: how long the lease lasts from now on.
        :param now: when it was renewed.
        """
        source, nonce = item[it.SOURCE], it.text(item, it.NONCE)
        renewals, before = self._renewals.get(source, nonce) or (0, now)
        self._renewals.put(source, nonce, (renewals + 1, now))
        in_time = timeout >= SHORTEST_LEASE and now - before <= timeout / 2
        if (renewals + 1) % AGAIN_AFTER != FIRST_AT or not (in_time and _pays(item)):
            return
        try:
            self._move(item)
        except CoordinationError as error:
            log.debug("The endings of partition %r stay where they are: %s", it.key_of(item), error)

    def recalled(self, call: Call, item: it.Item) -> it.Item:
        """Return a partition's item with the endings that lie beside it in their places."""
        if ASIDE not in item or all(name in item for name in it.RING):
            return item
        aside = self._table.get(call, it.typed(_place(item))) or {}
        return {**{name: aside[name] for name in it.RING if name in aside}, **item}

    def _move(self, item: it.Item) -> None:
        """Write them beside the partition, then take them out of its item: both are in vain when the tenure is over."""
        key, token, endings = it.key_of(item), it.number(item, it.TOKEN), _endings(item)
        if not self._put_aside(item, token, endings):
            return
        fence = Fence(token, it.text(item, it.NONCE))
        gone = {**dict.fromkeys(endings), ASIDE: token}
        change = update(it.lease_key(item[it.SOURCE], key), gone, under(fence))
        self._table.attempt(Call("shorten", key), "update_item", **change)

    def _put_aside(self, item: it.Item, token: int, endings: dict[str, Any]) -> bool:
        """Return whether they lie beside the partition: a request that comes late never replaces newer ones."""
        until = int((self._table.clock.now() + KEPT_FOR).timestamp())
        newer = Attr(_UP_TO).not_exists() | Attr(_UP_TO).lt(token)
        change = update(_place(item), {**endings, _UP_TO: token, it.EXPIRATION: until}, newer)
        found = self._table.attempt(Call("keep endings", it.key_of(item)), "update_item", **change)
        if not isinstance(found, Refusal):
            return True
        there = found.item or {}
        return all(there.get(name) == entry for name, entry in endings.items())


def _endings(item: it.Item) -> dict[str, Any]:
    return {name: item[name] for name in it.RING if name in item}


def _pays(item: it.Item) -> bool:
    """Return whether a renewal costs less without the endings."""
    long = bytes_of(item)
    short = long - bytes_of(_endings(item)) + bytes_of({ASIDE: item[it.TOKEN]}) * (ASIDE not in item)
    return ceil(short / UNIT) < ceil(long / UNIT)


def _place(item: it.Item) -> it.Item:
    return {it.SOURCE: belonging(item[it.SOURCE], LARGE), it.KEY: part_key(it.key_of(item), "endings")}


class Partitions:
    """The partitions' items in one table.

    :param table: where they are.
    :param history: remembers the tenures that steps end; nothing by default.
    """

    BATCH: Final = 100
    """DynamoDB: keys in one BatchGetItem."""

    def __init__(self, table: Table, history: History | None = None) -> None:
        self.table = table
        self.history = history or History(table, None)
        self.old_endings = OldEndings(table)

    def moment(self) -> Moment:
        """Return the time of a step that begins now."""
        return Moment(self.table.clock.now(), self.table.clock.surely_past())

    def get(self, call: Call, source: str, key: str) -> Partition | None:
        """Return one partition, tombstones included, with every acknowledged write in it."""
        item = self._read(call, source, key)
        return self._with_endings(call, item) if item else None

    def _with_endings(self, call: Call, item: it.Item) -> Partition:
        """Return the partition that an item holds, with what lies beside it.

        The endings last: where a save has replaced a text meanwhile, the item is read once more.
        """
        return it.decode(self.old_endings.recalled(call, self._with_texts(call, item)))

    def bare(self, call: Call, source: str, key: str) -> Partition | None:
        """Return one partition without what only its owner's work needs, its old endings too.

        What is corrupt of that is met by whoever acquires the partition, not by all who look for something to acquire.
        """
        item = self._read(call, source, key)
        return self._bare(item) if item else None

    def _bare(self, item: it.Item) -> Partition:
        check_ours(self.table.description, item)
        return it.decode({name: value for name, value in item.items() if name != it.STAGED})

    def _read(self, call: Call, source: str, key: str) -> it.Item | None:
        return self.table.get(call, it.typed(it.lease_key(source, key)))

    def decode(self, call: Call, item: it.Item) -> Partition:
        """Return the partition that an item holds, its large texts included; not the endings that lie beside it.

        :raises SchemaVersionError: when something else than this package has written the item.
        """
        return it.decode(self._with_texts(call, item))

    def _with_texts(self, call: Call, item: it.Item) -> it.Item:
        check_ours(self.table.description, item)
        source, key = item[it.SOURCE], it.key_of(item)
        return whole(self.table, call, item, key, lambda: self._read(call, source, key)) or item

    def some(self, call: Call, source: str, keys: Sequence[str]) -> dict[str, Partition]:
        """Return those of at most ``BATCH`` partitions that are there, tombstones included, large texts left out."""
        wanted = [it.typed(it.lease_key(source, key)) for key in dict.fromkeys(keys)]
        found: dict[str, Partition] = {}
        for item in self.table.get_many(call, wanted) if wanted else ():
            found[it.key_of(item)] = self._bare(item)
        return found

    def refused(self, call: Call, refusal: Refusal, *, texts: bool = True) -> Partition | None:
        """Return the partition as it was when it refused.

        :param texts: read its large texts and its old endings, too; without them it is good for everything but its
            owner's work.
        """
        if refusal.item is None or texts:
            return self._with_endings(call, refusal.item) if refusal.item else None
        return self._bare(refusal.item)

    def change(
        self, call: Call, source: str, key: str, change: Change, others: Iterable[dict[str, Any]] = ()
    ) -> Refusal | None:
        """Apply a change, with others in one transaction if there are any; return the refusal, if it was refused.

        :raises PartitionUpdateError: when not the partition refuses, but another item of the transaction.
        """
        refusal = self.change_together(call, source, key, change, others)
        if refusal is not None and refusal.index:
            raise call.refused(f"{self.table.description}: write {refusal.index + 1} of a transaction was refused")
        return refusal

    def change_together(
        self, call: Call, source: str, key: str, change: Change, others: Iterable[dict[str, Any]] = ()
    ) -> Refusal | None:
        """Apply a change, with others in one transaction; a refusal with an index above 0 is another item's."""
        arguments = update(it.lease_key(source, key), change.sets, change.condition)
        together = list(others)
        if together:
            return self.table.transact(call, [{"Update": arguments}, *together])
        answer = self.table.attempt(call, "update_item", **arguments)
        return answer if isinstance(answer, Refusal) else None

    def change_and_see(
        self, call: Call, source: str, key: str, change: Change, *, before: bool = False
    ) -> Partition | Refusal:
        """Apply a change; return the partition as it is after it, or as it was before, its large texts included.

        :raises OutcomeUnknownError: also when it was applied, and the partition's large texts cannot be read.
        """
        item = self.change_item(call, source, key, change, before=before)
        if isinstance(item, Refusal):
            return item
        try:
            return self.decode(call, item)
        except StoreUnavailableError as error:
            raise call.lost(error.reason) from error

    def change_item(
        self, call: Call, source: str, key: str, change: Change, *, before: bool = False
    ) -> it.Item | Refusal:
        """Apply a change; return the partition's item as it is after it, or as it was before."""
        arguments = update(it.lease_key(source, key), change.sets, change.condition)
        values = "ALL_OLD" if before else "ALL_NEW"
        answer = self.table.attempt(call, "update_item", ReturnValues=values, **arguments)
        return answer if isinstance(answer, Refusal) else it.plain(answer["Attributes"])

    def expired(self, call: Call, leases: Sequence[Partition], past: datetime) -> set[str]:
        """Return the keys of those leases that have ended by now, read so that every renewal is seen."""
        ended: set[str] = set()
        for first in range(0, len(leases), self.BATCH):
            wanted = [it.typed(it.lease_key(p.source, p.key)) for p in leases[first : first + self.BATCH]]
            tokens = {p.key: p.token for p in leases}
            for item in self.table.get_many(call, wanted):
                check_ours(self.table.description, item)
                key = it.key_of(item)
                same = int(item[it.TOKEN]) == tokens[key] and it.TIMEOUT in item
                if same and item[it.TIMEOUT] <= instant(past):
                    ended.add(key)
        return ended


def check_ours(description: str, item: it.Item) -> None:
    """Refuse an item that Data Prepper, or somebody's hand, has written.

    :raises SchemaVersionError: naming it.
    """
    if it.is_ours(item):
        return
    owner = item.get(it.OWNER)
    problem = (
        f"item {shown(item.get(it.KEY))} of {shown(item.get(it.SOURCE))} was written by Data Prepper, or by hand, "
        f"{f'under the name of {shown(owner)}, ' if owner else ''}after this package took the table over. Two programs "
        "with different rules on one table lose work"
    )
    raise SchemaVersionError(description, problem, f"Stop Data Prepper's pipelines on it. {MIGRATE}")
