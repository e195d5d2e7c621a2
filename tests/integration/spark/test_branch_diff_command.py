"""``branches diff``, as a person types it: real files, real Spark, a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.outputs import Attempt
from airflow_coordination.outputs.enabling import enabling_of
from airflow_coordination.protocol.port import PartitionStore
from tests.branches import begun

DAYS = [f"2013-01-{day:02}" for day in range(1, 4)]


def publish(store: PartitionStore, root: str, key: str, numbers: list[int]) -> None:
    """Publish a row for each number, in their order."""
    ingest = SourceCoordinator(store, "s", "a test")
    ingest.create_partitions([key])
    lease = ingest.acquire_partition(key)
    assert lease is not None
    attempt = Attempt(root, lease.partition.source, key, lease.fence, store.store_id)
    opened = attempt.open("d")
    Path(opened.path).mkdir(parents=True)
    pq.write_table(pa.table({"day": [key] * len(numbers), "n": numbers}), Path(opened.path) / "part-0.parquet")
    ingest.complete(lease, [attempt.finish(opened)])


def test_one_wrong_row_is_named_and_nothing_is_changed(store: PartitionStore, store_url: str, output_root: str) -> None:
    enabling_of(store).enable_branches()
    for day in DAYS:
        publish(store, output_root, day, [1, 2, 3])
    number = begun(SourceCoordinator(store, "s", "a test"), DAYS)
    for day in DAYS:
        publish(store, output_root, day, [3, 2, 7] if day == DAYS[1] else [3, 2, 1])
    before = list(store.heads("s|PARTITION"))
    command = [sys.executable, "-m", "airflow_coordination", "branches", "diff", "s", str(number)]
    command += ["--store", store_url, "--master", "local[1]", "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [(row["key"], row["contents"]) for row in json.loads(done.stdout)] == [
        (DAYS[0], "same"),
        (DAYS[1], "different"),
        (DAYS[2], "same"),
    ]
    assert f"1 of d have other rows: '{DAYS[1]}'." in done.stderr
    assert list(store.heads("s|PARTITION")) == before
