"""What fails in a source, counted beside its pause by requests of their own, never within an ending (decision 80).

A process asks for the pause once in 30 s, and learns there whether anything has failed. While it believes that nothing
has, its successes write nothing and ask nothing. So failures count from the time on at which every process has asked:
the first one says that something fails, one that is heard afterwards since when, and those later than 30 s after that
are counted, each by its partition. A success that asks, and sees any of it, takes it away.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from boto3.dynamodb.conditions import Attr, ConditionBase

from airflow_coordination.protocol.side_writes import CountFailure, ForgetFailures, of_result
from airflow_coordination.protocol.writes import End
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb.expressions import update
from airflow_coordination.stores.dynamodb.items import VERSION, Item
from airflow_coordination.stores.dynamodb.pausing import (
    ASKED_AGAIN,
    ERROR,
    FAILED,
    NOBODY,
    NOT_SAID,
    SINCE,
    Pausing,
    pause_key,
)
from airflow_coordination.stores.dynamodb.requests import Refusal, Table
from airflow_coordination.stores.dynamodb.service_clock import MARGIN
from airflow_coordination.values.failing import MARK_LENGTH, MOST_COUNTED
from airflow_coordination.values.input_errors import CoordinationError, shown
from airflow_coordination.values.names import holds_partitions
from airflow_coordination.values.times import to_micros

log = logging.getLogger(__name__)
T = TypeVar("T", CountFailure, ForgetFailures)

COUNTED_AFTER: Final = timedelta(seconds=ASKED_AGAIN) + MARGIN
_NOTHING: Final = dict.fromkeys((ERROR, FAILED, SINCE))
_NEVER_PAUSED: Final = {"paused": False, "by": NOBODY, "why": NOT_SAID, "at": 0, "op": NOBODY}
_TRIES: Final = 20
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
        for _ in range(_TRIES):
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
