"""Drivers that read a topic are killed at any moment: each record is published once, and the group is never ahead."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from airflow_coordination.follow_ups import follow_up_all
from airflow_coordination.leases import PartitionStatus, SourceCoordinator
from airflow_coordination.spark import read_completed
from airflow_coordination.stores import open_store
from tests.house.tree import ROOT
from tests.integration.spark.drivers import connector


@pytest.mark.parametrize(
    ("records", "kills"),
    [
        pytest.param(12_000, 3, marks=[pytest.mark.slow, pytest.mark.timeout(900)]),
        pytest.param(100_000, 20, marks=[pytest.mark.long, pytest.mark.timeout(5_000)]),
    ],
)
def test_s12_s27_killed_at_any_moment_each_record_is_published_once(
    kafka, topic, send, spark, committed, tmp_path: Path, records: int, kills: int
) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    store = open_store(url)
    store.setup()
    one = SourceCoordinator(store, "topic", "a person")
    send(range(records))
    passes = str(records // 60)
    chance, killed, driver = random.Random(records), 0, [sys.executable, "-m", "tests.integration.kafka.reader"]
    environment = {**os.environ, **connector(), "PYTHONPATH": str(ROOT)}
    while True:
        with (tmp_path / "driver.log").open("ab") as log:
            process = subprocess.Popen(
                [*driver, url, kafka, topic, str(tmp_path / "out"), passes],
                env=environment,
                cwd=ROOT,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            process.wait(chance.uniform(4, 12) if killed < kills else 120)
        except subprocess.TimeoutExpired:
            killed += 1
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        group = committed()
        found = {p.payload["partition"]: (p.progress_state or {"offset": 0})["offset"] for p in one.partitions()}
        assert all(group[number] <= found.get(number, 0) for number in group), (group, found)
        if killed >= kills and found and sum(found.values()) == records and _at_rest(one):
            break
    follow_up_all(one)
    assert committed() == found
    rows = read_completed(spark, store=store, source="topic", dataset="numbers")
    numbers = sorted(int(row.number) for row in rows.collect())
    assert numbers == list(range(records))
    assert process.returncode == 0, (tmp_path / "driver.log").read_text()[-3000:]
    store.close()


def _at_rest(one: SourceCoordinator) -> bool:
    return one.counts()[PartitionStatus.CLOSED] == 3
