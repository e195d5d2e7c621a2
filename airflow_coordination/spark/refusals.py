"""What a tenure learns from a refusal: it is over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from airflow_coordination.leases.heartbeat import Heartbeat
from airflow_coordination.values.errors import PartitionNotFoundError, PartitionNotOwnedError
from airflow_coordination.values.input_errors import CoordinationError


class Owned(Protocol):
    """What this needs of the lease that a function sees."""

    refused: CoordinationError | None

    def check_held(self) -> None:
        """Refuse to go on without the lease."""


@contextmanager
def heeding(lease: Owned, heartbeat: Heartbeat) -> Iterator[None]:
    """Write as the owner: not at all without the lease, and when the store refuses it, nothing renews it any more."""
    lease.check_held()
    try:
        yield
    except (PartitionNotOwnedError, PartitionNotFoundError) as error:
        lease.refused = error
        heartbeat.stop()
        raise
