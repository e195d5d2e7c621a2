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
    from airflow_coordination.spark.application import PartitionApplication, partition_application
    from airflow_coordination.spark.archive import build_archive
    from airflow_coordination.spark.completed import read_completed
    from airflow_coordination.spark.delivery import Acknowledgment
    from airflow_coordination.spark.destinations import (
        DataPrepperDeadLetters,
        DeadLetters,
        FileSink,
        HttpSink,
        OpenSearchSink,
        PostgresSink,
        Publish,
    )
    from airflow_coordination.spark.draining import Drained, drain
    from airflow_coordination.spark.kafka import KafkaRange, KafkaRangeError, read_range
    from airflow_coordination.spark.kinesis import ShardBatch, ShardBatches, shard
    from airflow_coordination.spark.lease import PartitionLease
    from airflow_coordination.spark.outcomes import Close, Complete, GiveUp

_HOMES = {
    "Acknowledgment": "delivery",
    "CallUrl": "..follow_ups.url",
    "Close": "outcomes",
    "CommitOffsets": "..follow_ups.offsets",
    "Complete": "outcomes",
    "DataPrepperDeadLetters": "destinations",
    "DeadLetters": "destinations",
    "DeleteMessages": "..follow_ups.messages",
    "DeleteObjects": "..follow_ups.objects",
    "Drained": "draining",
    "FileSink": "destinations",
    "GiveUp": "outcomes",
    "HttpSink": "destinations",
    "KafkaRange": "kafka",
    "KafkaRangeError": "kafka",
    "OpenSearchSink": "destinations",
    "PartitionApplication": "application",
    "PartitionLease": "lease",
    "PostgresSink": "destinations",
    "Publish": "destinations",
    "ShardBatch": "kinesis",
    "ShardBatches": "kinesis",
    "ShowMessages": "..follow_ups.visibility",
    "build_archive": "archive",
    "drain": "draining",
    "partition_application": "application",
    "read_completed": "completed",
    "read_range": "kafka",
    "shard": "kinesis",
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
    value = getattr(import_module(home if home.startswith(".") else f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
