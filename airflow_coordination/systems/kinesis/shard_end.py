"""The end of a shard, as its driver meets it: the children's leases, if the stream is still the same one."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow_coordination.planning.shards.plan import at_shard_end
from airflow_coordination.systems.kinesis.landing import ShardPart, connect
from airflow_coordination.systems.kinesis.shards import ShardLease, Stream, child_shard
from airflow_coordination.values.input_errors import InvalidInputError

if TYPE_CHECKING:
    from airflow_coordination.systems.reader import ReadersLease


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


log = logging.getLogger(__name__)


def create_children(lease: ReadersLease, shard: ShardLease, told: Sequence[dict[str, Any]]) -> None:
    """Create the leases of a shard's children, which wait for it; they can start in the moment it completes.

    What cannot be created here, as the child of a merge whose other parent has no lease, the supplier plans. So does
    whatever Kinesis does not name.

    :param told: ``ChildShards``.
    """
    children = [child_shard(each) for each in told]
    source = lease.coordinator
    if any(source.looking.has_children(shard.stream.key(child.id)) for child in children):
        return  # leases are missing that others wait for, as after an old backup: only a plan sees the whole lineage
    named = {each for child in children for each in (child.id, *child.parents)}
    there = {each for each in named if source.partition(shard.stream.key(each)) is not None}
    hashes = {child.id: child.hashes for child in children}
    wanted = at_shard_end(children, there, shard.position).create
    if wanted:
        lease.create_partitions(shard.stream.identifier(new, hashes[new.shard]) for new in wanted)


def is_gone(part: ShardPart) -> bool:
    """Return whether a stream is there and has no such shard any more, as long after it was trimmed.

    A stream that is not there, or another one of that name, is an error: the region or the account may be wrong.
    """
    client, lease = connect(part), part.lease
    if stream_of_that_name(client, lease.stream.name) != lease.stream:
        return False
    return all(each["ShardId"] != lease.shard for each in _listed(client, lease.stream.name))


def _listed(client: Any, stream: str) -> Iterator[dict[str, Any]]:
    """Yield all shards.

    boto3's own paginator names stream and token together, which Kinesis refuses (botocore#2009).
    """
    page = client.list_shards(StreamName=stream)
    yield from page["Shards"]
    while token := page.get("NextToken"):
        page = client.list_shards(NextToken=token)
        yield from page["Shards"]
