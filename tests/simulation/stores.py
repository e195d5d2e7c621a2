"""The stores that a run may be on, each made anew for every seed."""

from __future__ import annotations

import random
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol
from unittest.mock import patch

from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.stores.dynamodb import DynamoDBOptions, DynamoDBStore, requests
from airflow_coordination.stores.dynamodb.steps import ASKED_AGAIN
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.stores.sql.columns import PARTITIONS
from airflow_coordination.testing.history.past_tenures import unremembered
from airflow_coordination.values.times import Randomness
from tests.simulation.clocks import ProcessClock, WorldClock
from tests.simulation.dynamodb.engine import Engine
from tests.simulation.network import Network
from tests.simulation.remote_table import RemoteTable
from tests.simulation.transport import RemoteStore
from tests.simulation.world import Process, World

IN_MEMORY_FILES: Final = Path("/dev/shm")
OPTIONS: Final = DynamoDBOptions(table_name="coordination", billing_mode="on_demand")
LONGEST_LAG: Final = 5.0


class StoreSetup(Protocol):
    """Where a run's partitions are."""

    plain: PartitionStore
    """The store itself, with nothing between."""
    behind: float
    """By how many seconds the store's own time may be behind."""
    is_exact: bool
    """Whether everybody sees at once what can be acquired."""
    hears_of_a_pause_within: float
    """Seconds after which everybody knows that the source is paused."""

    def unremembered(self, source: str) -> Iterator[str]:
        """Yield what its history lacks, as far as it keeps one."""

    def seen_by(self, process: Process) -> PartitionStore:
        """Return the store as a process sees it."""

    def remove(self, source: str, key: str) -> bool:
        """Remove an item and all that it remembers, by hand; return whether it was there."""

    def close(self) -> None:
        """Leave nothing behind."""


class InMemorySetup:
    """The store of one process, on which every process of the run looks through the network."""

    behind, is_exact, hears_of_a_pause_within = 0.0, True, 0.0

    def __init__(self, world: World, network: Network, source: random.Random) -> None:
        self._network, self._random = network, source
        store = InMemoryStore(WorldClock(world), Randomness(source))
        self.plain: PartitionStore = store
        self._sources = store._sources

    def seen_by(self, process: Process) -> PartitionStore:
        """Return the store as a process sees it."""
        return RemoteStore(self.plain, process, self._network, self._random)

    def unremembered(self, source: str) -> Iterator[str]:
        """Yield what its history lacks."""
        return unremembered(self.plain, source)

    def remove(self, source: str, key: str) -> bool:
        """Remove a partition from the dictionaries that keep it."""
        stored = self._sources.get(source)
        if stored is None or key not in stored.partitions:
            return False
        before = stored.partitions.pop(key)
        stored.counts[before.status] -= not before.deleted
        stored.assigned.pop(key, None)
        stored.keys._keys.remove(key)
        stored.order._serials.pop(key, None)
        return True

    def close(self) -> None:
        """Do nothing: it goes with the run."""


@cache
def empty_database() -> bytes:
    """Return what is in a database file that was set up and never used."""
    with tempfile.TemporaryDirectory(prefix="simulated-") as directory:
        file = Path(directory) / "empty.db"
        store = open_store(f"sqlite:///{file}")
        store.setup()
        store.close()
        with sqlite3.connect(file) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return file.read_bytes()


class SqliteSetup:
    """A database file."""

    behind, is_exact, hears_of_a_pause_within = 0.0, True, 0.0

    def __init__(self, world: World, network: Network, source: random.Random) -> None:
        self._network, self._random = network, source
        shared_memory = IN_MEMORY_FILES if IN_MEMORY_FILES.is_dir() else None
        self._directory = Path(tempfile.mkdtemp(prefix="simulated-", dir=shared_memory))
        self._file = self._directory / "run.db"
        self._file.write_bytes(empty_database())
        self.plain: PartitionStore = open_store(f"sqlite:///{self._file}", clock=WorldClock(world))

    def seen_by(self, process: Process) -> PartitionStore:
        """Return the store as a process sees it."""
        return RemoteStore(self.plain, process, self._network, self._random)

    def unremembered(self, source: str) -> Iterator[str]:
        """Yield what its history lacks."""
        return unremembered(self.plain, source)

    def remove(self, source: str, key: str) -> bool:
        """Delete the partition's row."""
        with sqlite3.connect(self._file) as connection:
            deleting = f"DELETE FROM {PARTITIONS} WHERE source_identifier = ? AND source_partition_key = ?"
            return connection.execute(deleting, (source, key)).rowcount > 0

    def close(self) -> None:
        """Delete the file and its neighbours."""
        self.plain.close()
        shutil.rmtree(self._directory)


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


MakeStore = Callable[[World, Network, random.Random], StoreSetup]
STORES: Final[dict[str, MakeStore]] = {"in_memory": InMemorySetup, "sqlite": SqliteSetup, "dynamodb": DynamoDBSetup}
