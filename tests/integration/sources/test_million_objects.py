"""A supplier that lists a million objects (in CI a tenth) keeps its memory and its state small."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.leases import Checkpoint
from airflow_coordination.sources import StoredObject, object_listing
from airflow_coordination.testing.clock import START
from airflow_coordination.values.documents import MAX_PROGRESS_BYTES, encode_progress
from tests.share import SHARE

ROOT = Path(__file__).resolve().parents[3]


class Million:
    """A listing that is computed as it is read; one object in fifty is wanted."""

    bucket, prefix, count = "bucket", "", round(1_000_000 * SHARE)

    def address(self, key: str) -> str:
        return f"s3a://bucket/{key}"

    def now(self) -> Any:
        return START

    def objects(self, prefix: str, start_after: str) -> Iterator[StoredObject]:
        return (StoredObject(f"{n:09}.{'csv' if n % 50 else 'json'}", 1000, START) for n in range(self.count))


def scanned(listing: Million, **grouping: int) -> tuple[int, int]:
    """Scan the listing once; return how many objects its partitions have, and the largest state in bytes."""
    objects = largest = 0
    for item in object_listing(listing, scan="once", exclude_suffix=".csv", **grouping)({}):  # type: ignore[arg-type]
        if isinstance(item, Checkpoint):
            largest = max(largest, len(encode_progress(item.state) or ""))
        else:
            objects += len((item.payload or {}).get("names", [1]))
    return objects, largest


MEASURE = """
import json, resource
from tests.integration.sources.test_million_objects import Million, scanned
small = Million()
small.count = 20_000
for each in (small, Million()):
    alone, groups = scanned(each), scanned(each, max_objects=1000)
    print(json.dumps([*alone, *groups, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))
"""


@pytest.mark.slow
def test_a_million_objects_in_bounded_memory_and_state() -> None:
    """By the process's own peak: tracing each allocation takes two minutes."""
    run = subprocess.run([sys.executable, "-c", MEASURE], cwd=ROOT, capture_output=True, check=True, text=True)
    small, large = map(json.loads, run.stdout.splitlines())
    assert (small[0], small[2], large[0], large[2]) == (400, 400, Million.count // 50, Million.count // 50)
    assert max(large[1], large[3]) < MAX_PROGRESS_BYTES
    assert large[4] - small[4] < 8_000, "KiB more for fifty times the objects"
