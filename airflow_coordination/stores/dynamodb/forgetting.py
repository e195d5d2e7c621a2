"""Taking a note of what follows an ending away undone: a person's action, audited in the same transaction."""

from __future__ import annotations

from boto3.dynamodb.conditions import Attr

from airflow_coordination.protocol.follow_up import Forget
from airflow_coordination.protocol.side_writes import of_forgetting
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb.expressions import delete
from airflow_coordination.stores.dynamodb.follow_ups import note_key
from airflow_coordination.stores.dynamodb.items import KEY
from airflow_coordination.stores.dynamodb.parkings import Parkings
from airflow_coordination.stores.dynamodb.records import beside
from airflow_coordination.stores.dynamodb.requests import Table


def forget_follow_up(table: Table, parkings: Parkings, write: Forget) -> None:
    """Take a note away; one that is not there any more refuses the transaction, and nothing is audited."""
    audit = beside(table, [of_forgetting(write)], table.clock.now())
    gone = {"Delete": delete(note_key(write.note), Attr(KEY).exists())}
    if table.transact(Call("forget a follow-up", write.note.key), [gone, *audit]) is not None:
        parkings.forget(write.note, audit)
