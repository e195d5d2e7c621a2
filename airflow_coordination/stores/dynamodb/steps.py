"""An owner's writes, people's, and a source's pause: one conditional update or transaction each."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import singledispatchmethod
from typing import Any, Final, TypeVar

from boto3.dynamodb.conditions import Attr, ConditionBase

from airflow_coordination.protocol import steps
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.pause import NEVER_PAUSED, Pause
from airflow_coordination.protocol.refreshing import Refresh
from airflow_coordination.protocol.results import Answer, PauseAnswer
from airflow_coordination.protocol.rules import ACT, END, PLACE, waited_for
from airflow_coordination.protocol.side_writes import CountFailure, ForgetFailures, of_pause, of_result
from airflow_coordination.protocol.writes import (
    Act,
    Adopt,
    Ask,
    Begin,
    End,
    FencedWrite,
    OnParked,
    Place,
    Renew,
    Save,
    SetPause,
)
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb import changes
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.beside.tombstones import stays
from airflow_coordination.stores.dynamodb.changes import Change, Moment
from airflow_coordination.stores.dynamodb.children import NOT_AWAITED, Children
from airflow_coordination.stores.dynamodb.expressions import put, update
from airflow_coordination.stores.dynamodb.items import (
    KEY,
    SOURCE,
    TEXTS,
    VERSION,
    Item,
    as_kept,
    attribute_of,
    typed,
)
from airflow_coordination.stores.dynamodb.keys import AUDIT, PAUSE, belonging, check_together
from airflow_coordination.stores.dynamodb.partitions import Partitions, stored
from airflow_coordination.stores.dynamodb.requests import MARGIN, Refusal, Table
from airflow_coordination.stores.dynamodb.side_items import Parkings, beside
from airflow_coordination.values.failing import MARK_LENGTH, MOST_COUNTED, Failing
from airflow_coordination.values.input_errors import CoordinationError, shown
from airflow_coordination.values.names import holds_partitions
from airflow_coordination.values.times import Clock, from_micros, to_micros

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
        sets, puts = stored(write.source, write.key, write.op, changes.of_the_chain(write, at))
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
        call, changed = Call(str(write.outcome), write.key), changes.of_the_chain(write, at)
        sets, puts = stored(write.source, write.key, write.op, changed)
        puts += beside(self._partitions.table, END.records(write), at.now)
        check_together(call, write.key, len(write.heads), puts)
        change = changes.end(write, at, changed, sets, self._ttl)
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


def act(partitions: Partitions, write: Act) -> Answer:
    """Carry out an action. What is not part of its condition may change between reading and writing: read again."""
    call = Call(str(write.action), write.key)
    seen = partitions.get(call, write.source, write.key)
    for _ in range(_TRIES):
        at = partitions.moment()
        after = seen and steps.step(write, seen, at.now)
        if seen is None or after is None:
            return Answer(False, seen)
        others = beside(partitions.table, ACT.records(write), at.now)
        remembered = after.deleted and stays(partitions.table, call, write.source, write.key)
        change = changes.replace(seen, after, at, remembered=remembered)
        if after.branch is not None:
            others.append(it.member(after))
        if after.cleaned_up:  # its tombstone is forgotten one day, and whose parent it was then means nothing
            others += Children(partitions).forgetting(call, write.source, write.key)
        refusal: Refusal | int | None
        if waited_for(write, seen):
            refusal = Children(partitions).finish(call, seen, change, others)
        else:
            refusal = partitions.change(call, write.source, write.key, change, others)
        if not isinstance(refusal, Refusal):
            partitions.history.ended(seen, after)
            return Answer(True, as_kept(after))
        again = refusal.index > 0
        seen = partitions.get(call, write.source, write.key) if again else partitions.refused(call, refusal)
    raise call.unavailable(f"partition {write.key!r} changes faster than it can be read")


def place(partitions: Partitions, parkings: Parkings, write: Place) -> Answer:
    """Give a new partition the life that it had in another store."""
    call, at = Call("place", write.key), partitions.moment()
    seen = partitions.get(call, write.source, write.key)
    after = seen and steps.step(write, seen, at.now)
    if seen is None or after is None:
        return Answer(False, seen)
    if after.on_parked_text is not None:
        parkings.announce(call, write.source)
    texts = {name: getattr(after, name) for name in TEXTS}
    if after.accounting_text is None:  # the partition is new, and has none to take away
        del texts["accounting_text"]
    sets, others = stored(write.source, write.key, after.last_op, texts)
    others += beside(partitions.table, PLACE.records(write), at.now)
    if after.branch is not None:
        others.append(it.member(after))
    check_together(call, write.key, len(write.heads), others)
    bare = changes.replace(seen, replace(after, progress_text=None, staged=(), accounting_text=None), at)
    change = Change(bare.sets | sets, bare.condition)
    refusal = partitions.change(call, write.source, write.key, change, others)
    return Answer(True) if refusal is None else Answer(False, partitions.refused(call, refusal))


def refresh(partitions: Partitions, write: Refresh) -> Answer:
    """Give a partition that was reset another payload: its last operation is a condition, and so is its payload."""
    call, at = Call("refresh", write.key), partitions.moment()
    seen = partitions.get(call, write.source, write.key)
    after = seen and steps.step(write, seen, at.now)
    if seen is None or after is None:
        return Answer(False, seen)
    payload = Attr(attribute_of("payload_text"))
    same = payload.not_exists() if write.seen is None else payload.eq(write.seen)
    bare = changes.replace(seen, after, at)
    refusal = partitions.change(call, write.source, write.key, Change(bare.sets, bare.condition & same))
    return Answer(True, as_kept(after)) if refusal is None else Answer(False, partitions.refused(call, refusal))


ASKED_AGAIN: Final = 30.0
"""Seconds for which a process believes that a source is not paused. To ask in every acquisition would cost a
transaction, twice the write units, and all of them on one item."""
ERROR: Final = "failingError"
"""What the newest failures have in common; absent after a success."""
FAILED: Final = "failed"
"""What stands for each partition that has failed so, one behind the other."""
SINCE: Final = "failingSince"
"""When it was surely there for everybody who asks."""
UNTIL: Final = "until"
"""When a pause ends by itself; absent for one that somebody must resume, as older code writes all of them."""
NOBODY: Final = ""
"""Who has paused a source of which only failures are known, and by which operation: older code must find something."""
NOT_SAID: Final = ""


class Pausing:
    """Reads and sets the pauses of the sources in one table.

    :param local: this process's clock, of which only the monotonic time is used.
    """

    def __init__(self, table: Table, local: Clock) -> None:
        self._table, self._local = table, local
        self._running_until: dict[str, float] = {}
        self._well_until: dict[str, float] = {}

    def holds_back(self, call: Call, source: str) -> bool:
        """Return whether nothing of a source may be acquired: asked for now, or not longer ago than 30 s."""
        asked = self._local.monotonic()
        if not holds_partitions(source) or asked < self._running_until.get(source, asked):
            return False
        return self._decoded(self.ask(call, source)).paused

    def nothing_fails(self, call: Call, source: str) -> bool:
        """Return whether nothing has failed since the last success: asked for now, or not longer ago than 30 s."""
        asked = self._local.monotonic()
        return asked < self._well_until.get(source, asked) or ERROR not in (self.ask(call, source) or {})

    def hear_of_failure(self, source: str) -> None:
        """Believe no longer that nothing fails: this process has failed something itself."""
        self._well_until.pop(source, None)

    def ask(self, call: Call, source: str) -> Item | None:
        """Return the item of a source, and believe for 30 s what is good in it."""
        until = self._local.monotonic() + ASKED_AGAIN
        item = self._table.get(call, typed(pause_key(source)))
        for beliefs, good in (
            (self._running_until, not self._decoded(item).paused),
            (self._well_until, not _fails(item)),
        ):
            if good:
                beliefs[source] = until
            else:
                beliefs.pop(source, None)
        return item

    def pause(self, call: Call, source: str) -> Pause:
        """Return whether a source is paused, read so that every acknowledged write is seen."""
        return self._decoded(self._table.get(call, typed(pause_key(source))))

    def set_pause(self, call: Call, write: SetPause) -> PauseAnswer:
        """Pause or resume a source if nobody has since the person looked, audited in the same transaction."""
        now = self._table.clock.now()
        item: dict[str, Any] = {
            **pause_key(write.source),
            "paused": write.paused,
            "by": write.by,
            "why": write.why,
            "at": to_micros(now),
            "op": write.op,
            **({} if write.lasts is None else {UNTIL: to_micros(now + write.lasts)}),
        }
        never: ConditionBase = Attr("op").not_exists() | Attr("op").eq(NOBODY)
        as_seen: ConditionBase = never if write.seen is None else Attr("op").eq(write.seen)
        changes = [{"Put": put(item, as_seen)}, *beside(self._table, [of_pause(write)], now)]
        self._running_until.pop(write.source, None)
        refusal = self._table.transact(call, changes)
        return PauseAnswer(refusal is None, self._decoded(item if refusal is None else refusal.item))

    def _decoded(self, item: Item | None) -> Pause:
        return _decoded(item, self._table.clock.now())


def pause_key(source: str) -> dict[str, str]:
    """Return the key of a source's item."""
    return {SOURCE: belonging(source, AUDIT), KEY: PAUSE}


