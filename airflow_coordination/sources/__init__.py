"""Suppliers: where partitions come from. Object storages, SQL tables, Kafka, Kinesis, notifications in SQS.

The public names are loaded when they are first used (:pep:`562`), so that importing this room loads no client library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_coordination.sources.errors import SourceError
    from airflow_coordination.sources.kafka.ranges import kafka_ranges
    from airflow_coordination.sources.kinesis.supplier import KinesisShards
    from airflow_coordination.sources.objects.files import FileListing
    from airflow_coordination.sources.objects.listing import Listing, StoredObject
    from airflow_coordination.sources.objects.object_listing import object_listing
    from airflow_coordination.sources.objects.paths import object_paths, spark_paths
    from airflow_coordination.sources.objects.s3 import S3Listing
    from airflow_coordination.sources.sql.clause import range_clause
    from airflow_coordination.sources.sql.ranges import sql_ranges
    from airflow_coordination.sources.sqs.notifications import sqs_notifications

_ROOMS = {
    "FileListing": "objects.files",
    "KinesisShards": "kinesis.supplier",
    "Listing": "objects.listing",
    "S3Listing": "objects.s3",
    "SourceError": "errors",
    "StoredObject": "objects.listing",
    "kafka_ranges": "kafka.ranges",
    "object_listing": "objects.object_listing",
    "object_paths": "objects.paths",
    "range_clause": "sql.clause",
    "spark_paths": "objects.paths",
    "sql_ranges": "sql.ranges",
    "sqs_notifications": "sqs.notifications",
}
__all__ = [
    "FileListing",
    "KinesisShards",
    "Listing",
    "S3Listing",
    "SourceError",
    "StoredObject",
    "kafka_ranges",
    "object_listing",
    "object_paths",
    "range_clause",
    "spark_paths",
    "sql_ranges",
    "sqs_notifications",
]


def __getattr__(name: str) -> object:
    """Load a public name from its module."""
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_ROOMS[name]}"), name)


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return sorted([*globals(), *__all__])
