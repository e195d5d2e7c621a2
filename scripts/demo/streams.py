"""Streams of Kinesis beside the flights: an engine on this machine, and a shard that splits when it is told to."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from npm_packages import PackagesError, download

from demo.problems import DemoError
from tests.engines.kinesis import connected, kinesis_local

VARIABLE = "DEMO_STREAMS"
"""Set to 1, the demo reads streams, too."""
SOURCE = "orders"
STREAMS = {"orders": 2, "returns": 1}
"""Their names, and how many shards each has in the beginning."""
FIRST, SECOND = range(600), range(600, 800)
"""Orders that are there before the first run, and those that come when a shard has split."""
MIDDLE = 2**126
"""In the middle of the lower shard's hash keys."""


@dataclass(frozen=True, slots=True)
class Streams:
    """The engine.

    :param endpoint: where it answers.
    """

    endpoint: str

    def variables(self) -> dict[str, str]:
        """Return what Airflow and its drivers are told; the engine takes any keys."""
        keys = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "local")
        return {
            **keys,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL_KINESIS": self.endpoint,
            "AIRFLOW_VAR_ORDERS_STREAMS": ",".join(STREAMS),
        }

    def make(self) -> None:
        """Create the streams, with the first orders in them."""
        with connected(self.endpoint) as client:
            for name, shards in STREAMS.items():
                client.create_stream(StreamName=name, ShardCount=shards)
                _wait_until_active(client, name)
        self.send(FIRST)

    def send(self, numbers: range) -> None:
        """Send orders, by turns to each stream."""
        with connected(self.endpoint) as client:
            for number in numbers:
                data = json.dumps({"id": number, "amount": number / 4}).encode()
                client.put_record(StreamName=list(STREAMS)[number % 2], Data=data, PartitionKey=str(number))

    def split(self) -> str:
        """Split the first shard of the first stream; return its id."""
        name = next(iter(STREAMS))
        with connected(self.endpoint) as client:
            shard: str = client.list_shards(StreamName=name)["Shards"][0]["ShardId"]
            client.split_shard(StreamName=name, ShardToSplit=shard, NewStartingHashKey=str(MIDDLE))
            _wait_until_active(client, name)
        return shard


def _wait_until_active(client: Any, name: str) -> None:
    while client.describe_stream_summary(StreamName=name)["StreamDescriptionSummary"]["StreamStatus"] != "ACTIVE":
        time.sleep(0.05)


@contextmanager
def streams_running() -> Iterator[Streams]:
    """Give the engine with its streams, and end it whatever happens.

    :raises DemoError: when what it is made of cannot be downloaded.
    """
    try:
        packages = download("kinesis")
    except PackagesError as error:
        problem, _, said = str(error).partition("\n")
        raise DemoError(problem, details=said) from error
    with kinesis_local(packages) as endpoint:
        streams = Streams(endpoint)
        streams.make()
        yield streams
