"""A producer of numbered records, half of them in aggregates, and a stream that is resharded meanwhile."""

from __future__ import annotations

import random
from typing import Any

from tests.integration.kinesis.stream import LocalStream
from tests.kpl import aggregate

KEYS = 23
_AT_ONCE = 100
_TOGETHER = 5


def send(client: Any, stream: str, numbers: range) -> None:
    """Send numbers in their order, each under one of some keys; of each ten the last five come in one aggregate.

    An aggregate has one key, so that a reshard leaves all of it in one shard; that of a real producer may have several,
    and what has come to the wrong shard is sent again.
    """
    records = []
    for begin in range(numbers.start, numbers.stop, 2 * _TOGETHER):
        plain = range(begin, min(begin + _TOGETHER, numbers.stop))
        records += [{"Data": str(number).encode(), "PartitionKey": _key(number)} for number in plain]
        together = range(begin + _TOGETHER, min(begin + 2 * _TOGETHER, numbers.stop))
        if together:
            key = _key(begin)
            data = aggregate((key, None, str(number).encode()) for number in together)
            records.append({"Data": data, "PartitionKey": key})
    for begin in range(0, len(records), _AT_ONCE):
        left = records[begin : begin + _AT_ONCE]
        while left:
            answer = client.put_records(StreamName=stream, Records=left)
            left = [one for one, told in zip(left, answer["Records"], strict=True) if told.get("ErrorCode")]


def _key(number: int) -> str:
    return f"key {number % KEYS}"


def reshard(stream: LocalStream, chance: random.Random) -> str:
    """Split a shard, or merge two that lie side by side; return which of the two it was."""
    row = [one for one in stream.shards().values() if "EndingSequenceNumber" not in one["SequenceNumberRange"]]
    row.sort(key=lambda one: int(one["HashKeyRange"]["StartingHashKey"]))
    at = chance.randrange(len(row) - 1)
    if len(row) > 3:
        stream.merge(row[at]["ShardId"], row[at + 1]["ShardId"])
        return "merge"
    hashes = row[at]["HashKeyRange"]
    stream.split(row[at]["ShardId"], (int(hashes["StartingHashKey"]) + int(hashes["EndingHashKey"])) // 2)
    return "split"
