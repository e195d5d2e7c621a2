"""A driver that is killed while it writes to S3: what it leaves is finished by nobody, and collected."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_coordination.outputs import collect
from airflow_coordination.spark import Complete, drain, read_completed
from tests.integration.spark.drivers import Task, connector

SECRET = "a-key-for-nobodys-eyes"


def arguments_below(leader: int) -> str:
    """Return the arguments of all processes that a driver and its JVM consist of."""
    found = [path for path in Path("/proc").glob("[0-9]*") if belongs(path, leader)]
    assert len(found) > 1
    return " ".join((path / "cmdline").read_text() for path in found)


def belongs(process: Path, leader: int) -> bool:
    with suppress(OSError, ProcessLookupError):
        return os.getpgid(int(process.name)) == leader
    return False


def test_what_a_killed_writer_leaves_is_collected_and_nothing_else(
    spark, task: Task, keys, uploads, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in connector().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    coordinator = task.coordinator()
    coordinator.create_partitions(["p"])
    driver = task.start("half_written.py", coordinator.get_next_partition())
    driver.reached("half written")
    assert SECRET not in driver.text() + arguments_below(driver.process.pid)
    driver.send(signal.SIGKILL)
    driver.wait()
    assert len(uploads()) == 1  # one file is whole, but only the end of the job would have shown it
    pending = [key for key in keys() if "/__magic" in key]
    assert any(key.endswith(".pendingset") for key in pending)

    def main(spark, lease):
        assert lease.progress_state == {"parts": 1}
        with lease.publish("rows") as block:
            spark.range(10, 12).write.parquet(block.path)
        return Complete()

    coordinator.people.release("p", by="a test", why="its driver is dead")
    assert drain(main, store=task.store, source="flights", spark=spark, output_root=task.output_root).completed == 1
    collected = collect(task.store, "flights", task.output_root, older_than=timedelta(0), dry_run=False)
    assert (collected.blocks, collected.uploads, collected.unknown) == (1, 1, ())
    assert (uploads(), [key for key in keys() if "/__magic" in key]) == ([], [])
    frame = read_completed(spark, store=task.store, source="flights", dataset="rows")
    assert sorted(row.id for row in frame.collect()) == list(range(12))
