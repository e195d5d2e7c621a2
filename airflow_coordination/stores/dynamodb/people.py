"""People's actions, each in one transaction with its line in the audit."""

from __future__ import annotations

from typing import Any, Final

from boto3.dynamodb.conditions import Key

from airflow_coordination.leases import steps
from airflow_coordination.leases.clock import from_micros, to_micros
from airflow_coordination.leases.errors import PartitionUpdateError
from airflow_coordination.leases.publication import retracted
from airflow_coordination.leases.writes import Act, Action, Answer
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb import changes
from airflow_coordination.stores.dynamodb.changes import Moment
from airflow_coordination.stores.dynamodb.expressions import query
from airflow_coordination.stores.dynamodb.heads import head_put, heads
from airflow_coordination.stores.dynamodb.items import KEY, READABLE_KEY, SOURCE, whole_item
from airflow_coordination.stores.dynamodb.keys import AUDIT, belonging, part_key, parts_between
from airflow_coordination.stores.dynamodb.limits import MAX_TRANSACTION
from airflow_coordination.stores.dynamodb.partitions import Partitions
from airflow_coordination.stores.dynamodb.places import instant
from airflow_coordination.stores.dynamodb.requests import Table

_TRIES: Final = 5
_ITSELF: Final = 2
"""Items that every action writes: the partition and the audit."""


def act(partitions: Partitions, write: Act) -> Answer:
    """Carry out an action. What is not part of its condition may change between reading and writing: read again."""
    call = Call(str(write.action), write.key)
    seen = partitions.get(call, write.source, write.key)
    for _ in range(_TRIES):
        at = partitions.moment()
        after = seen and steps.step(write, seen, at.now)
        if seen is None or after is None:
            return Answer(False, seen)
        others = [_audited(write, at), *_retracted(partitions.table, write, at)]
        refusal = partitions.change(call, write.source, write.key, changes.replace(seen, after, at), others)
        if refusal is None:
            return Answer(True, after)
        seen = partitions.refused(call, refusal)
    raise call.unavailable(f"partition {write.key!r} changes faster than it can be read")


def _retracted(table: Table, write: Act, at: Moment) -> list[dict[str, Any]]:
    """Return the puts of the head records that a retract empties. While the partition is as read, no ending moves one.

    :raises PartitionUpdateError: when they are too many for one transaction.
    """
    if write.action is not Action.RETRACT:
        return []
    found = heads(table, write.source, None, write.key, None, MAX_TRANSACTION, None)
    if len(found) > MAX_TRANSACTION - _ITSELF:
        problem = f"it has published to more than {MAX_TRANSACTION - _ITSELF} datasets"
        remedy = (
            f"DynamoDB writes {MAX_TRANSACTION} items at once. Reset it, and let what it publishes anew replace them"
        )
        raise PartitionUpdateError(write.action, write.key, f"{problem}, and {remedy}")
    return [{"Put": head_put(retracted(head), at.now)} for head in found]


def _audited(write: Act, at: Moment) -> dict[str, Any]:
    item = {
        SOURCE: belonging(write.source, AUDIT),
        KEY: part_key(write.key, f"{instant(at.now)}|{write.op}"),
        READABLE_KEY: write.key,
        "at": to_micros(at.now),
        "action": write.action.value,
        "by": write.by,
        "why": write.why,
    }
    return {"Put": {"Item": whole_item(item)}}


def audit(table: Table, source: str, key: str) -> list[dict[str, Any]]:
    """Return the people's actions on a partition, oldest first."""
    call = Call("read the audit", key, writes=False)
    condition = Key(SOURCE).eq(belonging(source, AUDIT)) & Key(KEY).between(*parts_between(key))
    pages = table.pages(call, None, ConsistentRead=True, **query(condition))
    return [
        {
            "key": item[READABLE_KEY],
            "at": from_micros(int(item["at"])),
            "action": item["action"],
            "by": item["by"],
            "why": item["why"],
        }
        for page in pages
        for item in page
    ]
