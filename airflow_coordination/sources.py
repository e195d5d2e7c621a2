"""Suppliers: where partitions come from. Object storages, SQL tables, Kafka, Kinesis, notifications, dead letters.

The public names are loaded when they are first used (:pep:`562`), so that importing this room loads no client library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_coordination.delivery.again.supplier import dead_letters_again
    from airflow_coordination.systems.kafka.supplier import kafka_ranges
    from airflow_coordination.systems.kinesis.supplier import KinesisShards
    from airflow_coordination.systems.objects.files_listing import FileListing
    from airflow_coordination.systems.objects.listing import Listing, StoredObject, object_paths, spark_paths
    from airflow_coordination.systems.objects.s3_listing import S3Listing
    from airflow_coordination.systems.objects.supplier import object_listing
    from airflow_coordination.systems.sql.key_column import range_clause
    from airflow_coordination.systems.sql.ranges import sql_ranges
    from airflow_coordination.systems.sqs.supplier import sqs_notifications
    from airflow_coordination.systems.suppliers import SourceError

_ROOMS = {
    "FileListing": "airflow_coordination.systems.objects.files_listing",
    "KinesisShards": "airflow_coordination.systems.kinesis.supplier",
    "Listing": "airflow_coordination.systems.objects.listing",
    "S3Listing": "airflow_coordination.systems.objects.s3_listing",
    "SourceError": "airflow_coordination.systems.suppliers",
    "StoredObject": "airflow_coordination.systems.objects.listing",
    "dead_letters_again": "airflow_coordination.delivery.again.supplier",
    "kafka_ranges": "airflow_coordination.systems.kafka.supplier",
    "object_listing": "airflow_coordination.systems.objects.supplier",
    "object_paths": "airflow_coordination.systems.objects.listing",
    "range_clause": "airflow_coordination.systems.sql.key_column",
    "spark_paths": "airflow_coordination.systems.objects.listing",
    "sql_ranges": "airflow_coordination.systems.sql.ranges",
    "sqs_notifications": "airflow_coordination.systems.sqs.supplier",
}
__all__ = [
    "FileListing",
    "KinesisShards",
    "Listing",
    "S3Listing",
    "SourceError",
    "StoredObject",
    "dead_letters_again",
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
    return getattr(import_module(_ROOMS[name]), name)


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return sorted([*globals(), *__all__])
