"""Fleets of workers that drain one source: ours and Data Prepper's, each worker as if it were a process of its own."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, Protocol
from uuid import uuid4

import boto3
from botocore.config import Config

from airflow_coordination.duties.standing import observe
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.monitoring.waiting.conclusion import Until, Waiting, WaitTerms
from airflow_coordination.stores.dynamodb import DynamoDBOptions, DynamoDBStore
from benchmarks.dynamodb.data_prepper import DataPrepper, make_table
from benchmarks.dynamodb.requests import Requests, Tally

REGION = "us-east-1"
_CREATORS = 8
Progress = Callable[[int], None]
Work = Callable[[int], Iterator[str]]
"""Drains the source as worker number so-and-so, and yields the key of each partition that it has completed."""


@dataclass
class Drained:
    """What a fleet did.

    :param partitions: how many there were.
    :param creation: requests of their creation.
    :param listing: requests of the sensor that listed the hints.
    :param work: all other requests.
    :param completed: how often each key was completed.
    :param seconds: until the last worker had nothing to do.
    """

    partitions: int
    creation: Tally = field(default_factory=Tally)
    listing: Tally = field(default_factory=Tally)
    work: Tally = field(default_factory=Tally)
    completed: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def requests(self) -> float:
        """Requests per partition, those of the sensor included, those of creation not."""
        return (self.work.total + self.listing.total) / self.partitions

    @property
    def refused(self) -> float:
        """Failed conditions per partition."""
        return (self.work.refused + self.listing.refused) / self.partitions

    @property
    def exactly_once(self) -> bool:
        """Whether every partition was completed once."""
        return len(self.completed) == self.partitions and set(self.completed.values()) == {1}


class Fleet(Protocol):
    """A protocol on a new table."""

    def create(self, keys: Sequence[str]) -> None:
        """Make the table and the partitions."""

    def list_hints(self) -> None:
        """Do what a sensor does before the workers start."""

    def work(self, worker: int) -> Iterator[str]:
        """Drain as one worker."""
        ...


class Ours:
    """This package's store, as the sensor and its mapped tasks use it.

    :param client: shared by all workers, because making one takes longer than its work here.
    :param endpoint: the engine.
    :param hints: whether the sensor gives each mapped instance a hint.
    :param job: how many seconds a job takes on the average.
    """

    def __init__(self, client: Any, endpoint: str, *, hints: bool, job: float = 0.0) -> None:
        self._client, self._with_hints, self._job = client, hints, job
        self._instances: SimpleQueue[str] = SimpleQueue()
        self._options = DynamoDBOptions(
            table_name=f"ours-{uuid4().hex}", region=REGION, endpoint_url=endpoint, billing_mode="on_demand"
        )

    def create(self, keys: Sequence[str]) -> None:
        """Make the table and the partitions."""
        with closing(self._store()) as store:
            store.setup()
            self._coordinator(store, "create").create_partitions(keys)
            self._count = len(keys)

    def list_hints(self) -> None:
        """Sweep, look, and list what can be acquired: one poke of the sensor."""
        with closing(self._store()) as store:
            waiting = Waiting(WaitTerms(Until.CLAIMABLE, self._count))
            found = waiting.conclude(observe(self._coordinator(store, "wait"), self._count))
        for hint in found.hints if self._with_hints else ():
            self._instances.put(hint)

    def work(self, worker: int) -> Iterator[str]:
        """Run the next mapped instance with its hint, as a slot does, until none is left; then take what is left."""
        with closing(self._store()) as store:
            coordinator = self._coordinator(store, f"drain/run/0/{worker}")
            while (lease := coordinator.get_next_partition(hint=self._next_hint())) is not None:
                time.sleep(self._job * random.uniform(0.5, 1.5))  # so that they do not keep step
                coordinator.complete(lease)
                yield lease.key

    def _next_hint(self) -> str | None:
        try:
            return self._instances.get_nowait()
        except Empty:
            return None

    def _store(self) -> DynamoDBStore:
        return DynamoDBStore(self._options, client=lambda _: self._client)

    def _coordinator(self, store: DynamoDBStore, owner: str) -> SourceCoordinator:
        return SourceCoordinator(store, "benchmark", owner)


class Theirs:
    """Data Prepper's protocol.

    :param client: shared by all workers.
    """

    def __init__(self, client: Any) -> None:
        self._client, self._table = client, f"theirs-{uuid4().hex}"

    def create(self, keys: Sequence[str]) -> None:
        """Make the table and the partitions, one after the other as it does."""
        make_table(self._client, self._table)
        node = self._node("creator")
        node.initialize()
        for key in keys:
            node.create_partition(key)

    def list_hints(self) -> None:
        """Do nothing: it has no hints."""

    def work(self, worker: int) -> Iterator[str]:
        """Drain until twice nothing is found."""
        node = self._node(f"node-{worker}")
        node.initialize()
        while (key := node.get_next_partition()) is not None:
            node.complete(key)
            yield key

    def _node(self, host: str) -> DataPrepper:
        return DataPrepper(self._client, self._table, host)


def make_client(endpoint: str, workers: int) -> Any:
    """Return a client that all workers of a fleet can use at once."""
    config = Config(retries={"total_max_attempts": 1}, max_pool_connections=workers + _CREATORS)
    nobody = {"aws_access_key_id": "benchmark", "aws_secret_access_key": "benchmark"}
    client = boto3.client("dynamodb", region_name=REGION, endpoint_url=endpoint, config=config, **nobody)
    client.close = lambda: None  # a worker that ends must not close the others' connections
    return client


def drain(fleet: Fleet, requests: Requests, partitions: int, workers: int, done: Progress) -> Drained:
    """Create the partitions, list the hints, start all workers at once, and wait until the last has nothing to do."""
    result = Drained(partitions)
    with requests.counted() as result.creation:
        fleet.create([f"{number:06}" for number in range(partitions)])
    with requests.counted() as result.listing:
        fleet.list_hints()
    start = threading.Barrier(workers + 1)

    def work(worker: int) -> list[str]:
        start.wait()
        keys = []
        for key in fleet.work(worker):
            keys.append(key)
            done(1)
        return keys

    with requests.counted() as result.work, ThreadPoolExecutor(workers) as pool:
        running = [pool.submit(work, worker) for worker in range(workers)]
        start.wait()
        started = time.monotonic()
        for task in running:
            result.completed.update(task.result())
        result.seconds = time.monotonic() - started
    return result
