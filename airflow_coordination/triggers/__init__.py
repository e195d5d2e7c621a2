"""The triggers of a source and of a dataset, loaded when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from airflow_coordination.triggers.claimable import ClaimablePartitionsTrigger
    from airflow_coordination.triggers.dataset import DatasetTrigger
    from airflow_coordination.triggers.partitions import PartitionsTrigger

__all__ = ["ClaimablePartitionsTrigger", "DatasetTrigger", "PartitionsTrigger"]

_MODULES: Final = {
    "ClaimablePartitionsTrigger": "claimable",
    "DatasetTrigger": "dataset",
    "PartitionsTrigger": "partitions",
}


def __getattr__(name: str) -> object:
    """Load a trigger from its module."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