def _fails(item: Item | None) -> bool:
    return item is not None and ERROR in item


def _decoded(item: Item | None, now: datetime) -> Pause:
    if item is None:
        return NEVER_PAUSED
    failing = Failing(item[ERROR], len(item.get(FAILED, "")) // MARK_LENGTH) if ERROR in item else None
    if item["op"] == NOBODY:
        return replace(NEVER_PAUSED, failing=failing)
    until = from_micros(int(item[UNTIL])) if UNTIL in item else None
    paused = bool(item["paused"]) and (until is None or until > now)
    return Pause(paused, item["by"], item["why"], from_micros(int(item["at"])), item["op"], until, failing)


log = logging.getLogger(__name__)
T = TypeVar("T", CountFailure, ForgetFailures)

COUNTED_AFTER: Final = timedelta(seconds=ASKED_AGAIN) + MARGIN
_NOTHING: Final = dict.fromkeys((ERROR, FAILED, SINCE))
_NEVER_PAUSED: Final = {"paused": False, "by": NOBODY, "why": NOT_SAID, "at": 0, "op": NOBODY}
_TRIES_TO_COUNT: Final = 20
"""Processes that fail at once are faster than each other so many times; a failure that is not counted puts it off."""


class Failures:
    """Counts what fails in the sources of one table.

    :param table: where the items are.
    :param pausing: has asked for them.
    """

    def __init__(self, table: Table, pausing: Pausing) -> None:
        self._table, self._pausing = table, pausing

    def before(self, write: End) -> None:
        """Take what has failed away, before an ending that is a success: what comes after it counts anew.

        An ending that is refused afterwards has only put the brake off.
        """
        self._each(write, ForgetFailures, self._forget)

    def after(self, write: End) -> None:
        """Count a failure that was applied."""
        self._each(write, CountFailure, self._count)

    def _each(self, write: End, kind: type[T], carry_out: Callable[[T], None]) -> None:
        """Carry out what an ending says of its source, if it is of one kind. The ending never fails of it."""
        if not holds_partitions(write.source):
            return
        for record in of_result(write):
            if isinstance(record, kind):
                try:
                    carry_out(record)
                except CoordinationError as error:
                    log.warning("What fails in source %s was not counted: %s", shown(write.source), error)

    def _forget(self, record: ForgetFailures) -> None:
        call = Call("forget failures", record.source)
        if not self._pausing.nothing_fails(call, record.source):
            arguments = update(pause_key(record.source), _NOTHING, Attr(ERROR).exists())
            self._table.attempt(call, "update_item", **arguments)

    def _count(self, record: CountFailure) -> None:
        call = Call("count a failure", record.source)
        item = self._pausing.ask(call, record.source)
        self._pausing.hear_of_failure(record.source)
        for _ in range(_TRIES_TO_COUNT):
            sets = _counted(item or {}, record, self._table.clock.now())
            if not sets:
                return
            arguments = update(pause_key(record.source), sets, _as_seen(item))
            answer = self._table.attempt(call, "update_item", **arguments)
            if not isinstance(answer, Refusal):
                return
            item = answer.item


def _counted(seen: Item, record: CountFailure, now: datetime) -> dict[str, Any]:
    """Return what a failure changes in the item, nothing if it says nothing new, or does not count yet."""
    if seen.get(ERROR) != record.error:
        return {**({} if seen else _NEVER_PAUSED), **_NOTHING, ERROR: record.error}
    if SINCE not in seen:
        return {SINCE: to_micros(now)}
    failed = seen.get(FAILED, "")
    said = record.mark in failed or len(failed) >= MARK_LENGTH * MOST_COUNTED
    return {} if said or to_micros(now - COUNTED_AFTER) < int(seen[SINCE]) else {FAILED: failed + record.mark}


def _as_seen(item: Item | None) -> ConditionBase:
    """Return the condition that nobody has changed the item: a request that arrives late changes no newer count."""
    if item is None:
        return Attr("op").not_exists()
    version = item.get(VERSION)
    return Attr("op").eq(item["op"]) & (Attr(VERSION).not_exists() if version is None else Attr(VERSION).eq(version))
