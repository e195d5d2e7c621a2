"""A task of real Airflow that works on three partitions at a time in one real Spark application."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from airflow_coordination.leases import Outcome, SourceCoordinator
from airflow_coordination.stores import open_store
from tests.integration.airflow.one_try import first_try, next_try
from tests.integration.spark.drivers import JOBS, ROOT, eventually

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(400)]

KEYS = ("a", "b", "c")


@pytest.fixture
def signs(tmp_path: Path, monkeypatch) -> Path:
    folder = tmp_path / "signs"
    folder.mkdir()
    monkeypatch.setenv("SIGNS", str(folder))
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{JOBS}")  # executors load what the job imports
    said = {"conn_type": "spark", "host": "local[4]", "extra": {"deploy-mode": "client"}}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_POOL", json.dumps(said))
    return folder


def three_at_a_time(tmp_path):
    """Return the arguments of a task that works under three leases at a time, until nothing is left."""
    return {
        "source": "flights",
        "application": str(JOBS / "pool.py"),
        "conn_id": "spark_pool",
        "conf": {"spark.ui.enabled": "false"},
        "output_root": str(tmp_path / "out"),
        "max_leases": None,
        "concurrent_leases": 3,
    }


def test_a_retry_of_a_killed_task_goes_on_with_all_that_it_held(tmp_path, store_url, signs):
    store = open_store(store_url)
    coordinator = SourceCoordinator(store, "flights", "test")
    coordinator.create_partitions(KEYS)
    arguments = three_at_a_time(tmp_path) | {"hint": "b"}
    at_work = [f"{key} running 1" for key in KEYS]
    for name in at_work:
        (signs / f"{name}.hold").touch()
    log = tmp_path / "first.log"
    command = [sys.executable, "-m", "tests.integration.airflow.one_try", json.dumps(arguments)]
    with log.open("w") as stream:
        first = subprocess.Popen(command, stdout=stream, stderr=stream, cwd=ROOT)
    try:
        eventually(lambda: all((signs / name).exists() for name in at_work) or first.poll() is not None)
        assert first.poll() is None, log.read_text()
    finally:
        _kill_all_of(first)
    assert [coordinator.partition(key).status for key in KEYS] == ["ASSIGNED"] * 3
    for name in at_work:
        (signs / f"{name}.hold").unlink()
    assert next_try(arguments)
    for key in KEYS:
        partition = coordinator.partition(key)
        assert [each.outcome for each in partition.endings] == [Outcome.RETAKEN, Outcome.COMPLETED]
        assert (signs / f"{key} started at 1").exists()
    store.close()


def _kill_all_of(process: subprocess.Popen) -> None:
    """Kill a task with its driver, so that none of them can say goodbye."""
    root = psutil.Process(process.pid)
    root.suspend()
    for each in [*root.children(recursive=True), root]:
        each.kill()
    process.wait()


def test_l11_a_task_that_finds_nothing_free_asks_and_goes_on_with_what_it_is_handed(tmp_path, store_url, signs):
    """Another worker holds everything; what it is asked for it hands over."""
    store = open_store(store_url)
    other = SourceCoordinator(store, "flights", "other")
    other.create_partitions(KEYS)
    held = [other.acquire_partition(key) for key in KEYS]
    member, over = other.workers.join(3), threading.Event()

    def hand_over_what_is_wanted():
        while not over.wait(0.2):
            for lease in list(held):
                if other.renew(lease).wanted:
                    other.workers.hand_over(lease)
                    held.remove(lease)

    hands = threading.Thread(target=hand_over_what_is_wanted)
    hands.start()
    try:
        first_try(three_at_a_time(tmp_path) | {"balance": True})
    finally:
        over.set()
        hands.join()
        member.leave()
    done = [each for each in other.partitions() if each.status == "COMPLETED"]
    assert done, "it got its share"
    for partition in done:
        assert [each.outcome for each in partition.endings] == [Outcome.HANDED_OVER, Outcome.COMPLETED]
    assert len(done) + len(held) == 3
    store.close()
