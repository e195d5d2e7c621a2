"""The stores that a run may be on, each made anew for every seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from airflow_coordination.leases.clock import Randomness
from airflow_coordination.leases.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.stores.in_memory import InMemoryStore
from tests.simulation.clocks import WorldClock
from tests.simulation.network import Network
from tests.simulation.transport import RemoteStore
from tests.simulation.world import Process, World


class Place(Protocol):
    """Where a run's partitions are."""

    def seen_by(self, process: Process) -> PartitionStore:
        """Return the store as a process sees it."""

    def remove(self, source: str, key: str) -> bool:
        """Remove an item and all that it remembers, by hand; return whether it was there."""

    def close(self) -> None:
        """Leave nothing behind."""


class InMemoryPlace:
    """The store of one process, on which every process of the run looks through the network."""

    def __init__(self, world: World, network: Network, source: random.Random) -> None:
        self._network, self._random = network, source
        self._store = InMemoryStore(WorldClock(world), Randomness(source))

    def seen_by(self, process: Process) -> PartitionStore:
        """Return the store as a process sees it."""
        return RemoteStore(self._store, process, self._network, self._random)

    def remove(self, source: str, key: str) -> bool:
        """Remove a partition from the dictionaries that keep it."""
        stored = self._store._sources.get(source)
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


class SqlitePlace:
    """A database file; every process of the run has its own connections.

    :param directory: for the file; one in memory is fastest.
    """

    def __init__(self, world: World, network: Network, source: random.Random, directory: Path) -> None:
        self._network, self._random = network, source
        self._file = directory / f"run-{source.getrandbits(64):016x}.db"
        self._store = open_store(f"sqlite:///{self._file}", clock=WorldClock(world))
        self._store.setup()

    def seen_by(self, process: Process) -> PartitionStore:
        """Return the store as a process sees it."""
        return RemoteStore(self._store, process, self._network, self._random)

    def remove(self, source: str, key: str) -> bool:
        """Delete the partition's row."""
        raise NotImplementedError(source, key)

    def close(self) -> None:
        """Delete the file and its neighbours."""
        self._store.close()
        for file in self._file.parent.glob(f"{self._file.name}*"):
            file.unlink()


MakePlace = Callable[[World, Network, random.Random], Place]
