"""The sensor that waits for partitions, loaded when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_coordination.sensors.partitions import PartitionsSensor

__all__ = ["PartitionsSensor"]


def __getattr__(name: str) -> object:
    """Load the sensor from its module."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.partitions"), name)
