"""The code inside the Spark driver. It never imports Airflow, and imports pyspark only when it is used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from airflow_coordination.spark import handed_over as handed_over  # it reads a secret file, and removes it, at once

if TYPE_CHECKING:
    from airflow_coordination.delivery.dead_letters import DataPrepperDeadLetters
    from airflow_coordination.delivery.delivery import Acknowledgment
    from airflow_coordination.delivery.routing import DeadLetters, Publish
    from airflow_coordination.leases.outcomes import Close, Complete, GiveUp
    from airflow_coordination.spark.again.delivering import DeliveredAgain, deliver_again
    from airflow_coordination.spark.application import PartitionApplication, partition_application
    from airflow_coordination.spark.completed import FilesRead, count_completed, explain_completed, read_completed
    from airflow_coordination.spark.draining import Drained, drain
    from airflow_coordination.spark.lease import PartitionLease
    from airflow_coordination.spark.together.leases import PartitionLeases
    from airflow_coordination.systems.http.call import CallUrl
    from airflow_coordination.systems.http.sink import HttpSink
    from airflow_coordination.systems.kafka.offsets import CommitOffsets
    from airflow_coordination.systems.kafka.reader import KafkaRange, KafkaRangeError, read_range
    from airflow_coordination.systems.kinesis.reader import ShardBatch, ShardBatches, shard
    from airflow_coordination.systems.objects.deletion import DeleteObjects
    from airflow_coordination.systems.objects.sink import FileSink
    from airflow_coordination.systems.opensearch.sink import OpenSearchSink
    from airflow_coordination.systems.spark.archive import build_archive
    from airflow_coordination.systems.sql.postgres_sink import PostgresSink
    from airflow_coordination.systems.sqs.deletion import DeleteMessages
    from airflow_coordination.systems.sqs.visibility import ShowMessages

_HOMES = {
    "Acknowledgment": "airflow_coordination.delivery.delivery",
    "CallUrl": "airflow_coordination.systems.http.call",
    "Close": "airflow_coordination.leases.outcomes",
    "CommitOffsets": "airflow_coordination.systems.kafka.offsets",
    "Complete": "airflow_coordination.leases.outcomes",
    "DataPrepperDeadLetters": "airflow_coordination.delivery.dead_letters",
    "DeadLetters": "airflow_coordination.delivery.routing",
    "DeleteMessages": "airflow_coordination.systems.sqs.deletion",
    "DeleteObjects": "airflow_coordination.systems.objects.deletion",
    "DeliveredAgain": "airflow_coordination.spark.again.delivering",
    "Drained": "airflow_coordination.spark.draining",
    "FileSink": "airflow_coordination.systems.objects.sink",
    "FilesRead": "airflow_coordination.spark.completed",
    "GiveUp": "airflow_coordination.leases.outcomes",
    "HttpSink": "airflow_coordination.systems.http.sink",
    "KafkaRange": "airflow_coordination.systems.kafka.reader",
    "KafkaRangeError": "airflow_coordination.systems.kafka.reader",
    "OpenSearchSink": "airflow_coordination.systems.opensearch.sink",
    "PartitionApplication": "airflow_coordination.spark.application",
    "PartitionLease": "airflow_coordination.spark.lease",
    "PartitionLeases": "airflow_coordination.spark.together.leases",
    "PostgresSink": "airflow_coordination.systems.sql.postgres_sink",
    "Publish": "airflow_coordination.delivery.routing",
    "ShardBatch": "airflow_coordination.systems.kinesis.reader",
    "ShardBatches": "airflow_coordination.systems.kinesis.reader",
    "ShowMessages": "airflow_coordination.systems.sqs.visibility",
    "build_archive": "airflow_coordination.systems.spark.archive",
    "count_completed": "airflow_coordination.spark.completed",
    "deliver_again": "airflow_coordination.spark.again.delivering",
    "drain": "airflow_coordination.spark.draining",
    "explain_completed": "airflow_coordination.spark.completed",
    "partition_application": "airflow_coordination.spark.application",
    "read_completed": "airflow_coordination.spark.completed",
    "read_range": "airflow_coordination.systems.kafka.reader",
    "shard": "airflow_coordination.systems.kinesis.reader",
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
    "DeliveredAgain",
    "Drained",
    "FileSink",
    "FilesRead",
    "GiveUp",
    "HttpSink",
    "KafkaRange",
    "KafkaRangeError",
    "OpenSearchSink",
    "PartitionApplication",
    "PartitionLease",
    "PartitionLeases",
    "PostgresSink",
    "Publish",
    "ShardBatch",
    "ShardBatches",
    "ShowMessages",
    "build_archive",
    "count_completed",
    "deliver_again",
    "drain",
    "explain_completed",
    "partition_application",
    "read_completed",
    "read_range",
    "shard",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
