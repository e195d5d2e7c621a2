"""A stream on an engine, and what tests do with it; every change is waited for until the stream is ACTIVE."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, cast

_SECONDS: Final = 60
MIDDLE: Final = 2**127
"""The first hash key of the upper half."""


@dataclass
class Read:
    """What a shard gave.

    :param records: in order, as boto3 has them.
    :param ended: whether the last answer had no iterator, which is how a closed shard ends.
    :param children: the last answer's ``ChildShards``, each shard's id with those of its parents, sorted.
    """

    records: list[dict[str, Any]] = field(default_factory=list)
    ended: bool = False
    children: dict[str, list[str]] = field(default_factory=dict)

    @property
    def data(self) -> list[bytes]:
        return [record["Data"] for record in self.records]


@dataclass(frozen=True)
class LocalStream:
    """A stream by its name.

    :param client: of the engine.
    :param name: unique, since engines outlive tests.
    """

    client: Any
    name: str

    @classmethod
    @contextmanager
    def new(cls, client: Any, shards: int = 2) -> Iterator[LocalStream]:
        """Create a stream; it is deleted at the end."""
        stream = cls(client, f"flights-{uuid.uuid4().hex[:12]}")
        stream.create(shards)
        try:
            yield stream
        finally:
            client.delete_stream(StreamName=stream.name)

    def create(self, shards: int) -> None:
        self.client.create_stream(StreamName=self.name, ShardCount=shards)
        self.wait()

    def summary(self) -> dict[str, Any]:
        return dict(self.client.describe_stream_summary(StreamName=self.name)["StreamDescriptionSummary"])

    def wait(self) -> None:
        """Wait until the last change is done."""
        deadline = time.monotonic() + _SECONDS
        while self.summary()["StreamStatus"] != "ACTIVE":
            assert time.monotonic() < deadline, f"{self.name} is still changing after {_SECONDS} seconds"
            time.sleep(0.01)

    def drop(self) -> None:
        """Delete the stream, and wait until it is gone."""
        self.client.delete_stream(StreamName=self.name)
        deadline = time.monotonic() + _SECONDS
        while self.name in self.client.list_streams(Limit=1000)["StreamNames"]:
            assert time.monotonic() < deadline, f"{self.name} is still there after {_SECONDS} seconds"
            time.sleep(0.01)

    def put(self, data: bytes, hash_key: int = 0, key: str = "any") -> str:
        """Send a record and return its sequence number."""
        answer = self.client.put_record(
            StreamName=self.name, Data=data, PartitionKey=key, ExplicitHashKey=str(hash_key)
        )
        return str(answer["SequenceNumber"])

    def split(self, shard: str, at: int) -> None:
        self.client.split_shard(StreamName=self.name, ShardToSplit=shard, NewStartingHashKey=str(at))
        self.wait()

    def merge(self, shard: str, adjacent: str) -> None:
        self.client.merge_shards(StreamName=self.name, ShardToMerge=shard, AdjacentShardToMerge=adjacent)
        self.wait()

    def shards(self, **options: Any) -> dict[str, dict[str, Any]]:
        """List the shards, by id."""
        return {each["ShardId"]: each for each in self.client.list_shards(StreamName=self.name, **options)["Shards"]}

    def filtered(self, kind: str, **options: Any) -> list[str]:
        """Return the ids that a ``ShardFilter`` leaves."""
        return list(self.shards(ShardFilter={"Type": kind, **options}))

    def put_later(self, than: datetime, hash_key: int = 0) -> datetime:
        """Send records until one arrives two seconds after a moment, and return when: kinesis-local's filters round."""
        while True:
            number = self.put(b"later", hash_key)
            found = [one for shard in self.shards() for one in self.read(shard).records]
            [arrived] = [one["ApproximateArrivalTimestamp"] for one in found if one["SequenceNumber"] == number]
            if arrived - than >= timedelta(seconds=2):
                return cast(datetime, arrived)
            time.sleep(0.1)

    def iterator(self, shard: str, kind: str, start: str | datetime | None = None) -> str:
        options: dict[str, Any] = {}
        if start is not None:
            options["Timestamp" if isinstance(start, datetime) else "StartingSequenceNumber"] = start
        answer = self.client.get_shard_iterator(StreamName=self.name, ShardId=shard, ShardIteratorType=kind, **options)
        return str(answer["ShardIterator"])

    def read(self, shard: str, kind: str = "TRIM_HORIZON", start: str | datetime | None = None) -> Read:
        """Read a shard until it ends or has nothing more for the moment."""
        return self.read_on(self.iterator(shard, kind, start))

    def read_to_end(self, shard: str) -> Read:
        """Read a closed shard to its end, which kinesalite tells some answers after the last record."""
        return self.read_on(self.iterator(shard, "TRIM_HORIZON"), to_end=True)

    def read_on(self, iterator: str, *, limit: int = 1000, to_end: bool = False) -> Read:
        """Read on from an iterator."""
        read, deadline = Read(), time.monotonic() + _SECONDS
        while not read.ended:
            answer = self.client.get_records(ShardIterator=iterator, Limit=limit)
            iterator = answer.get("NextShardIterator", "")
            read.records += answer["Records"]
            read.ended = not iterator
            read.children = {each["ShardId"]: sorted(each["ParentShards"]) for each in answer.get("ChildShards") or ()}
            if not answer["Records"] and not read.ended:
                if not to_end:
                    break
                assert time.monotonic() < deadline, f"the shard did not end within {_SECONDS} seconds"
                time.sleep(0.05)
        return read
