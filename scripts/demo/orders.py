"""The example that reads streams: its runs while a shard splits, and the proof that each order is published once."""

from __future__ import annotations

import time
from typing import Any

from airflow_coordination import Partition, PartitionStatus, SourceCoordinator, open_store
from airflow_coordination.systems.kinesis.shards import ShardLease
from demo.comparison import seen_by_readers
from demo.display import Display
from demo.place import Place
from demo.problems import DemoError
from demo.standalone import Airflow
from demo.streams import FIRST, SECOND, SOURCE, STREAMS, Streams

DAG = "orders_stream"
RUNS, PATIENCE = 3, 600.0
"""So many runs at most, and so many seconds for each; a run or two, of a minute each, are usual."""


def read_streams(airflow: Airflow, place: Place, display: Display, streams: Streams) -> bool:
    """Let the example read the streams while a shard splits; return whether each order is published once.

    :raises DemoError: when a run fails or takes too long.
    """
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
        found = seen_by_readers(place, "demo.published_orders")
        display.say(f"Run {number}: {found['rows']:,} of {everything:,} orders are published.")
        if found["rows"] >= everything:
            break
    for partition in coordinator.partitions():
        display.say(said_of(partition))
    equal: bool = found == {"rows": everything, "orders": everything, "sum": sum(range(everything))}
    display.say(
        f"[bold green]Each order is published once, also those of {split}, which split while it was read.[/]"
        if equal
        else f"[bold red]The published orders differ from those that were sent: {found}. This is a bug.[/]"
    )
    store.close()
    return equal


def said_of(partition: Partition) -> str:
    """Return what became of a shard, and which ones it waited for."""
    leased = ShardLease.of(partition.key, partition.payload)
    waited = f", after {', '.join(_shard(key) for key in partition.parents)}" if partition.parents else ""
    return f"{leased.stream.name} {leased.shard}: {partition.status}{waited}"


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
