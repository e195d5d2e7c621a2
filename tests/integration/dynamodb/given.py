"""A snapshot of Data Prepper's table, to be taken over."""

from __future__ import annotations

import random
from copy import deepcopy
from datetime import UTC, datetime

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.leases.clock import Randomness
from airflow_coordination.leases.partition import Partition
from airflow_coordination.stores.dynamodb import DynamoDBStore
from airflow_coordination.testing.clock import FakeClock
from tests.integration.dynamodb.conftest import Engine
from tests.integration.dynamodb.data_prepper import SNAPSHOTS, Item, make_table

PREFIX, SOURCE = "env1", "s3-pipeline"
BEFORE = datetime(2026, 11, 20, 18, 25, tzinfo=UTC)
"""While the leases of the dump run."""
AFTER = datetime(2026, 11, 21, tzinfo=UTC)
"""When the last of them, that of snapshot 05, has ended."""
OURS = ("lastOp", "createOp", "generation")
"""Attributes that hold the takeover's operation id, another one each time."""


def key(number: int) -> str:
    return f"my-bucket|logs/2026/part-{number:04}.json"


def coordinator(store: DynamoDBStore, clock: FakeClock) -> SourceCoordinator:
    return SourceCoordinator(
        store, SOURCE, "host/dag/run/task/0/1", PREFIX, clock=clock, randomness=Randomness(AlwaysInOrder())
    )


class AlwaysInOrder(random.Random):
    """A chance that never starts at "new" (one acquisition in eight does)."""

    def random(self) -> float:
        return 0.999


def items(engine: Engine, table: str) -> dict[str, Item]:
    """Return the lease items of the table by their keys, as they are on the wire."""
    pages = engine.client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
    every = [item for page in pages for item in page["Items"]]
    return {item["sourcePartitionKey"]["S"]: item for item in every if "closedCount" in item}


class Given:
    """A snapshot of Data Prepper's table on one engine.

    :param number: the snapshot's.
    """

    def __init__(self, engine: Engine, table: str, number: str, at: datetime = AFTER) -> None:
        self.engine, self.table, self.clock = engine, table, FakeClock(at)
        self.before = deepcopy(SNAPSHOTS[number])

    def make(self) -> None:
        make_table(self.engine.client, self.table, self.before)

    def store(self) -> DynamoDBStore:
        return self.engine.store(self.table, self.clock)

    def taken_over(self) -> SourceCoordinator:
        """Make the table, take it over, and return a coordinator of it."""
        self.make()
        store = self.store()
        store.setup()
        return coordinator(store, self.clock)

    def items(self) -> dict[str, Item]:
        return items(self.engine, self.table)


def drained(one: SourceCoordinator) -> list[Partition]:
    """Complete whatever can be had, and return it in that order."""
    done = []
    while lease := one.get_next_partition():
        done.append(lease.partition)
        one.complete(lease)
    return done


def without_ids(found: dict[str, Item]) -> dict[str, Item]:
    """Return the items without what differs from one takeover to the next."""
    return {name: {k: v for k, v in item.items() if k not in OURS} for name, item in found.items()}


POISON: dict[str, Item] = {
    "bad time": {"reOpenAt": {"S": "tomorrow"}},
    "bad status": {"sourcePartitionStatus": {"S": "HALF_DONE"}},
    "no status": {"sourcePartitionStatus": {}},
    "half a close": {"closedCount": {"N": "1.5"}},
    "text for a number": {"expirationTime": {"S": "1795803702"}},
    "number for a text": {"partitionProgressState": {"N": "7"}},
    "no instant": {"partitionPriority": {"S": "high"}},
    "lease without an end": {"sourcePartitionStatus": {"S": "ASSIGNED"}, "partitionOwnershipTimeout": {"S": "soon"}},
    "version": {"version": {"S": "one"}},
}


def poisoned(number: str = "02") -> list[Item]:
    base = next(item for item in SNAPSHOTS[number] if item["sourcePartitionKey"]["S"] == key(1))
    rows = [base | {"sourcePartitionKey": {"S": name}} | change for name, change in POISON.items()]
    return [{name: value for name, value in row.items() if value} for row in rows]
