"""Shards of Kinesis as values: what a listing says of them, and what a lease on one is stored as.

Suppliers and drivers both make leases of shards, so that both find the same keys and payloads here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from airflow_coordination.planning.shards.plan import NewLease
from airflow_coordination.planning.shards.position import TRIM_HORIZON, Position, Start
from airflow_coordination.planning.shards.shard import HashRange, Shard
from airflow_coordination.protocol.partition import PartitionIdentifier
from airflow_coordination.values.input_errors import InvalidInputError

_REMEDY = "Make the partitions of a stream with KinesisShards"


@dataclass(frozen=True, slots=True)
class Stream:
    """One life of a stream: a stream that is deleted and created again is another one.

    :param account: the AWS account.
    :param name: the stream's name.
    :param epoch: when it was created, in whole seconds since 1970.
    :param arn: its ARN.
    """

    account: str
    name: str
    epoch: int
    arn: str

    @classmethod
    def of(cls, arn: str, created: datetime) -> Stream:
        """Return the stream that Kinesis describes.

        :param arn: ``StreamARN``.
        :param created: ``StreamCreationTimestamp``.
        :raises InvalidInputError: when it is no ARN of a stream.
        """
        parts = arn.split(":", 5)
        if len(parts) < 6 or not parts[5].startswith("stream/"):
            problem = "is no ARN of a stream"
            raise InvalidInputError("arn", arn, problem, "Write arn:aws:kinesis:<region>:<account>:stream/<name>")
        return cls(parts[4], parts[5].removeprefix("stream/"), int(created.timestamp()), arn)

    @property
    def prefix(self) -> str:
        """The beginning of the keys of all its leases.

        Source: KCL, ``StreamIdentifier``: ``account:stream:creationEpoch``, which the KCL uses for several streams
        only, so that all checkpoints are orphaned when one stream becomes two. Here it is always so.
        """
        return f"{self.account}:{self.name}:{self.epoch}:"

    def key(self, shard: str) -> str:
        """Return the key of the lease on one of its shards."""
        return self.prefix + shard

    def identifier(self, lease: NewLease, hashes: HashRange | None) -> PartitionIdentifier:
        """Return the partition of a planned lease: what its key says, its payload does not say again.

        Every byte of it is paid for with each renewal on DynamoDB, where an item of more than 1 KiB costs twice.

        :param hashes: the shard's range of hash keys.
        """
        payload: dict[str, Any] = {"arn": self.arn, "start": str(lease.position.start)}
        if lease.position.since is not None:
            payload["since"] = lease.position.since.isoformat()
        if hashes is not None:
            payload["range"] = [str(hashes.first), str(hashes.last)]
        return PartitionIdentifier(self.key(lease.shard), payload, parents=tuple(map(self.key, lease.parents)))


@dataclass(frozen=True, slots=True)
class ShardLease:
    """The lease of a shard, as its partition says it.

    :param stream: the stream.
    :param shard: the shard's id.
    :param position: where it begins to read.
    :param hashes: its range of hash keys, if it is known.
    """

    stream: Stream
    shard: str
    position: Position
    hashes: HashRange | None

    @classmethod
    def of(cls, key: str, payload: Mapping[str, Any]) -> ShardLease:
        """Return what a partition's key and payload say.

        :raises InvalidInputError: when they are not of a shard; it names what is wrong.
        """
        prefix, _, shard = key.rpartition(":")
        account, _, rest = prefix.partition(":")
        name, _, epoch = rest.rpartition(":")
        if not (account and name and epoch.isdecimal() and shard):
            raise InvalidInputError("key", key, "is no account:stream:epoch:shard", _REMEDY)
        arn = payload.get("arn")
        if not (isinstance(arn, str) and arn.endswith(f":{account}:stream/{name}")):
            raise InvalidInputError("payload", dict(payload), f"is not of stream {name} of account {account}", _REMEDY)
        stream = Stream(account, name, int(epoch), arn)
        return cls(stream, shard, _position(payload), _hashes(payload))


def _position(payload: Mapping[str, Any]) -> Position:
    try:
        start, since = Start(payload.get("start", "")), payload.get("since")
        return Position(start, None if since is None else datetime.fromisoformat(since))
    except (TypeError, ValueError) as error:
        raise InvalidInputError("payload", dict(payload), f"has no position to start at: {error}", _REMEDY) from error


def _hashes(payload: Mapping[str, Any]) -> HashRange | None:
    given = payload.get("range")
    if given is None:
        return None
    try:
        first, last = map(int, given)
    except (TypeError, ValueError) as error:
        raise InvalidInputError("payload", dict(payload), "has no range of two numbers", _REMEDY) from error
    return HashRange(first, last)


def newest_read(progress: object) -> datetime | None:
    """Return when the record arrived that was read last, as the progress of a shard says; ``None`` where it does not.

    :param progress: ``partition.progress_state``; a function may have saved something else.
    """
    try:
        return datetime.fromisoformat(progress["at"])  # type: ignore[index]
    except (KeyError, TypeError, ValueError):
        return None


def listed_shard(listed: Mapping[str, Any]) -> Shard:
    """Return a shard as ``ListShards`` describes it.

    :param listed: an item of ``Shards``.
    """
    numbers = listed["SequenceNumberRange"]
    start, end = int(numbers["StartingSequenceNumber"]), numbers.get("EndingSequenceNumber")
    return Shard(
        listed["ShardId"],
        tuple(listed[name] for name in ("ParentShardId", "AdjacentParentShardId") if listed.get(name)),
        start,
        None if end is None else max(start, int(end)),  # of a shard without records, engines give any number
        _range_of(listed),
    )


def child_shard(child: Mapping[str, Any]) -> Shard:
    """Return a shard as ``GetRecords`` names it at the end of its parents.

    :param child: an item of ``ChildShards``; it says nothing of sequence numbers.
    """
    return Shard(child["ShardId"], tuple(child["ParentShards"]), hashes=_range_of(child))


def _range_of(described: Mapping[str, Any]) -> HashRange:
    hashes = described["HashKeyRange"]
    return HashRange(int(hashes["StartingHashKey"]), int(hashes["EndingHashKey"]))


def initial_position(given: object) -> Position | None:
    """Return where somebody wants to begin; ``None`` is LATEST, whose instant only the listing knows.

    :param given: ``"TRIM_HORIZON"``, ``"LATEST"``, or an aware moment (KCL: ``InitialPositionInStreamExtended``).
    :raises InvalidInputError: when it is something else.
    """
    if isinstance(given, datetime):
        if given.utcoffset() is None:
            remedy = "Give a timezone-aware datetime, such as datetime.now(UTC)"
            raise InvalidInputError("initial_position", given, "has no time zone", remedy)
        return Position.at_timestamp(given)
    if given == Start.LATEST:
        return None
    if given == Start.TRIM_HORIZON:
        return TRIM_HORIZON
    remedy = 'Give "TRIM_HORIZON", "LATEST", or a timezone-aware datetime'
    raise InvalidInputError("initial_position", given, "is no position in a stream", remedy)
