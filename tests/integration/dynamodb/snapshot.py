"""A snapshot of Data Prepper's table, to be taken over."""

from __future__ import annotations

import random
from copy import deepcopy
from datetime import UTC, datetime, timedelta

from airflow_coordination.leases import PartitionIdentifier, SourceCoordinator
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.stores.dynamodb import DynamoDBStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.times import Randomness
from tests.integration.dynamodb.data_prepper import SNAPSHOTS, Item, make_table
from tests.integration.dynamodb.engine import Engine
from tests.integration.dynamodb.table import acquired

PREFIX, SOURCE = "env1", "s3-pipeline"
BEFORE = datetime(2026, 11, 20, 18, 25, tzinfo=UTC)
"""While the leases of the dump run."""
AFTER = datetime(2026, 11, 21, tzinfo=UTC)
"""When the last of them, that of snapshot 05, has ended."""
MINUTE = timedelta(minutes=1)
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


class Snapshot:
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
    "text for a number": {"expirationTime": {"S": "tomorrow"}},
    "map for a text": {"partitionProgressState": {"M": {"row": {"N": "7"}}}},
    "no instant": {"partitionPriority": {"S": "high"}},
    "lease without an end": {"sourcePartitionStatus": {"S": "ASSIGNED"}, "partitionOwnershipTimeout": {"S": "soon"}},
    "version": {"version": {"S": "one"}},
}


def poisoned(number: str = "02") -> list[Item]:
    base = next(item for item in SNAPSHOTS[number] if item["sourcePartitionKey"]["S"] == key(1))
    rows = [base | {"sourcePartitionKey": {"S": name}} | change for name, change in POISON.items()]
    return [{name: value for name, value in row.items() if value} for row in rows]


def in_every_state(one: SourceCoordinator, clock: FakeClock) -> None:
    """Leave partitions in whatever state there is; n10 is deleted."""
    identifiers = [PartitionIdentifier(f"n{number:02}") for number in range(15)]
    extremes = [PartitionIdentifier("early", priority=-(2**31) + 1), PartitionIdentifier("late", priority=5)]
    one.create_partitions([*identifiers, *extremes])
    one.run_supplier(lambda state: state.update(last=12))
    take = lambda name: acquired(one.get_next_partition(hint=name))  # noqa: E731
    one.complete(take("n00"))
    one.save_progress_state(take("n01"), {"row": 1})
    one.save_progress_state(take("n02"), {"rows": "x" * 2000})
    one.renew(take("n03"))
    one.close(take("n04"), reopen_after=MINUTE)
    one.close(take("n05"), reopen_after=60 * MINUTE, state={"row": 5})
    one.fail(take("n06"), "no")
    one.give_up(take("n07"))
    one.people.release(take("n08").key, by="ana", why="stuck")
    one.people.park("n09", by="ana", why="bad")
    one.people.delete("n10", by="ana", why="bad")
    one.people.delete("n14", by="ana", why="bad")
    one.create_partitions(["n14"])
    take("n11")
    clock.advance(11 * MINUTE)
    one.sweep()
    take("n12")
    one.close(take("n13"), reopen_after=MINUTE)
    clock.advance(2 * MINUTE)
