"""Asking Kinesis for streams and their shards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from airflow_coordination.planning.shards.position import Position, Start
from airflow_coordination.planning.shards.shard import Shard
from airflow_coordination.systems.kinesis.shards import Stream, listed_shard
from airflow_coordination.systems.suppliers import SourceError, client_of, wrapped

_ACTION: Final = "list shards"
_TRIES: Final = 10
"""Of the AWS client, with its own pauses: all readers of an account share the limits of these requests."""
_READABLE: Final = ("ACTIVE", "UPDATING")


@dataclass(frozen=True, slots=True)
class Listed:
    """An answer.

    :param shards: all of them.
    :param at: when Kinesis answered, by its own clock, in whole seconds.
    """

    shards: tuple[Shard, ...]
    at: datetime


def connect(given: Any, region: str | None, endpoint: str | None) -> Any:
    """Return a client of Kinesis.

    :param given: a client, a hook of Airflow's, or a function that returns one of them; ``None`` for boto3's default.
    :param region: of the default client.
    :param endpoint: of the default client.
    :raises SourceError: when there are no credentials, no region, or no such connection.
    """
    with wrapped(_ACTION, "Kinesis"):
        return client_of(given, lambda: default_client("kinesis", region, endpoint))


def default_client(service: str, region: str | None, endpoint: str | None = None) -> Any:
    """Return boto3's own client.

    :raises SourceError: when boto3 is not here.
    """
    try:
        import boto3
        from botocore.config import Config
    except ModuleNotFoundError as error:
        remedy = "Install airflow-coordination[aws]"
        raise SourceError(_ACTION, "Kinesis", "needs boto3, which is not here", remedy) from error
    config = Config(retries={"mode": "standard", "max_attempts": _TRIES})
    return boto3.Session().client(service, region_name=region, endpoint_url=endpoint, config=config)


def find(client: Any, name: str) -> tuple[Stream, bool] | None:
    """Return a stream, and whether its shards can be listed now; ``None`` if there is no such stream.

    :param name: its name or ARN.
    :raises SourceError: when Kinesis does not say.
    """
    missing = client.exceptions.ResourceNotFoundException
    with wrapped(_ACTION, name):
        try:
            told = client.describe_stream_summary(StreamName=name.rpartition("/")[2])["StreamDescriptionSummary"]
        except missing:
            return None
    if name.startswith("arn:") and told["StreamARN"] != name:
        problem = f"is not the stream of that name here, which is {told['StreamARN']}"
        raise SourceError(_ACTION, name, problem, "Give a client of its account and region")
    stream = Stream.of(told["StreamARN"], told["StreamCreationTimestamp"])
    return stream, told["StreamStatus"] in _READABLE


def list_shards(client: Any, stream: Stream, position: Position | None, *, alive_only: bool) -> Listed:
    """Return a stream's shards.

    :param position: where reading begins; ``None`` is LATEST.
    :param alive_only: only those that are alive there (KCL: the ``ShardFilter`` of an empty lease table).
    :raises SourceError: when Kinesis does not answer.
    """
    extra = {"ShardFilter": _filter(position)} if alive_only else {}
    with wrapped(_ACTION, stream.arn):
        pages = list(_pages(client, stream.name, extra))
    return Listed(
        tuple(listed_shard(each) for page in pages for each in page["Shards"]),
        _answered_at(pages[0]),
    )


def _pages(client: Any, name: str, extra: dict[str, Any]) -> Iterator[dict[str, Any]]:
    page = client.list_shards(StreamName=name, **extra)
    yield page
    while token := page.get("NextToken"):
        page = client.list_shards(NextToken=token)
        yield page


def _filter(position: Position | None) -> dict[str, Any]:
    if position is None:
        return {"Type": "AT_LATEST"}
    if position.start is Start.AT_TIMESTAMP:
        return {"Type": "AT_TIMESTAMP", "Timestamp": position.since}
    return {"Type": "AT_TRIM_HORIZON"}


def _answered_at(page: dict[str, Any]) -> datetime:
    """Return when a page was answered; the first one's is earliest, so that nothing is skipped.

    :raises SourceError: when the answer does not say: LATEST would begin at somebody else's clock.
    """
    date = page.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
    if date is None:
        raise SourceError(_ACTION, "Kinesis", "answers without a Date", "Look at the proxy in front of it")
    return parsedate_to_datetime(date).astimezone(UTC)
