"""A run's partitions in a table on the simulated engine."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final
from unittest.mock import patch

from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores.dynamodb import DynamoDBOptions, DynamoDBStore, requests
from airflow_coordination.stores.dynamodb.steps import ASKED_AGAIN
from airflow_coordination.testing.history.past_tenures import unremembered
from airflow_coordination.values.times import Randomness
from tests.simulation.clocks import ProcessClock, WorldClock
from tests.simulation.dynamodb.engine import Engine
from tests.simulation.network import Network
from tests.simulation.remote_table import RemoteTable
from tests.simulation.world import Process, World

OPTIONS: Final = DynamoDBOptions(table_name="coordination", billing_mode="on_demand")
LONGEST_LAG: Final = 5.0


class DynamoDBSetup:
    """A table on the engine in this process; each process of the run has a store and a client of its own."""

    behind, is_exact, hears_of_a_pause_within = 2.0, False, ASKED_AGAIN

    def __init__(self, world: World, network: Network, source: random.Random) -> None:
        self._one_at_a_time = patch.object(requests, "PARALLEL", 1)
        self._one_at_a_time.start()
        self._network, self._random = network, source
        lag = source.choice((0.0, 0.5, LONGEST_LAG))
        self._options = replace(OPTIONS, history_retention=source.choice((None, timedelta(days=30))))
        self._engine = Engine(WorldClock(world).now, lambda: source.random() * lag)
        self.plain: PartitionStore = self._store(self._engine, WorldClock(world))
        self.plain.setup()

    def _store(self, client: Any, local: WorldClock) -> DynamoDBStore:
        return DynamoDBStore(self._options, client=lambda _: client, randomness=Randomness(self._random), local=local)

    def seen_by(self, process: Process) -> PartitionStore:
        """Return the store as a process sees it."""
        table = RemoteTable(self._engine, process, self._network, self._random)
        return self._store(table, ProcessClock(process, timedelta(hours=self._random.uniform(-24, 24))))

    def unremembered(self, source: str) -> Iterator[str]:
        """Yield what a row says otherwise than the ring: one may be missing, and half of the runs keep none."""
        kept = parts_of(self.plain).history is not None
        return unremembered(self.plain, source, best_effort=True) if kept else iter(())

    def remove(self, source: str, key: str) -> bool:
        """Delete the partition's item."""
        where = {"sourceIdentifier": {"S": source}, "sourcePartitionKey": {"S": key}}
        there = "Item" in self._engine.get_item(TableName=OPTIONS.table_name, Key=where, ConsistentRead=True)
        self._engine.delete_item(TableName=OPTIONS.table_name, Key=where)
        return there

    def close(self) -> None:
        """Let what runs in this process afterwards be parallel again; the engine goes with the run."""
        self._one_at_a_time.stop()
