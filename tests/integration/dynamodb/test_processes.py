"""Processes on DynamoDB Local under the service's own clock, some killed and some stopped past their leases."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.leases import PartitionStatus
from tests.integration.dynamodb.engine import Engine
from tests.integration.dynamodb.table import SharedTable, published
from tests.integration.dynamodb.workers import KILL, LEASE, STEPS, STOP, coordinator, drain

pytestmark = [pytest.mark.slow, pytest.mark.timed]

PARTITIONS = [f"k{number:03}" for number in range(200)]
HARMS = [KILL, KILL, STOP, None, None, None, None, None]


def until(condition: Callable[[], Any], seconds: float = 60) -> Any:
    """Return what ``condition`` returns as soon as that is something."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(0.05)
    return found


class Workers:
    """The processes and what they say.

    :param url: of the store.
    :param log: one file for all; short lines are written whole.
    """

    def __init__(self, url: str, log: Path) -> None:
        self.url, self.log = url, log
        log.touch()
        spawning = multiprocessing.get_context("forkserver")
        spawning.set_forkserver_preload(["tests.integration.dynamodb.workers"])
        self.processes: list[BaseProcess] = [
            spawning.Process(target=drain, args=(url, number, log, harm)) for number, harm in enumerate(HARMS)
        ]

    def said(self, event: str) -> list[dict[str, Any]]:
        """Return the lines of one kind so far."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [line for line in lines if line["event"] == event]

    def stopped(self, number: int) -> bool:
        """Return whether a process is stopped by a signal."""
        return Path(f"/proc/{self.processes[number].pid}/stat").read_text().rpartition(") ")[2].startswith("T")


@pytest.fixture
def workers(local: Engine, table: str, tmp_path: Path) -> Iterator[Workers]:
    shared = SharedTable(local, table, clock=None)
    shared.coordinator().create_partitions(PARTITIONS)
    running = Workers(shared.store().options.url, tmp_path / "log")
    yield running
    for process in running.processes:
        if process.is_alive():
            process.kill()
        process.join()


def test_s5_eight_processes_drain_a_source_each_partition_once(workers: Workers) -> None:
    judge = coordinator(workers.url, 99)
    for process in workers.processes:
        process.start()
    until(lambda: workers.said("harmed") and workers.stopped(HARMS.index(STOP)))
    [sleeping] = [line for line in workers.said("harmed") if line["worker"] == HARMS.index(STOP)]
    until(lambda: judge.partition(sleeping["key"]).token > sleeping["token"])  # type: ignore[union-attr]
    os.kill(workers.processes[HARMS.index(STOP)].pid or 0, signal.SIGCONT)
    for process in workers.processes:
        process.join(60)
    assert [process.exitcode for process in workers.processes] == [-KILL if harm == KILL else 0 for harm in HARMS]
    check_each_once(workers)
    check_resumed(workers, sleeping)
    assert len(judge.partitions(PartitionStatus.COMPLETED)) == len(PARTITIONS)  # counts are best effort here
    assert published(judge) == {key: [f"{key}-{step}" for step in range(STEPS)] for key in PARTITIONS}


def check_each_once(workers: Workers) -> None:
    """Each partition was completed by one process, and by the last one that began it."""
    completed = workers.said("completed")
    assert sorted(line["key"] for line in completed) == PARTITIONS
    newest = {key: max(b["token"] for b in workers.said("begun") if b["key"] == key) for key in PARTITIONS}
    assert {line["key"]: line["token"] for line in completed} == newest


def check_resumed(workers: Workers, sleeping: dict[str, Any]) -> None:
    """What the killed and the stopped had begun went on behind their last save, and the stopped one learnt it."""
    for harmed in workers.said("harmed"):
        later = [b for b in workers.said("begun") if b["key"] == harmed["key"] and b["token"] > harmed["token"]]
        assert later[0]["at"] == harmed["at"]
    lost = [(line["key"], line["token"]) for line in workers.said("lost")]
    assert (sleeping["key"], sleeping["token"]) in lost


SHIFTED = """
    import sys, time, datetime
    real, shift = time.time, float(sys.argv[2])
    time.time = lambda: real() + shift
    class Shifted(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return super().now(tz) + datetime.timedelta(seconds=shift)
        @classmethod
        def utcnow(cls):
            return super().utcnow() + datetime.timedelta(seconds=shift)
    Shifted.min, Shifted.max = Shifted(1, 1, 1), Shifted(9999, 12, 31, 23, 59, 59, 999999)
    datetime.datetime = Shifted
    from tests.integration.dynamodb.workers import coordinator
    one = coordinator(sys.argv[1], 1)
    assert abs((one._core.clock.now() - one.store.now()).total_seconds()) > 80_000
    assert one.get_next_partition() is None, "it took a lease that lasts, or one that is not due"
    assert one.sweep().total == 0
    print("asked", flush=True)
    sys.stdin.readline()
    lease = one.get_next_partition()
    print(lease.key, (lease.expires_at - one.store.now()).total_seconds(), flush=True)
    one.complete(lease)
"""


@pytest.mark.parametrize("hours", [-24, 24])
def test_s8_a_clock_that_is_a_day_off_does_not_matter(local: Engine, table: str, hours: int) -> None:
    shared = SharedTable(local, table, clock=None)
    owner = coordinator(shared.store().options.url, 0)
    owner.create_partitions(["delayed", "held"])
    owner.fail(owner.acquire_partition("delayed"), "later", retry_after=timedelta(hours=1))  # type: ignore[arg-type]
    held = owner.acquire_partition("held")
    assert held is not None
    command = [sys.executable, "-c", textwrap.dedent(SHIFTED), shared.store().options.url]
    worker = subprocess.Popen(
        [*command, str(hours * 3600)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path.cwd()
    )
    assert worker.stdin is not None
    assert worker.stdout is not None
    try:
        with owner.heartbeat(held):
            assert worker.stdout.readline() == "asked\n"
        owner.complete(held)
        owner.create_partitions(["new"])
        worker.stdin.write("go on\n")
        worker.stdin.flush()
        key, lasts = worker.stdout.readline().split()
        assert key == "new"
        assert LEASE.total_seconds() - 2 <= float(lasts) <= LEASE.total_seconds()
        assert worker.wait(20) == 0
    finally:
        worker.kill()
        worker.wait()
