"""The sensors that wait for partitions, and for what they publish, loaded when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from airflow_coordination.sensors.dataset import DatasetAvailableSensor
    from airflow_coordination.sensors.partitions import PartitionsSensor

__all__ = ["DatasetAvailableSensor", "PartitionsSensor"]

_MODULES: Final = {"DatasetAvailableSensor": "dataset", "PartitionsSensor": "partitions"}


def __getattr__(name: str) -> object:
    """Load a sensor from its module."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
