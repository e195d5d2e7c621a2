"""The lease as a reader needs it: what it asks of the one that its partition function was given."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.results import Created
from airflow_coordination.values.input_errors import CoordinationError


class WritableBlock(Protocol):
    """A block that is being written."""

    @property
    def path(self) -> str:
        """The directory to write into."""


class ReadersLease(Protocol):
    """A lease as readers of systems see it; :class:`~airflow_coordination.spark.lease.PartitionLease` is one."""

    misconfigured: CoordinationError | None
    """An error of settings, which charges nobody."""

    @property
    def coordinator(self) -> SourceCoordinator:
        """The source's coordinator."""

    @property
    def partition(self) -> Partition:
        """The partition as it is now."""

    @property
    def progress_state(self) -> Any:
        """What was saved last."""

    @property
    def wanted(self) -> bool:
        """Whether another worker has asked for the partition."""

    def alive(self) -> None:
        """Say that the work goes on."""

    def check_held(self) -> None:
        """Refuse to go on without the lease."""

    def save(self, state: object) -> None:
        """Save progress, and what was published before."""

    def publish(self, dataset: str) -> AbstractContextManager[WritableBlock]:
        """Return the block that the with-statement's body writes."""

    def scratch(self, name: str) -> str:
        """Return a new directory for what is never published."""

    def create_partitions(self, partitions: Iterable[object]) -> Created:
        """Create partitions of the same source."""
