"""Reading one shard of Kinesis from a checkpoint on, on an executor or a driver."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from airflow_coordination.planning.shards.position import Start
from airflow_coordination.systems.kinesis.aggregation import deaggregate
from airflow_coordination.systems.kinesis.checkpoint import Checkpoint
from airflow_coordination.values.input_errors import SettingsError

if TYPE_CHECKING:
    import pyarrow

    from airflow_coordination.systems.kinesis.shards import ShardLease

SCHEMA: Final = (
    "data binary, streamName string, shardId string, partitionKey string, explicitHashKey string, "
    "sequenceNumber string, subSequenceNumber long, approximateArrivalTimestamp timestamp"
)
"""Of a landed record; the names are those of Kinesis."""
_LIMIT: Final = 10_000
"""Kinesis: the most records of one ``GetRecords``."""
_PAUSE: Final = 0.25
"""Seconds between two reads: a shard allows five a second, and others may read it, too."""
_IDLE: Final = 1.0
"""Seconds after a read that found nothing (KCL: ``idleTimeBetweenReadsInMillis``)."""
_TRIES: Final = 10
_BATCH_BYTES: Final = 16 * 1024**2
"""Of an Arrow batch, about: an aggregate of 1 MiB may hold 170,000 records, and a read ten of them."""
_ROW_BYTES: Final = 200
"""Of a row beside its data and its own keys: the stream, the shard, the places."""
_HASH_KEY: Final = re.compile("[0-9]{1,39}")


@dataclass(frozen=True, slots=True)
class Record:
    """A record as its producer gave it.

    :param place: where it stands in the shard.
    :param arrived: when Kinesis got it.
    """

    place: Checkpoint
    data: bytes
    partition_key: str
    explicit_hash_key: str | None
    arrived: datetime


@dataclass(frozen=True, slots=True)
class ShardPart:
    """A part of a shard that is to be read. It travels to executors.

    :param lease: the shard.
    :param after: everything up to this record was read; ``None`` = from the lease's own position.
    :param client: arguments for ``boto3.client``.
    :param iterator: of Kinesis, to begin with, where somebody has come that far over a stretch without records.
    """

    lease: ShardLease
    after: Checkpoint | None
    client: Mapping[str, Any] = field(default_factory=dict, repr=False)
    iterator: str | None = field(default=None, repr=False)


class ShardReader:
    """Gives a shard's records in their order, and says when there will be no more.

    :param part: the part to read.
    :raises SettingsError: when boto3 is not here.
    """

    def __init__(self, part: ShardPart) -> None:
        self._lease, self._after = part.lease, part.after
        self._client = connect(part)
        self._iterator = part.iterator
        self.came_from: str | None = None
        """Where the last read began: another reader finds there what it has given."""
        self._nothing = False
        self.ended = False
        """Whether the shard has no record after those that were given, and gets none any more."""
        self.exhausted = False
        """Whether it has ended, and the last read gave nothing: an end may come together with records."""
        self.children: list[dict[str, Any]] = []
        """What follows the shard, as far as Kinesis says, once it has ended (``ChildShards``)."""
        self.behind_ms: int | None = None
        """How old the place is that was read last; 0 at the tip."""

    @property
    def left_out(self) -> bool:
        """Whether the last read found only what was read before, or belongs to other shards, if it gave nothing."""
        return not self._nothing

    @property
    def caught_up(self) -> bool:
        """Whether everything that is there was given."""
        return self.ended or (self.behind_ms == 0 and self._nothing)

    def read(self, limit: int = _LIMIT) -> list[Record]:
        """Return the next records; none does not mean that there are no more.

        :param limit: at most so many as Kinesis counts them: an aggregate is one.
        """
        expired = self._client.exceptions.ExpiredIteratorException
        if self._iterator is None:
            self._iterator = self._place()
        self.came_from = self._iterator
        try:
            answer = self._client.get_records(ShardIterator=self._iterator, Limit=min(limit, _LIMIT))
        except expired:
            self._iterator = None
            return []
        self._iterator = answer.get("NextShardIterator")
        self.ended = self._iterator is None
        self.children = answer.get("ChildShards") or []
        self.behind_ms = answer.get("MillisBehindLatest")
        self._nothing = not answer["Records"]  # the answer with the last record may not know yet that the shard ends
        found = [record for each in answer["Records"] for record in self._records(each)]
        self.exhausted = self.ended and not found
        if found:
            self._after = found[-1].place
        return found

    def _records(self, raw: Mapping[str, Any]) -> Iterator[Record]:
        """Yield the records in one of Kinesis' own, without those that were read before.

        Of an aggregate only what belongs to this shard: after a reshard its producer finds out what has come to a
        wrong shard, and sends that once more. (The KCL, ``AggregatorUtil``, leaves out the whole aggregate.)
        """
        for one in deaggregate(raw["Data"], raw["PartitionKey"]):
            place = Checkpoint(raw["SequenceNumber"], one.sub)
            if self._after is not None and place <= self._after:
                continue
            if one.aggregated and not self._belongs(one.partition_key, one.explicit_hash_key):
                continue
            arrived = raw["ApproximateArrivalTimestamp"]
            yield Record(place, one.data, one.partition_key, one.explicit_hash_key, arrived)

    def _belongs(self, partition_key: str, explicit: str | None) -> bool:
        hashes = self._lease.hashes
        if hashes is None or (explicit and not _HASH_KEY.fullmatch(explicit)):
            return True  # no producer sends again what has no such key
        digest = hashlib.md5(partition_key.encode(), usedforsecurity=False).hexdigest()
        return hashes.first <= (int(explicit) if explicit else int(digest, 16)) <= hashes.last

    def _place(self) -> str:
        """Return an iterator to the first record that may not have been read.

        It begins *at* the last one that was: there may be more in the same aggregate.
        """
        where: dict[str, Any]
        position = self._lease.position
        if self._after is not None:
            where = {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "StartingSequenceNumber": self._after.sequence}
        elif position.start is Start.TRIM_HORIZON:
            where = {"ShardIteratorType": "TRIM_HORIZON"}
        else:  # LATEST has its instant, too
            where = {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": position.since}
        stream = self._lease.stream.name
        iterator: str = self._client.get_shard_iterator(StreamName=stream, ShardId=self._lease.shard, **where)[
            "ShardIterator"
        ]
        return iterator


def connect(part: ShardPart) -> Any:
    """Return a client of Kinesis in the stream's own region, unless another is asked for.

    :raises SettingsError: when boto3 is not here.
    """
    try:
        import boto3
        from botocore.config import Config
    except ModuleNotFoundError as error:
        remedy = "Install airflow-coordination[aws] where the driver runs, and boto3 where executors run"
        raise SettingsError("boto3", None, "is not here", remedy) from error
    region = part.lease.stream.arn.split(":")[3]
    config = Config(retries={"mode": "standard", "max_attempts": _TRIES})
    return boto3.Session().client("kinesis", **{"region_name": region, "config": config, **part.client})


def _by_bytes(records: list[Record]) -> Iterator[list[Record]]:
    """Yield the records in lists that become batches: Arrow holds 2 GiB of one column, an executor less than that."""
    some: list[Record] = []
    size = 0
    for one in records:
        if some and size + _size(one) > _BATCH_BYTES:
            yield some
            some, size = [], 0
        some.append(one)
        size += _size(one)
    if some:
        yield some


def _size(record: Record) -> int:
    """Return about how many bytes a record has as a row; a character of a key may have four."""
    return len(record.data) + 4 * (len(record.partition_key) + len(record.explicit_hash_key or "")) + _ROW_BYTES


@dataclass(frozen=True, slots=True)
class Landing:
    """What ``mapInArrow`` calls on one executor: reads until a bound is reached or the shard ends.

    A task that is run twice may read another number of records. Only what its accepted try has written counts.

    :param part: the part to read.
    :param seconds: for how long.
    :param records: how many at most.
    :param to_the_tip: only as far as there is something.
    """

    part: ShardPart
    seconds: float
    records: int
    to_the_tip: bool = False

    def __call__(self, _: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """Yield the records of each read, in Arrow batches of bounded size."""
        reader, until, left = ShardReader(self.part), time.monotonic() + self.seconds, self.records
        while left > 0:
            found = reader.read(left)[:left]
            left -= len(found)
            yield from map(self._batch, _by_bytes(found))
            pause = _PAUSE if found or not reader.caught_up else _IDLE
            if reader.ended or (self.to_the_tip and reader.caught_up) or time.monotonic() + pause >= until:
                return
            time.sleep(pause)

    def _batch(self, records: list[Record]) -> pyarrow.RecordBatch:
        import pyarrow as pa

        stream, shard = self.part.lease.stream.name, self.part.lease.shard
        text, many = pa.string(), len(records)
        columns = {
            "data": pa.array([one.data for one in records], pa.binary()),
            "streamName": pa.array([stream] * many, text),
            "shardId": pa.array([shard] * many, text),
            "partitionKey": pa.array([one.partition_key for one in records], text),
            "explicitHashKey": pa.array([one.explicit_hash_key for one in records], text),
            "sequenceNumber": pa.array([one.place.sequence for one in records], text),
            "subSequenceNumber": pa.array([one.place.sub for one in records], pa.int64()),
            "approximateArrivalTimestamp": pa.array([one.arrived for one in records], pa.timestamp("us", "UTC")),
        }
        return pa.RecordBatch.from_pydict(columns)

    def after(self, after: Checkpoint | None, iterator: str | None = None) -> Landing:
        """Return the landing that goes on there."""
        return replace(self, part=replace(self.part, after=after, iterator=iterator))
