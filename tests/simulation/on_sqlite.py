"""A run's partitions in a database file."""

from __future__ import annotations

import random
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.stores.sql.columns import PARTITIONS
from airflow_coordination.testing.history.past_tenures import unremembered
from tests.simulation.clocks import WorldClock
from tests.simulation.network import Network
from tests.simulation.transport import RemoteStore
from tests.simulation.world import Process, World

IN_MEMORY_FILES: Final = Path("/dev/shm")


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
