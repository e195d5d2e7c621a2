"""What people do, each in one transaction with its records, and what suppliers do to what people have reset."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from boto3.dynamodb.conditions import Attr

from airflow_coordination.protocol import steps
from airflow_coordination.protocol.refreshing import Refresh
from airflow_coordination.protocol.results import Answer
from airflow_coordination.protocol.rules import ACT, PLACE
from airflow_coordination.protocol.writes import Act, Place
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb import changes
from airflow_coordination.stores.dynamodb.changes import Change
from airflow_coordination.stores.dynamodb.children import Children
from airflow_coordination.stores.dynamodb.items import ACCOUNTING, PROGRESS, STAGED, as_kept, attribute_of
from airflow_coordination.stores.dynamodb.large_values import stored
from airflow_coordination.stores.dynamodb.limits import check_together
from airflow_coordination.stores.dynamodb.parkings import Parkings
from airflow_coordination.stores.dynamodb.partitions import Partitions
from airflow_coordination.stores.dynamodb.records import beside
from airflow_coordination.stores.dynamodb.requests import Refusal
from airflow_coordination.values.blocks import dump_blocks

_TRIES: Final = 5


def act(partitions: Partitions, write: Act) -> Answer:
    """Carry out an action. What is not part of its condition may change between reading and writing: read again."""
    call = Call(str(write.action), write.key)
    seen = partitions.get(call, write.source, write.key)
    for _ in range(_TRIES):
        at = partitions.moment()
        after = seen and steps.step(write, seen, at.now)
        if seen is None or after is None:
            return Answer(False, seen)
        others, change = beside(partitions.table, ACT.records(write), at.now), changes.replace(seen, after, at)
        if after.cleaned_up:  # its tombstone is forgotten one day, and whose parent it was then means nothing
            others += Children(partitions).forgetting(call, write.source, write.key)
        refusal: Refusal | int | None
        if steps.waited_for(write, seen):
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
    texts = {PROGRESS: after.progress_text, STAGED: dump_blocks(after.staged) if after.staged else None}
    if after.accounting_text is not None:
        texts[ACCOUNTING] = after.accounting_text
    sets, others = stored(write.source, write.key, after.last_op, texts)
    others += beside(partitions.table, PLACE.records(write), at.now)
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
