"""What a run needs of the store that it takes place on."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Protocol, TypeVar

from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.testing.forwarding import ForwardingStore
from airflow_coordination.values.errors import StoreThrottledError

T = TypeVar("T")
KILLED: Final = "a process killed (SIGKILL)"
STOPPED: Final = "a process stopped past its lease (SIGSTOP), then continued"
NOTES: Final = "disk-full"
"""The file in a run's directory to which every refusal for want of space adds a line."""


class FaultyStoreSetup(Protocol):
    """A store with its faults.

    :param url: of the store, as the processes see it.
    :param direct: of the store, without faults.
    :param version: of the engine.
    :param rates: how often each of its faults is asked for by chance, per second.
    :param every: after how many seconds, about, each of the others is asked for again and again.
    :param lease: seconds that a lease lasts.
    :param behind: by how many seconds the store's own time may be behind this host's.
    """

    url: str
    direct: str
    version: str
    rates: Mapping[str, float]
    every: Mapping[str, float]
    lease: float
    behind: float

    def meet(self, fault: str) -> None:
        """Ask for a fault."""

    def calm(self) -> Counter[str]:
        """End all faults, and return how often each of them really happened."""


class DiskWatch(ForwardingStore):
    """Notes when a store refuses a write because its disk is full.

    :param directory: of the run.
    """

    def __init__(self, store: PartitionStore, directory: Path) -> None:
        super().__init__(store)
        self._notes = directory / NOTES

    def forward(self, name: str, call: Callable[[], T]) -> T:
        """Make one call."""
        try:
            return call()
        except StoreThrottledError as error:
            if "full" in error.reason:
                with self._notes.open("a") as notes:
                    notes.write(f"{os.getpid()} {name}\n")
            raise
