"""The benchmark of PostgreSQL, counted only and small enough for every run of the tests; nothing is timed."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.harness.postgres import Cluster
from benchmarks.harness.systems import Spec
from benchmarks.postgresql.counts import count
from benchmarks.postgresql.cycle import record
from benchmarks.postgresql.systems import ours, raw

pytestmark = [pytest.mark.postgres, pytest.mark.slow]
CYCLES = 24
OF_A_BACKEND = 0.75
"""At least so many of its commits a backend brings to the disk itself: the log's own writer now and then is first. Who
commits without waiting for the disk leaves them all to that writer, which comes by five times a second."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as running:
        yield running


@pytest.mark.parametrize(("mode", "statements"), [("queued", 2), ("hinted", 2), ("fused", 1)])
@pytest.mark.parametrize("system", [ours, raw])
def test_a_cycle_is_as_few_statements_as_raw_sql_and_each_is_on_disk(cluster, system, mode, statements):
    """Who compares the two compares the same number of round trips and commits."""
    hints = {"hints": 100} if system is ours and mode == "hinted" else {}
    counted = count(cluster, system(mode, **hints), CYCLES)
    assert counted.statements == statements
    assert counted.syncs >= OF_A_BACKEND * statements


def test_what_was_recorded_can_be_sent_again(cluster):
    """To a copy of the same database, where each statement finds as many rows as it did."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recording"
        record(cluster, 1_000, 100, path)
        bare = Spec("bare", "benchmarks.postgresql.bare:Bare", "ours", {"recording": str(path)})
        assert count(cluster, bare, CYCLES).statements == 2
