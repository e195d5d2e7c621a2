"""The code inside the Spark driver. It never imports Airflow, and imports pyspark only when it is used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from airflow_coordination.spark import handed_over as handed_over  # it reads a secret file, and removes it, at once

if TYPE_CHECKING:
    from airflow_coordination.follow_ups.messages import DeleteMessages
    from airflow_coordination.follow_ups.objects import DeleteObjects
    from airflow_coordination.follow_ups.offsets import CommitOffsets
    from airflow_coordination.follow_ups.url import CallUrl
    from airflow_coordination.follow_ups.visibility import ShowMessages
    from airflow_coordination.leases.outcomes import Close, Complete, GiveUp
    from airflow_coordination.sinks.data_prepper import DataPrepperDeadLetters
    from airflow_coordination.sinks.files import FileSink
    from airflow_coordination.sinks.http import HttpSink
    from airflow_coordination.sinks.opensearch import OpenSearchSink
    from airflow_coordination.sinks.postgres import PostgresSink
    from airflow_coordination.spark.application import PartitionApplication, partition_application
    from airflow_coordination.spark.archive import build_archive
    from airflow_coordination.spark.completed import read_completed
    from airflow_coordination.spark.delivery import Acknowledgment
    from airflow_coordination.spark.destinations import DeadLetters, Publish
    from airflow_coordination.spark.draining import Drained, drain
    from airflow_coordination.spark.kafka import KafkaRange, KafkaRangeError, read_range
    from airflow_coordination.spark.kinesis import ShardBatch, ShardBatches, shard
    from airflow_coordination.spark.lease import PartitionLease

_HOMES = {
    "Acknowledgment": "airflow_coordination.spark.delivery",
    "CallUrl": "airflow_coordination.follow_ups.url",
    "Close": "airflow_coordination.leases.outcomes",
    "CommitOffsets": "airflow_coordination.follow_ups.offsets",
    "Complete": "airflow_coordination.leases.outcomes",
    "DataPrepperDeadLetters": "airflow_coordination.sinks.data_prepper",
    "DeadLetters": "airflow_coordination.spark.destinations",
    "DeleteMessages": "airflow_coordination.follow_ups.messages",
    "DeleteObjects": "airflow_coordination.follow_ups.objects",
    "Drained": "airflow_coordination.spark.draining",
    "FileSink": "airflow_coordination.sinks.files",
    "GiveUp": "airflow_coordination.leases.outcomes",
    "HttpSink": "airflow_coordination.sinks.http",
    "KafkaRange": "airflow_coordination.spark.kafka",
    "KafkaRangeError": "airflow_coordination.spark.kafka",
    "OpenSearchSink": "airflow_coordination.sinks.opensearch",
    "PartitionApplication": "airflow_coordination.spark.application",
    "PartitionLease": "airflow_coordination.spark.lease",
    "PostgresSink": "airflow_coordination.sinks.postgres",
    "Publish": "airflow_coordination.spark.destinations",
    "ShardBatch": "airflow_coordination.spark.kinesis",
    "ShardBatches": "airflow_coordination.spark.kinesis",
    "ShowMessages": "airflow_coordination.follow_ups.visibility",
    "build_archive": "airflow_coordination.spark.archive",
    "drain": "airflow_coordination.spark.draining",
    "partition_application": "airflow_coordination.spark.application",
    "read_completed": "airflow_coordination.spark.completed",
    "read_range": "airflow_coordination.spark.kafka",
    "shard": "airflow_coordination.spark.kinesis",
}

__all__ = [
    "Acknowledgment",
    "CallUrl",
    "Close",
    "CommitOffsets",
    "Complete",
    "DataPrepperDeadLetters",
    "DeadLetters",
    "DeleteMessages",
    "DeleteObjects",
    "Drained",
    "FileSink",
    "GiveUp",
    "HttpSink",
    "KafkaRange",
    "KafkaRangeError",
    "OpenSearchSink",
    "PartitionApplication",
    "PartitionLease",
    "PostgresSink",
    "Publish",
    "ShardBatch",
    "ShardBatches",
    "ShowMessages",
    "build_archive",
    "drain",
    "partition_application",
    "read_completed",
    "read_range",
    "shard",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
