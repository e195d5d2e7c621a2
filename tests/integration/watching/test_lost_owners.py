"""Owners that are lost for a while, and for good: real processes, stopped and killed (issue 31, done-when 5)."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_coordination.duties.watching.losses import LOSSES, watch_losses
from airflow_coordination.leases import Partition, PartitionStatus, Settings, SourceCoordinator
from airflow_coordination.stores import open_store
from tests.integration.spark.drivers import eventually

OWNER = Path(__file__).with_name("owner.py")
TIMEOUT, GRACE, HOLD = 8, 40, 12
SETTINGS = Settings(ownership_timeout=timedelta(seconds=TIMEOUT), reassign_grace=timedelta(seconds=GRACE))
STOPPED, KILLED, WELL = (0, 1), (2, 3, 4), (5, 6, 7)

pytestmark = pytest.mark.slow


class Owners:
    """Eight processes, each with a lease of one source in which four partitions more are free."""

    def __init__(self, url: str, signs: Path) -> None:
        self.url, self.signs = url, signs
        self.store = open_store(url)
        self.store.setup()
        self.watch = self.joined("watch")
        self.watch.create_partitions([f"{number:02}" for number in range(12)])
        arguments = [url, "{}", str(TIMEOUT), str(GRACE), str(signs)]
        self.processes = [
            subprocess.Popen([sys.executable, OWNER, *(each.format(self.name(number)) for each in arguments)])
            for number in range(8)
        ]

    @staticmethod
    def name(number: int, tries: int = 1) -> str:
        """Return who a task's try is."""
        return f"node/dag/run/task/{number}/{tries}"

    def joined(self, name: str) -> SourceCoordinator:
        return SourceCoordinator(self.store, "flights", name, settings=SETTINGS)

    def held(self) -> dict[int, Partition]:
        """Return what each task holds."""
        found = self.watch.partitions(PartitionStatus.ASSIGNED)
        return {int((each.owner or "").split("/")[4]): each for each in found if (each.owner or "").count("/") == 5}

    def late(self) -> set[int]:
        now = self.store.now()
        return {number for number, each in self.held().items() if each.is_late(SETTINGS.reassign_grace, now)}

    def send(self, said: signal.Signals, *numbers: int) -> None:
        for number in numbers:
            self.processes[number].send_signal(said)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def owners(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Owners]:
    on_postgresql = request.param == "postgresql"
    url = request.getfixturevalue("postgres_store_url") if on_postgresql else f"sqlite:///{tmp_path}/c.db"
    owners = Owners(url, tmp_path)
    yield owners
    for process in owners.processes:
        process.kill()
        process.wait()
    owners.store.close()


@pytest.mark.long
def test_five_of_eight_are_lost_and_those_that_come_back_keep_their_leases(owners: Owners) -> None:
    eventually(lambda: len(owners.held()) == 8)
    before = owners.held()
    owners.send(signal.SIGSTOP, *STOPPED)
    owners.send(signal.SIGKILL, *KILLED)

    found = []

    def held_back() -> bool:
        found.append(watch_losses(owners.watch, 50, timedelta(seconds=HOLD)))
        return found[-1].done == "held back"

    eventually(held_back, 120)
    assert found[-1].leases == 8
    assert found[-1].lost >= 5, "a busy machine may make others late, too"
    pause = owners.watch.pausing.current_pause()
    assert (pause.paused, pause.by) == (True, LOSSES)
    other = owners.joined("node/dag/run/task/9/1")
    assert other.get_next_partition() is None, "four partitions are free, and it is held back"

    owners.send(signal.SIGCONT, *STOPPED)
    eventually(lambda: owners.late() == set(KILLED), 60)
    again = owners.joined(Owners.name(KILLED[0], tries=2))
    [seen] = again.tries.held_by_task()
    taken = again.tries.retake(seen.key)
    assert taken is not None, "the next try of a lost task takes over at once, in grace and under a pause"
    assert watch_losses(owners.watch, 50, timedelta(seconds=HOLD), waits_for=found[-1].waits_for).done == ""

    free = []
    eventually(lambda: free.append(other.get_next_partition()) or free[-1] is not None, 60)
    assert owners.watch.pausing.current_pause().over, "nobody has resumed it"
    key = before[KILLED[1]].key
    assert other.acquire_partition(key) is None, "a lost lease is in grace: others wait"
    late = []
    eventually(lambda: late.append(other.acquire_partition(key)) or late[-1] is not None, 2 * GRACE)
    ended = other.history(key)[-1]
    assert ended.ended_at is not None
    assert ended.ended_at >= before[KILLED[1]].ownership_timeout

    again.complete(taken)
    (owners.signs / "go").touch()
    assert [owners.processes[number].wait(60) for number in (*STOPPED, *WELL)] == [0] * 5
    for number in (*STOPPED, *WELL):
        done = owners.watch.partition(before[number].key)
        assert (done.status, done.token) == (PartitionStatus.COMPLETED, before[number].token)
