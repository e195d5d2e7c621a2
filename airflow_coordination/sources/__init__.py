"""Suppliers: where partitions come from. Object storages and SQL tables.

The public names are loaded when they are first used (:pep:`562`), so that importing this room loads no client library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_coordination.sources.errors import SourceError
    from airflow_coordination.sources.files import FileListing
    from airflow_coordination.sources.listing import object_listing
    from airflow_coordination.sources.objects import Listing, StoredObject
    from airflow_coordination.sources.paths import object_paths, spark_paths
    from airflow_coordination.sources.ranges import range_clause, sql_ranges
    from airflow_coordination.sources.s3 import S3Listing

_ROOMS = {
    "FileListing": "files",
    "Listing": "objects",
    "S3Listing": "s3",
    "SourceError": "errors",
    "StoredObject": "objects",
    "object_listing": "listing",
    "object_paths": "paths",
    "range_clause": "ranges",
    "spark_paths": "paths",
    "sql_ranges": "ranges",
}
__all__ = [
    "FileListing",
    "Listing",
    "S3Listing",
    "SourceError",
    "StoredObject",
    "object_listing",
    "object_paths",
    "range_clause",
    "spark_paths",
    "sql_ranges",
]


def __getattr__(name: str) -> object:
    """Load a public name from its module."""
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_ROOMS[name]}"), name)


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return sorted([*globals(), *__all__])
