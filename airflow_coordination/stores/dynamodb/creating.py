"""Creating partitions: one conditional put each, some at a time."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, NamedTuple

from boto3.dynamodb.conditions import Attr

from airflow_coordination.leases.supply import without_repeats
from airflow_coordination.protocol import steps
from airflow_coordination.protocol.hierarchy import status_in, unfinished
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.results import Created
from airflow_coordination.protocol.writes import Create, NewPartition
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.children import edge, stamp, still_finished
from airflow_coordination.stores.dynamodb.expressions import put
from airflow_coordination.stores.dynamodb.partitions import Partitions
from airflow_coordination.stores.dynamodb.requests import Refusal, side_by_side
from airflow_coordination.values.errors import OutcomeUnknownError, PartitionUpdateError, StoreUnavailableError
from airflow_coordination.values.times import to_micros

_TRIES: Final = 3
_REMEMBERED: Final = 5_000
_LAG: Final = timedelta(seconds=10)
"""For how long the index may not show what was created."""


class Ordinals:
    """Numbers for the supplier's order: nanoseconds since 1970, each given once by this process."""

    def __init__(self) -> None:
        self._last = 0
        self._lock = threading.Lock()

    def take(self, count: int, now: datetime) -> int:
        """Return the first of ``count`` numbers in a row."""
        with self._lock:
            first = max(self._last + 1, to_micros(now) * 1000)
            self._last = first + count - 1
            return first


class _Fresh(NamedTuple):
    """A partition that was just created; they sort in the supplier's order."""

    ordinal: int
    source: str
    key: str
    token: int
    at: datetime


class Creating:
    """The step that creates what is absent.

    :param partitions: the items.
    """

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions
        self._ordinals = Ordinals()
        self._fresh: deque[_Fresh] = deque(maxlen=_REMEMBERED)
        self._done: tuple[str, dict[str, Created]] = ("", {})
        """What the newest operation has settled so far: its repetition goes on behind it."""

    def create(self, write: Create) -> Created:
        """Create the page; repeated, it goes on where an error has stopped it, and counts the same."""
        distinct, repeated = without_repeats(write.partitions)
        done = self._done[1] if self._done[0] == write.op else {}
        self._done = (write.op, done)
        first = self._ordinals.take(len(distinct), self._partitions.moment().now)
        todo = [(new, first + place) for place, new in enumerate(distinct) if new.key not in done]
        if any(new.parents for new, _ in todo):
            self._judge(write, [new for new, _ in todo])
        self._create_all(write, todo, done)
        return sum((done[new.key] for new in distinct), start=repeated)

    def just_created(self, source: str) -> Iterator[tuple[str, int]]:
        """Yield key and token of what this process has created and the index may not show yet, each once, in order."""
        since = self._partitions.moment().now - _LAG
        for fresh in sorted(one for one in list(self._fresh) if one.source == source):
            with suppress(ValueError):  # another thread was faster
                self._fresh.remove(fresh)
                if fresh.at >= since:
                    yield fresh.key, fresh.token

    def _create_all(self, write: Create, todo: list[tuple[NewPartition, int]], done: dict[str, Created]) -> None:
        errors: list[BaseException] = []

        def create(family: list[tuple[NewPartition, int]]) -> None:
            for new, ordinal in family:
                if errors:
                    return
                try:
                    done[new.key] = self._create(write, new, ordinal)
                except BaseException as error:
                    errors.append(error)

        side_by_side([partial(create, family) for family in _families(todo)])
        if errors:
            raise _worst(errors, applied=bool(done))

    def _judge(self, write: Create, page: Sequence[NewPartition]) -> None:
        """Refuse a page with a parent that is not there, before anything of it is created."""
        call = Call("look for parents", writes=False)
        keys = list(dict.fromkeys(key for new in page for key in (new.key, *new.parents)))
        found: dict[str, Partition] = {}
        for first in range(0, len(keys), Partitions.BATCH):
            found |= self._partitions.some(call, write.source, keys[first : first + Partitions.BATCH])
        for new in page:
            if steps.is_new(found.get(new.key), write.op):
                unfinished(new, partial(status_in, found))

    def _create_child(self, write: Create, new: NewPartition, ordinal: int) -> Created:
        """Create one partition with parents in one transaction with what it does to them, or say what was there."""
        call = Call("create", new.key)
        for _ in range(_TRIES):
            found = self._partitions.some(call, write.source, [new.key, *new.parents])
            existing, now = found.get(new.key), self._partitions.moment().now
            if existing is not None and steps.is_new(existing, write.op):  # a tombstone: it gives all its endings
                existing = self._partitions.get(call, write.source, new.key)
            if existing is not None and not steps.is_new(existing, write.op):
                return _found(existing, new, write.op)
            waits = unfinished(new, partial(status_in, found))
            after = steps.create(existing, new, write.source, write.op, now, ordinal, waits, write.branch)
            assert after is not None
            on_parents = [
                stamp(write.source, parent, write.op) if parent in waits else still_finished(write.source, parent)
                for parent in new.parents
            ]
            edges = [edge(write.source, parent, new.key) for parent in new.parents]
            own = {"Put": self._put_of(existing, after, now)}
            others = [*on_parents, *edges, *_member(after)]
            if self._partitions.table.transact(call, [own, *others]) is None:
                if not waits:
                    self._fresh.append(_Fresh(after.ordinal, after.source, after.key, after.token, now))
                return Created(created=1)
        raise call.unavailable(f"the parents of partition {new.key!r} change faster than they can be read")

    def _create(self, write: Create, new: NewPartition, ordinal: int) -> Created:
        """Create one partition, or say what was there."""
        if new.parents:
            return self._create_child(write, new, ordinal)
        call = Call("create", new.key)
        existing: Partition | None = None
        for _ in range(_TRIES):
            now = self._partitions.moment().now
            after = steps.create(existing, new, write.source, write.op, now, ordinal, (), write.branch)
            if after is None and existing is not None:
                return _found(existing, new, write.op)
            refusal = self._put(call, existing, after, now) if after else None
            if refusal is None:
                if after is not None:
                    self._fresh.append(_Fresh(after.ordinal, after.source, after.key, after.token, now))
                return Created(created=1)
            existing = self._partitions.refused(call, refusal)
        raise call.unavailable(f"partition {new.key!r} is deleted and created again faster than it can be read")

    def _put(self, call: Call, existing: Partition | None, after: Partition, now: datetime) -> Refusal | None:
        """Put a new item, or one in the place of a tombstone; return the refusal, if it was refused."""
        own, table = self._put_of(existing, after, now), self._partitions.table
        if after.branch is not None:
            return table.transact(call, [{"Put": own}, *_member(after)])
        answer = table.attempt(call, "put_item", **own)
        return answer if isinstance(answer, Refusal) else None

    @staticmethod
    def _put_of(existing: Partition | None, after: Partition, now: datetime) -> dict[str, Any]:
        """Return the put; ``version`` is never below the token."""
        condition = Attr(it.SOURCE).not_exists()
        if existing is not None:
            same = Attr(it.TOKEN).eq(existing.token) & Attr(it.CREATE_OP).eq(existing.create_op)
            condition = Attr(it.DELETED).exists() & same
        return put({**it.encode(after, now), it.VERSION: after.token}, condition)


