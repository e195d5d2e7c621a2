"""Drivers that read a stream are killed at any moment while it is resharded: each record is published once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.leases import PartitionStatus, SourceCoordinator
from airflow_coordination.spark import read_completed
from airflow_coordination.stores import open_store
from tests.engines.kinesis import connected
from tests.house.tree import ROOT
from tests.integration.kinesis.producer import reshard, send
from tests.integration.kinesis.stream import LocalStream

RESHARDS = 5


SHORT = [pytest.mark.slow, pytest.mark.timeout(900)]
LONG = [pytest.mark.long, pytest.mark.timeout(5_000)]


@pytest.mark.parametrize(
    ("engine", "records", "kills"),
    [
        pytest.param("kinesis_local", 1_000, 1, marks=SHORT),
        pytest.param("kinesis_local", 2_000, 2, marks=LONG),
        pytest.param("kinesalite", 5_000, 3, marks=LONG),
        pytest.param("kinesis_local", 100_000, 20, marks=LONG),
        pytest.param("kinesalite", 100_000, 20, marks=LONG),
    ],
)
def test_s12_s19_killed_while_the_stream_is_resharded(
    engine: str, request: pytest.FixtureRequest, spark: Any, tmp_path: Path, records: int, kills: int
) -> None:
    endpoint = request.getfixturevalue(engine)
    with connected(endpoint) as client, LocalStream.new(client) as stream:
        _read_while_resharded(endpoint, stream, spark, tmp_path, records, kills)


def _read_while_resharded(
    endpoint: str, local: LocalStream, spark: Any, tmp_path: Path, records: int, kills: int
) -> None:
    stream = local.name
    url = f"sqlite:///{tmp_path / 'store.db'}"
    store = open_store(url)
    store.setup()
    one = SourceCoordinator(store, "orders", "a person")
    chance, killed = random.Random(records), 0
    kinds = Counter[str]()
    for part in _parts(records):
        send(local.client, stream, part)
        if kinds.total() < RESHARDS:
            kinds[reshard(local, chance)] += 1
        for _ in range(kills // (RESHARDS + 1) + 1):
            if killed < kills:
                process = _run(tmp_path, url, endpoint, stream, records, "0")
                killed += _killed(process, one, chance.uniform(0, 8))
    assert kinds.keys() == {"split", "merge"}
    while not _at_rest(one):
        assert _run(tmp_path, url, endpoint, stream, records, "86400").wait(600) == 0, _said(tmp_path)
    assert killed == kills
    _check_published(spark, store, records)
    _check_order(one)
    store.close()


def _parts(records: int) -> Iterator[range]:
    """Yield all numbers in parts, one more than there are reshards."""
    size = -(-records // (RESHARDS + 1))
    for begin in range(0, records, size):
        yield range(begin, min(begin + size, records))


def _run(folder: Path, url: str, endpoint: str, stream: str, records: int, again: str) -> subprocess.Popen[bytes]:
    driver = [sys.executable, "-m", "tests.integration.kinesis.reader"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    with (folder / "driver.log").open("ab") as log:
        return subprocess.Popen(
            [*driver, url, endpoint, stream, str(folder / "out"), str(records // 25 + 7), again],
            env=environment,
            cwd=ROOT,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _killed(process: subprocess.Popen[bytes], one: SourceCoordinator, seconds: float) -> bool:
    """Kill a driver some time after it has begun a tenure; return whether it was at work still.

    How long Spark takes to start is the machine's business: a kill before that would show nothing.
    """
    before = _tenures(one)
    while process.poll() is None and _tenures(one) == before:
        time.sleep(0.2)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
    return False


def _tenures(one: SourceCoordinator) -> int:
    """Return how many tenures there were."""
    return sum(partition.token for partition in one.partitions())


def _said(folder: Path) -> str:
    return (folder / "driver.log").read_text()[-3000:]


def _at_rest(one: SourceCoordinator) -> bool:
    """Return whether each open shard was read to its tip, and each closed one to its end."""
    counts = one.counts()
    return counts[PartitionStatus.CLOSED] > 0 == counts[PartitionStatus.UNASSIGNED] + counts[PartitionStatus.ASSIGNED]


def _check_published(spark: Any, store: Any, records: int) -> None:
    rows = read_completed(spark, store=store, source="orders", dataset="orders")
    columns = rows.selectExpr("int(string(data)) as number", "shardId", "sequenceNumber", "subSequenceNumber").collect()
    assert sorted(row.number for row in columns) == list(range(records))
    assert len({(row.shardId, row.sequenceNumber, row.subSequenceNumber) for row in columns}) == records


def _check_order(one: SourceCoordinator) -> None:
    """No shard was begun before its parents were read to their end (promise S19)."""
    partitions = {partition.key: partition for partition in one.partitions()}
    begun = {key: min(t.acquired_at for t in one.history(key) if t.acquired_at is not None) for key in partitions}
    ended = {key: max(t.ended_at for t in one.history(key)) for key in partitions}
    families = [(key, parent) for key, partition in partitions.items() for parent in partition.parents]
    assert families
    for child, parent in families:
        assert partitions[parent].status is PartitionStatus.COMPLETED
        assert begun[child] >= ended[parent], (child, parent)
