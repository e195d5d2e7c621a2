"""Streams of Kinesis as values, with the three requests that a supplier sends; the answers' form is the service's."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

WHOLE = 2**128
BEGIN = datetime(2026, 11, 1, tzinfo=UTC)


class NotFoundError(Exception):
    """There is no such stream."""


@dataclass
class Stream:
    """One stream; a shard is ``(parents, first, last, opened, closed)``."""

    name: str
    created: datetime
    status: str = "ACTIVE"
    shards: dict[str, list[Any]] = field(default_factory=dict)


class Service:
    """All streams of an account, and a clock of its own."""

    def __init__(self, page: int = 1_000) -> None:
        self.streams: dict[str, Stream] = {}
        self.now, self.page = BEGIN, page
        self.requests: list[str] = []
        self.exceptions = SimpleNamespace(ResourceNotFoundException=NotFoundError)

    def create(self, name: str, shards: int) -> Stream:
        """Create a stream whose shards are equally wide."""
        stream = self.streams[name] = Stream(name, self.now)
        for number in range(shards):
            self._open(stream, [], WHOLE * number // shards, WHOLE * (number + 1) // shards - 1)
        return stream

    def split(self, stream: Stream, shard: str) -> list[str]:
        """Close a shard and open two."""
        first, last = stream.shards[shard][1:3]
        middle = (first + last) // 2
        self._close(stream, shard)
        return [self._open(stream, [shard], first, middle), self._open(stream, [shard], middle + 1, last)]

    def merge(self, stream: Stream, left: str, right: str) -> str:
        """Close two shards that lie side by side, and open one."""
        first, last = stream.shards[left][1], stream.shards[right][2]
        for shard in (left, right):
            self._close(stream, shard)
        return self._open(stream, [left, right], first, last)

    def _open(self, stream: Stream, parents: list[str], first: int, last: int) -> str:
        name = f"shardId-{len(stream.shards):012}"
        self.now += timedelta(seconds=1)
        stream.shards[name] = [parents, first, last, self.now, None]
        return name

    def _close(self, stream: Stream, shard: str) -> None:
        self.now += timedelta(seconds=1)
        stream.shards[shard][4] = self.now

    def describe_stream_summary(self, **asked: str) -> dict[str, Any]:
        """Answer as the service does."""
        self.requests.append("describe_stream_summary")
        name = asked.get("StreamName") or asked["StreamARN"].rpartition("/")[2]
        if name not in self.streams:
            raise NotFoundError(name)
        stream = self.streams[name]
        arn = f"arn:aws:kinesis:eu-central-1:123456789012:stream/{name}"
        told = {"StreamARN": arn, "StreamCreationTimestamp": stream.created, "StreamStatus": stream.status}
        return {"StreamDescriptionSummary": told}

    def list_shards(self, **asked: Any) -> dict[str, Any]:
        """Answer as the service does, a page at a time."""
        self.requests.append("list_shards")
        known, _, after = asked.get("NextToken", "").partition("|")
        name = asked.get("StreamName", known)
        shards = self.streams[name].shards
        wanted = [
            self._listed(key, *each)
            for key, each in shards.items()
            if _alive(each, asked.get("ShardFilter")) and key > after
        ]
        answer: dict[str, Any] = {"Shards": wanted[: self.page]}
        if len(wanted) > self.page:
            answer["NextToken"] = f"{name}|{wanted[self.page - 1]['ShardId']}"
        answer["ResponseMetadata"] = {"HTTPHeaders": {"date": format_datetime(self.now, usegmt=True)}}
        return answer

    def _listed(
        self, name: str, parents: list[str], first: int, last: int, opened: datetime, closed: datetime | None
    ) -> dict[str, Any]:
        found: dict[str, Any] = {
            "ShardId": name,
            "HashKeyRange": {"StartingHashKey": str(first), "EndingHashKey": str(last)},
            "SequenceNumberRange": {"StartingSequenceNumber": str(int(opened.timestamp()))},
        }
        found |= dict(zip(("ParentShardId", "AdjacentParentShardId"), parents, strict=False))
        if closed is not None:
            found["SequenceNumberRange"]["EndingSequenceNumber"] = str(int(closed.timestamp()))
        return found


def _alive(shard: list[Any], asked: dict[str, Any] | None) -> bool:
    kind = (asked or {}).get("Type")
    if kind == "AT_LATEST":
        return shard[4] is None
    if kind == "AT_TIMESTAMP":
        at = (asked or {})["Timestamp"]
        return bool(shard[3] <= at and (shard[4] is None or shard[4] >= at))
    if kind == "AT_TRIM_HORIZON":
        return not shard[0]
    return True
