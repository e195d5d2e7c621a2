"""Real workers on a real store: they share evenly, take over from the dead, and get leases of each other."""

import pytest

from airflow_coordination.leases import PartitionStatus
from tests.integration.balance.fleet import Fleet

pytestmark = pytest.mark.slow


@pytest.fixture
def fleet(tmp_path):
    made = Fleet(f"sqlite:///{tmp_path / 'c.db'}", tmp_path)
    made.go()
    yield made
    made.close()


def test_three_workers_share_and_take_over_from_the_dead_and_from_those_that_left(fleet):
    (fleet.signs / "go").unlink()
    fleet.start("a", "b", "c")
    fleet.go()
    fleet.settle(a=4, b=4, c=4)
    fleet.kill("b")
    fleet.settle(a=6, c=6)
    fleet.end("c")
    assert [member.owner for member in fleet.coordinator.workers.members()] == ["a"], "seen at once, no lease ran out"
    fleet.settle(a=12)
    fleet.end("a")
    assert fleet.coordinator.workers.members() == []
    assert fleet.coordinator.counts()[PartitionStatus.UNASSIGNED] == 12


def test_l10_a_late_worker_is_handed_its_share(fleet):
    fleet.start("a")
    fleet.settle(a=12)
    fleet.start("late")
    fleet.settle(a=6, late=6)
    assert fleet.outcomes() == ["handed over"] * 6, "no move more than it takes"
    fleet.start("later")
    fleet.settle(a=4, late=4, later=4)
    assert fleet.outcomes() == ["handed over"] * 10


def test_l11_from_who_does_not_hear_it_takes_them(fleet):
    fleet.be_deaf("a")
    fleet.start("a")
    fleet.settle(a=12)
    fleet.start("late")
    fleet.settle(a=6, late=6)
    assert fleet.outcomes() == ["stolen"] * 6
    assert {partition.lost_leases for partition in fleet.coordinator.partitions()} == {0}
