"""Drivers that read a topic are killed at any moment: each record is published once, and the group is never ahead."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from airflow_coordination.follow_ups import FollowUpRights, follow_up_all
from airflow_coordination.leases import PartitionStatus, SourceCoordinator
from airflow_coordination.spark import read_completed
from airflow_coordination.stores import open_store
from tests.house.tree import ROOT
from tests.integration.spark.drivers import connector


@pytest.mark.parametrize(
    ("records", "kills"),
    [
        pytest.param(4_000, 1, marks=[pytest.mark.slow, pytest.mark.timeout(900)]),
        pytest.param(12_000, 3, marks=[pytest.mark.long, pytest.mark.timeout(900)]),
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
    in_a_pass = str(records // max(60, 6 * kills))
    chance, driver = random.Random(records), [sys.executable, "-m", "tests.integration.kafka.reader"]
    killed = at_work = 0
    environment = {**os.environ, **connector(), "PYTHONPATH": str(ROOT)}
    while True:
        with (tmp_path / "driver.log").open("ab") as log:
            process = subprocess.Popen(
                [*driver, url, kafka, topic, str(tmp_path / "out"), in_a_pass],
                env=environment,
                cwd=ROOT,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            _until_it_works(one, process, chance.randint(1, 4))
            process.wait(chance.uniform(0, 1) if killed < kills else 120)
        except subprocess.TimeoutExpired:
            killed += 1
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            at_work += one.counts()[PartitionStatus.ASSIGNED] > 0
        group = committed()
        found = {p.payload["partition"]: (p.progress_state or {"offset": 0})["offset"] for p in one.partitions()}
        assert all(group[number] <= found.get(number, 0) for number in group), (group, found)
        if found and sum(found.values()) == records and _at_rest(one):
            break
    assert killed >= kills, "there were too few passes to be killed in"
    assert at_work >= kills // 3, "what is killed while it starts shows nothing"
    follow_up_all(one, rights=FollowUpRights.of_a_person())
    assert committed() == found
    rows = read_completed(spark, store=store, source="topic", dataset="numbers")
    numbers = sorted(int(row.number) for row in rows.collect())
    assert numbers == list(range(records))
    assert process.returncode == 0, (tmp_path / "driver.log").read_text()[-3000:]
    store.close()


def _until_it_works(one: SourceCoordinator, process: subprocess.Popen[bytes], passes: int) -> None:
    """Wait until a driver is in one of its first passes, however long it takes to start, or has ended."""
    begun = sum(partition.token for partition in one.partitions())
    while process.poll() is None and sum(partition.token for partition in one.partitions()) < begun + passes:
        time.sleep(0.05)


def _at_rest(one: SourceCoordinator) -> bool:
    return one.counts()[PartitionStatus.CLOSED] == 3
