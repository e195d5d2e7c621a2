"""Real workers on a real store: they share evenly, and take over from one that is killed or has left."""

import subprocess
import sys
from pathlib import Path

import pytest

from airflow_coordination.leases import PartitionStatus, SourceCoordinator
from airflow_coordination.stores import open_store
from airflow_coordination.streams.fleet import look_at
from tests.integration.spark.drivers import eventually

pytestmark = pytest.mark.slow
WORKER = Path(__file__).with_name("worker.py")


class Fleet:
    """The workers of one source."""

    def __init__(self, url, signs):
        self.url, self.signs = url, signs
        store = open_store(url)
        store.setup()
        self.coordinator = SourceCoordinator(store, "flights", "watches")
        self.coordinator.create_partitions([f"{number:02}" for number in range(12)])
        self.processes = {}

    def start(self, *names):
        for name in names:
            self.processes[name] = subprocess.Popen([sys.executable, WORKER, self.url, name, self.signs])
        eventually(lambda: all((self.signs / f"{name}.ready").exists() for name in names))

    def held(self):
        return dict(look_at(self.coordinator).held)

    def settle(self, **expected):
        eventually(lambda: self.held() == expected)

    def end(self, name):
        (self.signs / f"{name}.end").touch()
        assert self.processes.pop(name).wait(60) == 0

    def kill(self, name):
        process = self.processes.pop(name)
        process.kill()
        process.wait(60)


@pytest.fixture
def fleet(tmp_path):
    made = Fleet(f"sqlite:///{tmp_path / 'c.db'}", tmp_path)
    yield made
    for name in list(made.processes):
        made.kill(name)


def test_three_workers_share_and_take_over_from_the_dead_and_from_those_that_left(fleet):
    fleet.start("a", "b", "c")
    (fleet.signs / "go").touch()
    fleet.settle(a=4, b=4, c=4)
    fleet.kill("b")
    fleet.settle(a=6, c=6)
    fleet.end("c")
    assert [member.owner for member in fleet.coordinator.members()] == ["a"], "seen at once, no lease ran out"
    fleet.settle(a=12)
    fleet.end("a")
    assert fleet.coordinator.members() == []
    assert fleet.coordinator.counts()[PartitionStatus.UNASSIGNED] == 12


def test_a_late_worker_gets_what_becomes_free(fleet):
    (fleet.signs / "go").touch()
    fleet.start("a")
    fleet.settle(a=12)
    fleet.start("late")
    fleet.settle(a=12, late=0)
    fleet.kill("a")
    fleet.settle(late=12)
