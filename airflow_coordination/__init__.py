"""Leased, partitioned Spark work for Airflow: nothing is lost and nothing counts twice.

The public names are loaded when they are first used (:pep:`562`), so that importing a room, in a Spark driver for
example, never imports Airflow, pyspark or a store's client by accident.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_coordination.leases.coordinator import SourceCoordinator
    from airflow_coordination.leases.lease import Lease
    from airflow_coordination.leases.outcomes import Close, Complete, GiveUp
    from airflow_coordination.protocol.partition import Checkpoint, Partition, PartitionIdentifier
    from airflow_coordination.spark.application import partition_application
    from airflow_coordination.spark.completed import read_completed
    from airflow_coordination.spark.draining import drain
    from airflow_coordination.stores.opening import open_store
    from airflow_coordination.values.errors import PartitionNotFoundError, PartitionNotOwnedError, PartitionUpdateError
    from airflow_coordination.values.input_errors import CoordinationError
    from airflow_coordination.values.status import PartitionStatus

__version__ = "0.2.0"

__all__ = [
    "Checkpoint",
    "Close",
    "Complete",
    "CoordinationError",
    "GiveUp",
    "Lease",
    "Partition",
    "PartitionIdentifier",
    "PartitionNotFoundError",
    "PartitionNotOwnedError",
    "PartitionStatus",
    "PartitionUpdateError",
    "SourceCoordinator",
    "drain",
    "open_store",
    "partition_application",
    "read_completed",
]

_ELSEWHERE = dict.fromkeys(("Close", "Complete", "GiveUp", "drain", "partition_application", "read_completed"), "spark")
_ELSEWHERE["open_store"] = "stores"


def __getattr__(name: str) -> object:
    """Load a public name from its room: ``leases`` unless it is listed elsewhere."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_ELSEWHERE.get(name, 'leases')}"), name)


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return sorted([*globals(), *__all__])
