"""Where a command works."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from functools import cached_property

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.leases.port import PartitionStore


class Place:
    """A store and the partition prefix of its connection, looked up when a command first asks for one of them.

    :param opening: opens the store; the prefix holds where the command names none.
    """

    def __init__(self, opening: Callable[[], tuple[PartitionStore, str | None]]) -> None:
        self._opening = opening

    @cached_property
    def _opened(self) -> tuple[PartitionStore, str | None]:
        return self._opening()

    @property
    def store(self) -> PartitionStore:
        """The store.

        :raises SettingsError: when none is named, or it cannot be a store.
        """
        return self._opened[0]

    @property
    def partition_prefix(self) -> str | None:
        """The connection's partition prefix, if it has one."""
        return self._opened[1]

    def coordinator(self, source: str, partition_prefix: str | None) -> SourceCoordinator:
        """Return a coordinator for ``source`` in the name of whoever is logged in.

        :raises SettingsError: when the store does not know the source, naming the nearest that it knows.
        """
        prefix = partition_prefix or self.partition_prefix
        coordinator = SourceCoordinator(self.store, source=source, owner=account(), partition_prefix=prefix)
        coordinator.check_known()
        return coordinator


def account() -> str:
    """Return the name of the account this process runs under."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
