"""Notes of what follows endings: items of their own, never under TTL, gone when they are done."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import Any, Final

from boto3.dynamodb.conditions import ConditionBase, Key

from airflow_coordination.protocol.fields import FOLLOW_UP_FIELDS
from airflow_coordination.protocol.follow_up import FollowUp
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb.expressions import query
from airflow_coordination.stores.dynamodb.items import KEY, READABLE_KEY, SOURCE, Item, typed
from airflow_coordination.stores.dynamodb.keys import FOLLOW_UPS, belonging, part_key, parts_between
from airflow_coordination.stores.dynamodb.parkings import Parkings
from airflow_coordination.stores.dynamodb.requests import Table
from airflow_coordination.values.times import to_micros, told_moment

_STORED: Final = {field.name: field.stored for field in FOLLOW_UP_FIELDS}


def follow_up_item(note: FollowUp, now: datetime) -> dict[str, Any]:
    """Return the item of a note that is written now."""
    return {
        **note_key(note),
        READABLE_KEY: note.key,
        _STORED["token"]: note.token,
        _STORED["op"]: note.op,
        _STORED["text"]: note.text,
        _STORED["noted_at"]: to_micros(now),
    }


def follow_ups(
    table: Table, parkings: Parkings, source: str, key: str | None, after: FollowUp | None, limit: int
) -> list[FollowUp]:
    """Return notes of what follows endings and parkings, by key in byte order, then by token and operation."""
    behind = "" if after is None else note_key(after)[KEY]
    parked = [note for note in parkings.notes(source, key) if note_key(note)[KEY] > behind]
    notes = [*_beside_endings(table, source, key, after, limit), *parked]
    return sorted(notes, key=lambda note: note_key(note)[KEY])[:limit] if parked else notes


def _beside_endings(table: Table, source: str, key: str | None, after: FollowUp | None, limit: int) -> list[FollowUp]:
    first, end = parts_between(key) if key is not None else (None, None)
    condition: ConditionBase = Key(SOURCE).eq(belonging(source, FOLLOW_UPS))
    last = note_key(after)[KEY] if after is not None else None
    if first is not None:
        condition &= Key(KEY).between(max(first, last or first), end)
    elif last is not None:
        condition &= Key(KEY).gt(last)
    call = Call("read the follow-ups", key or "", writes=False)
    pages = table.pages(call, limit + (last is not None), ConsistentRead=True, **query(condition))
    found = (_decoded(source, item) for page in pages for item in page if item[KEY] != last)
    return list(islice(found, limit))


def clear_follow_up(table: Table, parkings: Parkings, done: FollowUp) -> None:
    """Take a note away; one that is not there any more is no error."""
    call, place = Call("clear a follow-up", done.key), {"TableName": table.name, "Key": typed(note_key(done))}
    if "Attributes" not in table.send(call, "delete_item", ReturnValues="ALL_OLD", **place):
        parkings.clear(done)


def note_key(note: FollowUp) -> dict[str, str]:
    """Return where a note lies."""
    return {
        SOURCE: belonging(note.source, FOLLOW_UPS),
        KEY: part_key(note.key, f"{note.token:019}|{note.op}"),
    }


def _decoded(source: str, item: Item) -> FollowUp:
    """Return the note in an item; one that is none says nothing, and is named by whoever reads what it says."""
    token, noted_at = item.get(_STORED["token"], 0), item.get(_STORED["noted_at"])
    said = [str(item.get(name, "")) for name in (READABLE_KEY, _STORED["op"], _STORED["text"])]
    key, op, text = said
    return FollowUp(source, key, int(token), op, text, told_moment(noted_at))
