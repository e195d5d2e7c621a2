"""Progress and staged blocks: in the partition's item while they are small, in items of their own when they are not.

A write costs units for the item's whole size, so that a large text in the item would make every renewal dear.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from airflow_coordination.protocol.writes import KEEP, ChainWrite, End, Save
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb.items import (
    ACCOUNTING,
    KEY,
    LARGE_OP,
    PROGRESS,
    SOURCE,
    STAGED,
    Item,
    typed,
    whole_item,
)
from airflow_coordination.stores.dynamodb.keys import LARGE, belonging, part_key
from airflow_coordination.stores.dynamodb.requests import Table
from airflow_coordination.values.blocks import dump_blocks
from airflow_coordination.values.input_errors import ProgressStateError

INLINE_BYTES: Final = 256
REMEMBERED: Final = "rememberedState"
GLOBAL_STATE: Final = "|GLOBAL_STATE"
_READS: Final = 5


def texts_of(write: ChainWrite) -> dict[str, str | None]:
    """Return what a write changes of progress, staged blocks and accounting."""
    changed: dict[str, str | None] = {}
    if isinstance(write, Save):
        changed = {PROGRESS: write.progress_text, STAGED: dump_blocks(write.staged) if write.staged else None}
    if isinstance(write, End) and write.progress is not KEEP:
        changed[PROGRESS] = write.progress
    if isinstance(write, End) and write.clear_staged:
        changed[STAGED] = None
    if isinstance(write, Save | End) and write.accounting is not None:
        changed[ACCOUNTING] = write.accounting
    return changed


def stored(
    source: str, key: str, op: str, texts: Mapping[str, str | None]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return what the partition's item is to hold of ``texts``, and the puts of those that are too large for it."""
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
