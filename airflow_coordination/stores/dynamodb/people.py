"""People's actions, each in one transaction with its records."""

from __future__ import annotations

from typing import Final

from airflow_coordination.leases import steps
from airflow_coordination.leases.rules import ACT
from airflow_coordination.leases.writes import Act, Answer
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb import changes
from airflow_coordination.stores.dynamodb.items import as_kept
from airflow_coordination.stores.dynamodb.partitions import Partitions
from airflow_coordination.stores.dynamodb.records import beside

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
        others = beside(partitions.table, ACT.records(write), at.now)
        refusal = partitions.change(call, write.source, write.key, changes.replace(seen, after, at), others)
        if refusal is None:
            return Answer(True, as_kept(after))
        seen = partitions.refused(call, refusal)
    raise call.unavailable(f"partition {write.key!r} changes faster than it can be read")
