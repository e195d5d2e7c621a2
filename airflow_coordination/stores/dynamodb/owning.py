"""An owner's writes: one conditional update each; with head records one transaction."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import singledispatchmethod
from typing import Any, Final

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.results import Answer
from airflow_coordination.protocol.rules import END
from airflow_coordination.protocol.steps import waited_for
from airflow_coordination.protocol.writes import Adopt, Ask, Begin, End, FencedWrite, OnParked, Renew, Save
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb import changes
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.changes import Change, Moment
from airflow_coordination.stores.dynamodb.children import NOT_AWAITED, Children
from airflow_coordination.stores.dynamodb.large_values import stored, texts_of
from airflow_coordination.stores.dynamodb.limits import check_together
from airflow_coordination.stores.dynamodb.parkings import Parkings
from airflow_coordination.stores.dynamodb.partitions import Partitions
from airflow_coordination.stores.dynamodb.records import beside
from airflow_coordination.stores.dynamodb.requests import Refusal

_TRIES: Final = 5


class Owning:
    """The steps under a fence.

    :param partitions: the items.
    :param ttl: how long a COMPLETED item is kept, ``None`` = for ever.
    :param parkings: what is to follow them.
    """

    def __init__(self, partitions: Partitions, ttl: timedelta | None, parkings: Parkings) -> None:
        self._partitions, self._ttl = partitions, ttl
        self._children, self._parkings = Children(partitions), parkings

    def write(self, write: FencedWrite) -> Answer:
        """Apply an owner's write under its fence."""
        return self._apply(write, self._partitions.moment())

    @singledispatchmethod
    def _apply(self, write: Any, at: Moment) -> Answer:
        raise TypeError(f"not an owner's write: {write!r}")

    @_apply.register
    def _adopt(self, write: Adopt, at: Moment) -> Answer:
        call = Call("adopt", write.key)
        refusal = self._change(call, write, changes.adopt(write, at))
        if refusal is not None:
            return Answer(False, self._partitions.refused(call, refusal))
        self._partitions.history.adopted(write)
        return Answer(True)

    @_apply.register
    def _ask(self, write: Ask, at: Moment) -> Answer:
        call = Call("ask for", write.key)
        refusal = self._change(call, write, changes.ask(write, at))
        return Answer(True) if refusal is None else Answer(False, self._partitions.refused(call, refusal))

    @_apply.register
    def _renew(self, write: Renew, at: Moment) -> Answer:
        call = Call("renew", write.key)
        change = changes.renew(write, at)
        found = self._partitions.change_item(call, write.source, write.key, change)
        if not isinstance(found, Refusal):
            self._partitions.old_endings.renewed(found, write.timeout, at.now)
            return Answer(True, expires_at=at.now + write.timeout, wanted_by=it.decode(found).wanted)
        now = self._partitions.refused(call, found)
        if now is None or not now.held_under(write.fence):
            return Answer(False, now)
        if not now.confirmed:
            refusal = self._change(call, write, changes.confirm(write.fence))
            if refusal is not None:
                return Answer(False, self._partitions.refused(call, refusal))
        return Answer(True, expires_at=now.ownership_timeout, wanted_by=now.wanted)

    @_apply.register
    def _begin(self, write: Begin, at: Moment) -> Answer:
        call = Call("begin", write.key)
        for longer in (True, False):
            change = changes.holding(write, at, {}, longer=longer)
            found = self._partitions.change_and_see(call, write.source, write.key, change)
            if isinstance(found, Partition):
                self._partitions.history.begun(write, found)
                return Answer(True, found, found.ownership_timeout)
            now = self._partitions.refused(call, found)
            if not _only_shorter(write, now):
                break
        return Answer(False, now)

    @_apply.register
    def _save(self, write: Save, at: Moment) -> Answer:
        call = Call("save", write.key)
        sets, puts = stored(write.source, write.key, write.op, texts_of(write))
        until: datetime | None = at.now + write.timeout
        for longer in (True, False):
            change = changes.holding(write, at, sets, longer=longer)
            found: it.Item | Refusal | None
            if puts:  # a transaction shows nobody what it has written; the next renewal does
                found = self._change(call, write, change, puts)
            else:
                found = self._partitions.change_item(call, write.source, write.key, change)
            if not isinstance(found, Refusal):
                return Answer(True, expires_at=until, wanted_by=it.decode(found).wanted if found else None)
            now = self._partitions.refused(call, found)
            if not _only_shorter(write, now):
                break
            until = now.ownership_timeout if now else None
        return Answer(False, now)

    @_apply.register
    def _on_parked(self, write: OnParked, at: Moment) -> Answer:
        call = Call("say what follows a parking", write.key)
        self._parkings.announce(call, write.source)
        refusal = self._change(call, write, changes.on_parked(write, at))
        return Answer(True) if refusal is None else Answer(False, self._partitions.refused(call, refusal))

    @_apply.register
    def _end(self, write: End, at: Moment) -> Answer:
        call = Call(str(write.outcome), write.key)
        sets, puts = stored(write.source, write.key, write.op, texts_of(write))
        puts += beside(self._partitions.table, END.records(write), at.now)
        check_together(call, write.key, len(write.heads), puts)
        change = changes.end(write, at, sets, self._ttl)
        alone = Change(change.sets, change.condition & NOT_AWAITED) if write.completes else change
        refusal, answer = self._change(call, write, alone, puts), Answer(True)
        if refusal is not None:
            refused = self._partitions.refused(call, refusal)
            if not waited_for(write, refused):
                return Answer(False, refused)
            answer = self._end_parent(call, write, change, puts, refused)
            if not answer.applied:
                return answer
        self._partitions.history.ended_by_owner(write, change.sets)
        return answer

    def _end_parent(
        self, call: Call, write: End, change: Change, puts: list[dict[str, Any]], seen: Partition | None
    ) -> Answer:
        """End a tenure and release who waits for what it completes."""
        for _ in range(_TRIES):
            if seen is None or not waited_for(write, seen):
                return Answer(False, seen)
            released = self._children.finish(call, seen, change, puts)
            if not isinstance(released, Refusal):
                return Answer(True, released=released)
            seen = self._partitions.get(call, write.source, write.key)
        raise call.unavailable(f"the children of partition {write.key!r} change faster than they can be read")

    def _change(
        self, call: Call, write: FencedWrite, change: Change, puts: list[dict[str, Any]] | None = None
    ) -> Refusal | None:
        return self._partitions.change(call, write.source, write.key, change, puts or ())


def _only_shorter(write: Begin | Save, now: Partition | None) -> bool:
    """Return whether a write was refused only because the lease lasts longer than it asks for."""
    return now is not None and now.held_under(write.fence) and now.last_op == write.prev
