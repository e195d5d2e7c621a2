"""``compaction plan`` and ``compaction run``, as a person types them: real files, real Spark, one process each."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_coordination.compaction import CompactionConfig
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.outputs import Attempt, published_manifests
from airflow_coordination.outputs.published import read_overlays
from airflow_coordination.protocol.port import PartitionStore

CONFIG = CompactionConfig("d", granularity="MONTH", skip_offset_from_latest="P0D", interval_from_key="%Y-%m-%d")
DAYS = [f"2013-01-{day:02}" for day in range(1, 5)]


def publish(store: PartitionStore, root: str, key: str) -> None:
    ingest = SourceCoordinator(store, "s", "a test")
    ingest.create_partitions([key])
    lease = ingest.acquire_partition(key)
    assert lease is not None
    attempt = Attempt(root, lease.partition.source, key, lease.fence, store.store_id)
    opened = attempt.open("d")
    Path(opened.path).mkdir(parents=True)
    pq.write_table(pa.table({"day": [key, key], "n": [1, 2]}), Path(opened.path) / "part-0.parquet")
    ingest.complete(lease, [attempt.finish(opened)])


def typed(url: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "airflow_coordination", "compaction", *words, "s", "--store", url]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def rows(store: PartitionStore) -> Counter[str]:
    found = [
        pq.read_table(Path(manifest.directory.removeprefix("file://")) / file.path)
        for manifest in published_manifests(store, "s", "d")
        for file in manifest.files
    ]
    return Counter(day for table in found for day in table["day"].to_pylist())


def test_small_files_are_merged_from_the_command_line(store, store_url, output_root) -> None:
    for day in DAYS:
        publish(store, output_root, day)
    before = rows(store)
    config = json.dumps(CONFIG.to_json())
    planned = typed(store_url, "plan", "--config", config, "--yes")
    assert planned.returncode == 0, planned.stderr
    merged = typed(store_url, "run", "--output-root", output_root, "--master", "local[1]")
    assert merged.returncode == 0, merged.stderr
    assert "Done: merged 1 group(s) of source s; 0 failed or were lost." in merged.stderr
    [overlay] = read_overlays(store, "s", "d").row
    assert [origin.key for origin in overlay.covers] == DAYS
    assert len(published_manifests(store, "s", "d")) == 1
    assert rows(store) == before
    [status] = json.loads(typed(store_url, "status", "-o", "json").stdout)
    assert (status["percent"], status["begin_next"]) == (100.0, 0)

    SourceCoordinator(store, "s", "ana").people.retract(DAYS[0], by="ana", why="erasure")
    again = typed(store_url, "run", "--output-root", output_root, "--master", "local[1]", "--now", DAYS[0])
    assert again.returncode == 0, again.stderr
    [overlay] = read_overlays(store, "s", "d").row
    assert [origin.key for origin in overlay.covers] == DAYS[1:]
    assert rows(store) == Counter(dict.fromkeys(DAYS[1:], 2))
