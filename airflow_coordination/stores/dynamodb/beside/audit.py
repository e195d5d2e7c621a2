"""What people did: an item for each action by its partition, and one by its time, so that the newest are read alone.

Those by time lie beside the rows of the history, under keys that no partition can have: policies of before allow the
place, and code of before, which reads whatever lies beside the others, does not tell each action twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Any, Final

from boto3.dynamodb.conditions import ConditionBase, Key

from airflow_coordination.protocol.port import AUDITED
from airflow_coordination.protocol.side_writes import Audit
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb.expressions import query
from airflow_coordination.stores.dynamodb.items import KEY, READABLE_KEY, SOURCE, Item, whole_item
from airflow_coordination.stores.dynamodb.keys import (
    ACTED,
    AUDIT,
    HISTORY,
    PAUSE,
    begins_with,
    belonging,
    instant,
    newest_first,
    part_key,
    parts_between,
)
from airflow_coordination.stores.dynamodb.requests import Table
from airflow_coordination.values.names import check_key
from airflow_coordination.values.times import from_micros, to_micros

_LISTED: Final = "listed"
"""Says of an item by its partition that there is one by its time, too; code of before does not write it."""
_SAID: Final[tuple[str, ...]] = (READABLE_KEY, "at", "action", "by", "why", "batch")


def puts(record: Audit, now: datetime) -> Iterator[dict[str, Any]]:
    """Yield what a transaction puts for an action: the item by its partition, and the one by its time."""
    item = {
        SOURCE: belonging(record.source, AUDIT),
        KEY: part_key(record.key, f"{instant(now)}|{record.op}"),
        READABLE_KEY: record.key,
        "at": to_micros(now),
        "action": record.action,
        "by": record.by,
        "why": record.why,
        **({} if record.batch is None else {"batch": record.batch}),
    }
    yield from listed(item)


def is_unlisted(item: Item) -> bool:
    """Return whether an item is an action's that code of before has written: it has none by its time."""
    return str(item[SOURCE]).endswith(f"|{AUDIT}") and item[KEY] != PAUSE and "by" in item and _LISTED not in item


def listed(item: Item) -> Iterator[dict[str, Any]]:
    """Yield the puts of an action's items, that by its time first; repeated, they change nothing."""
    source = str(item[SOURCE]).removesuffix(belonging("", AUDIT))
    by_time = {name: item[name] for name in _SAID if name in item}
    yield {"Item": whole_item({SOURCE: belonging(source, HISTORY), KEY: ACTED + _place(item), **by_time})}
    yield {"Item": whole_item({**item, _LISTED: True})}


def audit(table: Table, source: str, key: str | None, limit: int, before: str | None) -> list[dict[str, Any]]:
    """Return the people's actions on a partition, or the newest of a source, oldest first.

    :param before: of a source only those before this place.
    :raises InvalidInputError: when that is no place.
    """
    if key is not None:
        of_key = Key(SOURCE).eq(belonging(source, AUDIT)) & Key(KEY).between(*parts_between(key))
        return [_line(item) for item in _read(table, key, of_key)]
    first, last = begins_with(ACTED)
    if before is not None:
        first = f"{ACTED}{check_key(before, 'before')}\x01"
    limit = min(limit, AUDITED)
    by_time = Key(SOURCE).eq(belonging(source, HISTORY)) & Key(KEY).between(first, max(first, last))
    found = islice(_read(table, "", by_time, limit), limit)
    return [{**_line(item), "place": _place(item)} for item in found][::-1]


def _read(table: Table, key: str, condition: ConditionBase, size: int | None = None) -> Iterator[Item]:
    call = Call("read the audit", key, writes=False)
    for page in table.pages(call, size, ConsistentRead=True, **query(condition)):
        yield from (item for item in page if item[KEY] != PAUSE)  # it lies beside its own audit


def _line(item: Item) -> dict[str, Any]:
    return {
        "key": item[READABLE_KEY],
        "at": from_micros(int(item["at"])),
        "action": item["action"],
        "by": item["by"],
        "why": item["why"],
        "batch": item.get("batch"),
    }


def _place(item: Item) -> str:
    """Return the place of an action among those of its source, the newest first; both of its items end alike."""
    return f"{newest_first(int(item['at']))}|{str(item[KEY]).rpartition('|')[2]}"
