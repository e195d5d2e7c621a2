"""The pause of a source: an item beside its audit, which each process that acquires asks for again and again."""

from __future__ import annotations

from typing import Any, Final

from boto3.dynamodb.conditions import Attr, ConditionBase

from airflow_coordination.leases.answers import PauseAnswer
from airflow_coordination.leases.clock import Clock, from_micros, to_micros
from airflow_coordination.leases.names import holds_partitions
from airflow_coordination.leases.pause import NEVER_PAUSED, Pause
from airflow_coordination.leases.records import of_pause
from airflow_coordination.leases.writes import SetPause
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb.expressions import put
from airflow_coordination.stores.dynamodb.items import KEY, SOURCE, Item, typed
from airflow_coordination.stores.dynamodb.keys import AUDIT, PAUSE, belonging
from airflow_coordination.stores.dynamodb.records import beside
from airflow_coordination.stores.dynamodb.requests import Table

ASKED_AGAIN: Final = 30.0
"""Seconds for which a process believes that a source is not paused. To ask in every acquisition would cost a
transaction, twice the write units, and all of them on one item."""


class Pausing:
    """Reads and sets the pauses of the sources in one table.

    :param local: this process's clock, of which only the monotonic time is used.
    """

    def __init__(self, table: Table, local: Clock) -> None:
        self._table, self._local = table, local
        self._running_until: dict[str, float] = {}

    def holds_back(self, call: Call, source: str) -> bool:
        """Return whether nothing of a source may be acquired: asked for now, or not longer ago than 30 s."""
        asked = self._local.monotonic()
        if not holds_partitions(source) or asked < self._running_until.get(source, asked):
            return False
        if self.pause(call, source).paused:
            self._running_until.pop(source, None)
            return True
        self._running_until[source] = asked + ASKED_AGAIN
        return False

    def pause(self, call: Call, source: str) -> Pause:
        """Return whether a source is paused, read so that every acknowledged write is seen."""
        return _decoded(self._table.get(call, typed(_key(source))))

    def set_pause(self, call: Call, write: SetPause) -> PauseAnswer:
        """Pause or resume a source if nobody has since the person looked, audited in the same transaction."""
        now = self._table.clock.now()
        item: dict[str, Any] = {
            **_key(write.source),
            "paused": write.paused,
            "by": write.by,
            "why": write.why,
            "at": to_micros(now),
            "op": write.op,
        }
        as_seen: ConditionBase = Attr("op").not_exists() if write.seen is None else Attr("op").eq(write.seen)
        changes = [{"Put": put(item, as_seen)}, *beside(self._table, [of_pause(write)], now)]
        self._running_until.pop(write.source, None)
        refusal = self._table.transact(call, changes)
        return PauseAnswer(refusal is None, _decoded(item if refusal is None else refusal.item))


def _key(source: str) -> dict[str, str]:
    return {SOURCE: belonging(source, AUDIT), KEY: PAUSE}


def _decoded(item: Item | None) -> Pause:
    if item is None:
        return NEVER_PAUSED
    return Pause(bool(item["paused"]), item["by"], item["why"], from_micros(int(item["at"])), item["op"])
