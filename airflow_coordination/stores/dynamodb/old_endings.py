"""The endings of earlier tenures: in the partition's item, and while a tenure lasts, beside it.

A write costs a unit for every KiB of the item, and with four endings an item is longer than one. Most tenures are over
before that matters. Of one that goes on and on the endings before it move to an item of their own (decision 76):
first they are written there, then they leave the partition's item under the tenure's fence. So whoever reads the
partition's item first, and then the other one, finds each of them.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from math import ceil
from typing import Any, Final

from boto3.dynamodb.conditions import Attr

from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.changes import under
from airflow_coordination.stores.dynamodb.expressions import update
from airflow_coordination.stores.dynamodb.keys import LARGE, belonging, part_key
from airflow_coordination.stores.dynamodb.limits import bytes_of
from airflow_coordination.stores.dynamodb.remembered import Remembered
from airflow_coordination.stores.dynamodb.requests import Refusal, Table
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.input_errors import CoordinationError

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