def _member(after: Partition) -> list[dict[str, Any]]:
    return [] if after.branch is None else [it.member(after)]


def _found(existing: Partition, new: NewPartition, op: str) -> Created:
    """Return what an existing partition counts as: a repetition of its own creation counts as that."""
    if existing.create_op == op:
        return Created(created=1)
    return steps.existing(existing, new)


def _families(todo: Sequence[tuple[NewPartition, int]]) -> list[list[tuple[NewPartition, int]]]:
    """Return a page in parts that are created side by side, so that no two of them have a parent in common.

    Two transactions that meet on an item, as on the parent of two children, refuse each other.
    """
    first: dict[str, str] = {}

    def family_of(parent: str) -> str:
        while (above := first.setdefault(parent, parent)) != parent:
            first[parent] = first[above]
            parent = above
        return parent

    for new, _ in todo:
        for parent in new.parents[1:]:
            first[family_of(parent)] = family_of(new.parents[0])
    found: dict[tuple[bool, str], list[tuple[NewPartition, int]]] = {}
    for new, ordinal in todo:
        name = (True, family_of(new.parents[0])) if new.parents else (False, new.key)
        found.setdefault(name, []).append((new, ordinal))
    return list(found.values())


def _worst(errors: list[BaseException], *, applied: bool) -> BaseException:
    """Return the error of the whole page: parts of it may have been created."""
    for error in errors:
        if not isinstance(error, StoreUnavailableError | OutcomeUnknownError | PartitionUpdateError):
            return error
    first = errors[0]
    if applied and isinstance(first, StoreUnavailableError):
        return OutcomeUnknownError(first.action, first.reason)
    return first
