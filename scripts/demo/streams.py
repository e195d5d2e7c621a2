"""Streams of Kinesis beside the flights: an engine on this machine, a shard that splits while it is read, the proof."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from npm_packages import PackagesError, download

from airflow_coordination import PartitionStatus, SourceCoordinator, open_store
from demo.display import Display
from demo.problems import DemoError
from tests.engines.kinesis import connected, kinesis_local

if TYPE_CHECKING:
    from demo.place import Place
    from demo.standalone import Airflow

VARIABLE = "DEMO_STREAMS"
"""Set to 1, the demo reads streams, too."""
DAG, SOURCE = "orders_stream", "orders"
STREAMS = {"orders": 2, "returns": 1}
"""Their names, and how many shards each has in the beginning."""
RUNS, PATIENCE = 3, 600.0
"""So many runs at most, and so many seconds for each; a run or two, of a minute each, are usual."""
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


def read_streams(airflow: Airflow, place: Place, display: Display, streams: Streams) -> bool:
    """Let the example read the streams while a shard splits; return whether each order is published once.

    :raises DemoError: when a run fails or takes too long.
    """
    from demo.comparison import seen_by_readers

    display.step(f"5. The DAG {DAG}: a partition for each shard of {len(STREAMS)} streams, and a shard that splits")
    store = open_store(place.store)
    coordinator = SourceCoordinator(store, source=SOURCE, owner="demo", partition_prefix=place.partition_prefix)
    everything, split = len(FIRST) + len(SECOND), ""
    for number in range(1, RUNS + 1):
        run = f"streams-{number}"
        airflow.api.trigger(DAG, run)
        with display.waiting(f"Run {number}: {place.url}/dags/{DAG}"):
            if not split:
                _wait(airflow, lambda: coordinator.counts()[PartitionStatus.ASSIGNED] > 0, "no shard was begun")
                split = streams.split()
                streams.send(SECOND)
            _wait(airflow, lambda run=run: _is_over(airflow, run), "the run did not end")
        found = seen_by_readers(place, __name__)
        display.say(f"Run {number}: {found['rows']:,} of {everything:,} orders are published.")
        if found["rows"] >= everything:
            break
    for partition in coordinator.partitions():
        waited = f", after {', '.join(_shard(key) for key in partition.parents)}" if partition.parents else ""
        display.say(f"{partition.payload['stream']} {_shard(partition.key)}: {partition.status}{waited}")
    equal: bool = found == {"rows": everything, "orders": everything, "sum": sum(range(everything))}
    display.say(
        f"[bold green]Each order is published once, also those of {split}, which split while it was read.[/]"
        if equal
        else f"[bold red]The published orders differ from those that were sent: {found}. This is a bug.[/]"
    )
    store.close()
    return equal


def _shard(key: str) -> str:
    return key.rpartition(":")[2]


def _is_over(airflow: Airflow, run: str) -> bool:
    state = airflow.api.run_state(DAG, run)
    if state == "failed":
        raise DemoError(f"The run {run} of {DAG} failed.", "Its logs are in the folder of the demo's Airflow.")
    return state == "success"


def _wait(airflow: Airflow, condition: Any, problem: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        airflow.check_running()
        if time.monotonic() > deadline:
            raise DemoError(f"{DAG}: {problem} within {PATIENCE:.0f} seconds.")
        time.sleep(0.5)


def _print_published() -> None:
    """Print what readers see, in a process of its own with a Spark of its own."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    from airflow_coordination import read_completed
    from demo.place import PREFIX, STORE

    spark = SparkSession.builder.master("local[2]").getOrCreate()
    prefix = os.environ[PREFIX] or None
    orders = read_completed(spark, store=os.environ[STORE], source=SOURCE, dataset=SOURCE, partition_prefix=prefix)
    counts = f.count("id").alias("rows"), f.countDistinct("id").alias("orders"), f.sum("id").alias("sum")
    [sums] = orders.agg(*counts).collect()
    print(json.dumps(sums.asDict()))


if __name__ == "__main__":
    _print_published()
