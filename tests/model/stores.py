"""The real stores on which traces are played, and how a partition vanishes from each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.stores.dynamodb import DynamoDBOptions, DynamoDBStore
from airflow_coordination.stores.dynamodb.options import SHORTEST_TTL
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.stores.sql.columns import PARTITIONS
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.status import PartitionStatus
from tests.model.messages import KEY, SOURCE

Remove = Callable[[bool], None]
StoreSetup = tuple[PartitionStore, FakeClock, Remove]


def in_memory(clock: FakeClock) -> StoreSetup:
    store = InMemoryStore(clock)

    def remove(old: bool) -> None:
        """There is no TTL: what is COMPLETED is taken out by hand."""
        held = store._sources[SOURCE]
        found = held.partitions.get(KEY)
        if old and found is not None and found.status is PartitionStatus.COMPLETED:
            del held.partitions[KEY]
            held.keys._keys.remove(KEY)

    return store, clock, remove


def sql(url: str, clock: FakeClock) -> StoreSetup:
    def remove(old: bool) -> None:
        """There is no TTL: somebody who may deletes the COMPLETED rows by hand."""
        engine = create_engine(make_url(url))
        with engine.begin() as connection:
            if old:
                connection.execute(text(f"DELETE FROM {PARTITIONS} WHERE source_partition_status = 'COMPLETED'"))
        engine.dispose()

    return open_store(url, clock=clock), clock, remove


def dynamodb(client: Any, clock: FakeClock, **where: str) -> StoreSetup:
    where |= {"table_name": uuid4().hex, "region": "us-east-1"}
    options = DynamoDBOptions(**where, billing_mode="on_demand", ttl=SHORTEST_TTL)  # type: ignore[arg-type]
    store = DynamoDBStore(options, clock, client=lambda _: client)
    key = {"sourceIdentifier": {"S": SOURCE}, "sourcePartitionKey": {"S": KEY}}

    def remove(old: bool) -> None:
        """Be the service: delete the item when the time in its TTL attribute has come."""
        item = client.get_item(TableName=options.table_name, Key=key, ConsistentRead=True)["Item"]
        if int(item.get("expirationTime", {"N": "99999999999"})["N"]) <= clock.now().timestamp():
            client.delete_item(TableName=options.table_name, Key=key)

    return store, clock, remove
