"""Several owners on one source of one table, each behind what the test puts between it and the engine."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from airflow_coordination.leases import Block, Lease, Partition, SourceCoordinator
from airflow_coordination.stores.dynamodb import DynamoDBStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.times import Clock, Randomness
from tests.integration.dynamodb.engine import Engine

SOURCE = "flights"
HOST = "worker-7"
"""The same for all: tasks on one machine share it, and so do the threads of one Data Prepper node."""


class SharedTable:
    """A table of its own on an engine.

    :param clock: decides for the store; its own service's time when ``None``.
    :param options: of the store.
    """

    def __init__(self, engine: Engine, table: str, clock: FakeClock | None, **options: Any) -> None:
        self.engine, self.table, self.clock, self.options = engine, table, clock, options
        self.store().setup()

    def store(self, client: Any = None, seed: int | None = None) -> DynamoDBStore:
        """Return what a new process would have, behind ``client``."""
        options = self.engine.options(self.table, **self.options)
        randomness = Randomness(random.Random(seed)) if seed is not None else None
        return DynamoDBStore(options, self.clock, lambda _: client or self.engine.client, randomness)

    def coordinator(
        self,
        task: str = "one",
        client: Any = None,
        clock: Clock | None = None,
        seed: int | None = None,
        source: str = SOURCE,
        **settings: Any,
    ) -> SourceCoordinator:
        """Return a coordinator for a task, on a host that all share."""
        randomness = Randomness(random.Random(seed)) if seed is not None else None
        return SourceCoordinator(
            self.store(client, seed),
            source,
            f"{HOST}/flights/scheduled__1/{task}/0/1",
            clock=clock or self.clock,
            randomness=randomness,
            **settings,
        )

    def items(self) -> Iterator[dict[str, Any]]:
        """Yield every item of the table, as it is on the wire."""
        for page in self.engine.client.get_paginator("scan").paginate(TableName=self.table, ConsistentRead=True):
            yield from page["Items"]

    def item(self, key: str) -> dict[str, Any]:
        """Return a partition's own item."""
        where = {"sourceIdentifier": {"S": f"{SOURCE}|PARTITION"}, "sourcePartitionKey": {"S": key}}
        answer = self.engine.client.get_item(TableName=self.table, Key=where, ConsistentRead=True)
        return dict(answer["Item"])

    def set(self, key: str, **attributes: dict[str, Any]) -> None:
        """Change attributes of a partition's item by hand; an empty value removes one."""
        item = self.item(key) | attributes
        self.engine.client.put_item(TableName=self.table, Item={name: value for name, value in item.items() if value})

    def expire(self) -> list[str]:
        """Be the service's TTL, in a hurry: delete whatever has the attribute, and return the keys."""
        gone = []
        for item in list(self.items()):
            if "expirationTime" in item:
                key = {name: item[name] for name in ("sourceIdentifier", "sourcePartitionKey")}
                self.engine.client.delete_item(TableName=self.table, Key=key)
                gone.append(item["sourcePartitionKey"]["S"])
        return sorted(gone)


def acquired(lease: Lease | None) -> Lease:
    """Return the lease that was surely acquired."""
    assert lease is not None
    return lease


def found(partition: Partition | None) -> Partition:
    """Return the partition that is surely there."""
    assert partition is not None
    return partition


def block(name: str, rows: int = 1) -> Block:
    """Return a finished piece of output."""
    return Block("flights", f"s3://bucket/{name}/manifest.json", name, rows=rows, bytes=rows)


def published(one: SourceCoordinator) -> dict[str, list[str]]:
    """Return the digests of the published blocks by partition."""
    heads = one.store.heads(f"{one.source}|PARTITION")
    return {head.key: [block.digest for block in head.blocks] for head in heads}
