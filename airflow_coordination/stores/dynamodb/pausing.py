"""The pause of a source: an item beside its audit, which each process asks for again and again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from boto3.dynamodb.conditions import Attr, ConditionBase

from airflow_coordination.protocol.pause import NEVER_PAUSED, Pause
from airflow_coordination.protocol.results import PauseAnswer
from airflow_coordination.protocol.side_writes import of_pause
from airflow_coordination.protocol.writes import SetPause
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb.expressions import put
from airflow_coordination.stores.dynamodb.items import KEY, SOURCE, Item, typed
from airflow_coordination.stores.dynamodb.keys import AUDIT, PAUSE, belonging
from airflow_coordination.stores.dynamodb.records import beside
from airflow_coordination.stores.dynamodb.requests import Table
from airflow_coordination.values.failing import MARK_LENGTH, Failing
from airflow_coordination.values.names import holds_partitions
from airflow_coordination.values.times import Clock, from_micros, to_micros

ASKED_AGAIN: Final = 30.0
"""Seconds for which a process believes that a source is not paused. To ask in every acquisition would cost a
transaction, twice the write units, and all of them on one item."""
ERROR: Final = "failingError"
"""What the newest failures have in common; absent after a success."""
FAILED: Final = "failed"
"""What stands for each partition that has failed so, one behind the other."""
SINCE: Final = "failingSince"
"""When it was surely there for everybody who asks."""
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
        return _decoded(self.ask(call, source)).paused

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
        for beliefs, good in ((self._running_until, not _decoded(item).paused), (self._well_until, not _fails(item))):
            if good:
                beliefs[source] = until
            else:
                beliefs.pop(source, None)
        return item

    def pause(self, call: Call, source: str) -> Pause:
        """Return whether a source is paused, read so that every acknowledged write is seen."""
        return _decoded(self._table.get(call, typed(pause_key(source))))

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
        }
        never: ConditionBase = Attr("op").not_exists() | Attr("op").eq(NOBODY)
        as_seen: ConditionBase = never if write.seen is None else Attr("op").eq(write.seen)
        changes = [{"Put": put(item, as_seen)}, *beside(self._table, [of_pause(write)], now)]
        self._running_until.pop(write.source, None)
        refusal = self._table.transact(call, changes)
        return PauseAnswer(refusal is None, _decoded(item if refusal is None else refusal.item))


def pause_key(source: str) -> dict[str, str]:
    """Return the key of a source's item."""
    return {SOURCE: belonging(source, AUDIT), KEY: PAUSE}


def _fails(item: Item | None) -> bool:
    return item is not None and ERROR in item


def _decoded(item: Item | None) -> Pause:
    if item is None:
        return NEVER_PAUSED
    failing = Failing(item[ERROR], len(item.get(FAILED, "")) // MARK_LENGTH) if ERROR in item else None
    if item["op"] == NOBODY:
        return replace(NEVER_PAUSED, failing=failing)
    return Pause(bool(item["paused"]), item["by"], item["why"], from_micros(int(item["at"])), item["op"], failing)
