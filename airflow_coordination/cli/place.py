"""Where a command works."""

from __future__ import annotations

import getpass
from dataclasses import dataclass

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.leases.port import PartitionStore


@dataclass(frozen=True)
class Place:
    """An open store, and the partition prefix of its connection.

    :param store: the store.
    :param partition_prefix: holds where the command names none.
    """

    store: PartitionStore
    partition_prefix: str | None = None

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
