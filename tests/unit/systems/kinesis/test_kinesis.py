"""Keys and payloads of shards, and what Kinesis says of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from airflow_coordination.streams import TRIM_HORIZON, HashRange, NewLease, Position, Shard
from airflow_coordination.systems.kinesis.shards import (
    ShardLease,
    Stream,
    child_shard,
    initial_position,
    listed_shard,
    newest_read,
)
from airflow_coordination.values.input_errors import InvalidInputError

ARN = "arn:aws:kinesis:eu-central-1:123456789012:stream/orders"
CREATED = datetime(2026, 11, 1, 12, 0, 0, 250_000, tzinfo=UTC)
STREAM = Stream.of(ARN, CREATED)
KEY = f"123456789012:orders:{int(CREATED.timestamp())}:shardId-000000000007"
PAYLOAD = {"arn": ARN, "start": "TRIM_HORIZON"}
RANGE = {"HashKeyRange": {"StartingHashKey": "5", "EndingHashKey": "9"}}


@pytest.mark.parametrize("position", [TRIM_HORIZON, Position.latest(CREATED), Position.at_timestamp(CREATED)])
@pytest.mark.parametrize("hashes", [None, HashRange(0, 2**128 - 1)])
def test_a_lease_says_what_was_planned(position: Position, hashes: HashRange | None) -> None:
    planned = NewLease("shardId-000000000007", position, ("shardId-000000000001",))
    made = STREAM.identifier(planned, hashes)
    assert made.parents == (f"{STREAM.prefix}shardId-000000000001",)
    assert made.key == KEY
    assert ShardLease.of(made.key, made.payload or {}) == ShardLease(STREAM, planned.shard, position, hashes)


@pytest.mark.parametrize("arn", ["orders", "arn:aws:sqs:eu-central-1:123456789012:orders", ""])
def test_an_arn_that_is_of_no_stream(arn: str) -> None:
    with pytest.raises(InvalidInputError, match=r"is no ARN of a stream\. Write arn:aws:kinesis:<region>"):
        Stream.of(arn, CREATED)


@pytest.mark.parametrize("key", ["a", "1:2:3", "1:orders:x:shardId-1", ":orders:1:s", "1::1:s", "1:orders:1:"])
def test_a_key_that_is_of_no_shard(key: str) -> None:
    with pytest.raises(InvalidInputError, match=r"is no account:stream:epoch:shard\. Make the partitions of a stream"):
        ShardLease.of(key, PAYLOAD)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arn": ARN.replace("orders", "returns")}, "is not of stream orders of account 123456789012"),
        ({"arn": ARN.replace("123", "321")}, "is not of stream orders of account 123456789012"),
        ({"arn": f"{ARN}s"}, "is not of stream orders"),
        ({"arn": None}, "is not of stream orders"),
        ({"start": "NOW"}, "has no position to start at: 'NOW' is not a valid Start"),
        ({"start": "LATEST"}, "does not go with LATEST"),
        ({"start": "AT_TIMESTAMP", "since": "yesterday"}, "has no position to start at"),
        ({"range": ["a", "b"]}, "has no range of two numbers"),
        ({"range": ["1"]}, "has no range of two numbers"),
    ],
)
def test_a_payload_that_is_of_no_shard(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        ShardLease.of(KEY, PAYLOAD | change)


@pytest.mark.parametrize(
    ("numbers", "end"),
    [
        ({"StartingSequenceNumber": "40"}, None),
        ({"StartingSequenceNumber": "40", "EndingSequenceNumber": "50"}, 50),
        ({"StartingSequenceNumber": "40", "EndingSequenceNumber": "9"}, 40),
    ],
    ids=["open", "closed", "an engine's end of a shard without records"],
)
def test_a_listed_shard(numbers: dict[str, str], end: int | None) -> None:
    listed = {"ShardId": "c", "ParentShardId": "a", "AdjacentParentShardId": "b", "SequenceNumberRange": numbers}
    assert listed_shard(listed | RANGE) == Shard("c", ("a", "b"), 40, end, HashRange(5, 9))


def test_a_named_child() -> None:
    assert child_shard({"ShardId": "c", "ParentShards": ["a"]} | RANGE) == Shard("c", ("a",), hashes=HashRange(5, 9))


def test_when_the_newest_record_arrived() -> None:
    assert newest_read({"after": ["5", 0], "at": CREATED.isoformat()}) == CREATED
    for other in (None, "at", 7, ["at"], {}, {"at": None}, {"at": "yesterday"}):
        assert newest_read(other) is None


def test_initial_positions() -> None:
    assert initial_position("TRIM_HORIZON") == TRIM_HORIZON
    assert initial_position("LATEST") is None
    assert initial_position(CREATED) == Position.at_timestamp(CREATED)
