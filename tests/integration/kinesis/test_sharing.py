"""Workers that read a stream hand shards over while they read: each record is published once (L11)."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.leases import Outcome, PartitionStatus, SourceCoordinator
from airflow_coordination.sources import KinesisShards
from airflow_coordination.spark import read_completed
from airflow_coordination.spark.balance import look_at
from airflow_coordination.stores import open_store
from tests.engines.kinesis import connected
from tests.house.tree import ROOT
from tests.integration.kinesis.producer import send
from tests.integration.kinesis.sharer import SHARDS
from tests.integration.kinesis.stream import LocalStream
from tests.integration.spark.drivers import eventually

AT_ONCE = 200


class Producer(threading.Thread):
    """Sends numbers until it is told to stop."""

    def __init__(self, client: Any, stream: str) -> None:
        super().__init__(daemon=True)
        self._client, self._stream, self._stop_it = client, stream, threading.Event()
        self.sent = 0

    def run(self) -> None:
        while not self._stop_it.wait(0.5):
            send(self._client, self._stream, range(self.sent, self.sent + AT_ONCE))
            self.sent += AT_ONCE

    def stop(self) -> None:
        self._stop_it.set()
        self.join(60)


class Workers:
    """Processes that share the shards of one stream."""

    def __init__(self, folder: Path, url: str, endpoint: str) -> None:
        self._folder, self._url, self._endpoint = folder, url, endpoint
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, name: str) -> None:
        keys = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "x")
        environment = {**os.environ, **keys, "PYTHONPATH": str(ROOT), "AWS_DEFAULT_REGION": "us-east-1"}
        driver = [sys.executable, "-m", "tests.integration.kinesis.sharer"]
        given = [self._url, self._endpoint, str(self._folder / "out"), name, str(self._folder)]
        with (self._folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen([*driver, *given], env=environment, cwd=ROOT, stdout=log, stderr=log)
        self._processes.append(process)

    def end(self) -> None:
        (self._folder / "end").touch()
        for process in self._processes:
            assert process.wait(120) == 0, self.said()

    def kill(self) -> None:
        for process in self._processes:
            process.kill()

    def said(self) -> str:
        return "\n".join(log.read_text()[-2000:] for log in self._folder.glob("*.log"))


@contextmanager
def started(folder: Path, url: str, endpoint: str) -> Iterator[Workers]:
    workers = Workers(folder, url, endpoint)
    try:
        yield workers
    finally:
        workers.kill()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_l11_a_shard_is_handed_over_while_it_is_read(kinesis_local: str, spark: Any, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    store = open_store(url)
    store.setup()
    one = SourceCoordinator(store, "orders", "a person")
    with connected(kinesis_local) as client, LocalStream.new(client, SHARDS) as stream:
        one.run_supplier(KinesisShards(streams=[stream.name], client=client))
        producer = Producer(client, stream.name)
        producer.start()
        with started(tmp_path, url, kinesis_local) as workers:
            workers.start("early")
            eventually(lambda: look_at(one).held == {"early": SHARDS})
            workers.start("late")
            eventually(lambda: look_at(one).held == {"early": SHARDS // 2, "late": SHARDS // 2}, 300)
            before = {each.key: each.progress_text for each in one.partitions()}
            eventually(lambda: all(each.progress_text != before[each.key] for each in one.partitions()))
            producer.stop()
            everything = producer.sent
            eventually(lambda: _read_to_the_tip(one, client, stream), 120)
            workers.end()
    outcomes = [ending.outcome for each in one.partitions() for ending in each.endings]
    assert outcomes.count(Outcome.HANDED_OVER) == SHARDS // 2, "no move more than it takes"
    assert set(outcomes) == {Outcome.HANDED_OVER, Outcome.CLOSED}
    assert one.counts()[PartitionStatus.CLOSED] == SHARDS
    rows = read_completed(spark, store=store, source="orders", dataset="orders")
    numbers = sorted(row.number for row in rows.selectExpr("int(string(data)) as number").collect())
    assert numbers == list(range(everything))
    store.close()


def _read_to_the_tip(one: SourceCoordinator, client: Any, stream: LocalStream) -> bool:
    """Return whether each shard's saved place is that of its last record."""
    for partition in one.partitions():
        last = stream.read(partition.key.rpartition(":")[2]).records[-1]["SequenceNumber"]
        if (partition.progress_state or {}).get("after", [None])[0] != last:
            return False
    return True
