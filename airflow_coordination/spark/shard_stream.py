"""Whether the stream of a lease is the one that Kinesis has under its name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from airflow_coordination.spark.shard_reader import ShardPart, connect
from airflow_coordination.streams.kinesis import Stream
from airflow_coordination.values.input_errors import InvalidInputError

_REMEDY = (
    "Look at the account and the region that this job reads in; of a stream that was deleted and created again, "
    "KinesisShards makes partitions of its own, and deletes these"
)


def stream_of_that_name(client: Any, name: str) -> Stream:
    """Return the stream that Kinesis has under a name."""
    return _stream(_described(client, name))


def _described(client: Any, name: str) -> dict[str, Any]:
    summary: dict[str, Any] = client.describe_stream_summary(StreamName=name)["StreamDescriptionSummary"]
    return summary


def _stream(told: dict[str, Any]) -> Stream:
    return Stream.of(told["StreamARN"], told["StreamCreationTimestamp"])


def check_stream(part: ShardPart) -> timedelta:
    """Refuse to read another stream of that name: its shards have the same ids, and partitions of their own.

    :return: how long the stream keeps its records.
    :raises InvalidInputError: naming both.
    """
    ours = part.lease.stream
    told = _described(connect(part), ours.name)
    there = _stream(told)
    if there != ours:
        problem = f"is {_said(there)} here, and this partition's is {_said(ours)}"
        raise InvalidInputError("stream", ours.name, problem, _REMEDY)
    return timedelta(hours=told["RetentionPeriodHours"])


def _said(stream: Stream) -> str:
    return f"{stream.arn}, created {datetime.fromtimestamp(stream.epoch, UTC):%Y-%m-%d %H:%M:%S} UTC"
