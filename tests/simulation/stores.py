"""The stores that a run may be on, each made anew for every seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.history.past_tenures import unremembered
from airflow_coordination.values.times import Randomness
from tests.simulation.clocks import WorldClock
from tests.simulation.network import Network
from tests.simulation.transport import RemoteStore
from tests.simulation.world import Process, World


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


def _on_sqlite(world: World, network: Network, source: random.Random) -> StoreSetup:
    from tests.simulation.on_sqlite import SqliteSetup

    return SqliteSetup(world, network, source)


def _on_dynamodb(world: World, network: Network, source: random.Random) -> StoreSetup:
    from tests.simulation.on_dynamodb import DynamoDBSetup

    return DynamoDBSetup(world, network, source)


MakeStore = Callable[[World, Network, random.Random], StoreSetup]
# Each is imported by a run that is on it: what another store is made of is none of the files that a run loads.
STORES: Final[dict[str, MakeStore]] = {"in_memory": InMemorySetup, "sqlite": _on_sqlite, "dynamodb": _on_dynamodb}
