"""What is listed by status while the index is late: nothing that is not so, and nothing for ever unseen; Z3."""

from __future__ import annotations

import pytest

from airflow_coordination.leases import PartitionIdentifier, SourceCoordinator
from airflow_coordination.stores.dynamodb import DynamoDBOptions, DynamoDBStore, index_reads, requests
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.status import PartitionStatus
from tests.simulation.dynamodb.engine import Engine

OPTIONS = DynamoDBOptions(table_name="coordination", billing_mode="on_demand")
ASSIGNED, UNASSIGNED = PartitionStatus.ASSIGNED, PartitionStatus.UNASSIGNED


class World:
    """A table whose index shows a change after ``lag`` seconds."""

    def __init__(self) -> None:
        self.clock, self.lag = FakeClock(), 0.0
        self.engine = Engine(self.clock.now, lambda: self.lag)
        self.store = DynamoDBStore(OPTIONS, self.clock, lambda _: self.engine)
        self.store.setup()
        self.one = SourceCoordinator(self.store, "flights", "h/d/r/t/0/1", clock=self.clock)

    def listed(self, status: PartitionStatus) -> list[str]:
        return [each.key for each in self.one.partitions(status)]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(requests, "PARALLEL", 1)
    made = World()
    made.one.create_partitions(f"{number:02}" for number in range(20))
    return made


def test_z3_what_has_ended_is_not_shown_as_held_although_the_index_says_so(world: World) -> None:
    leases = [world.one.acquire_partition(key) for key in ("03", "01", "02")]
    assert world.listed(ASSIGNED) == ["01", "02", "03"]
    world.lag = 5.0
    assert leases[2] is not None
    world.one.complete(leases[2])
    assert world.listed(ASSIGNED) == ["01", "03"]


def test_z3_what_the_index_has_not_heard_of_is_shown_when_it_has(world: World) -> None:
    world.lag = 5.0
    assert world.one.acquire_partition("07") is not None
    assert world.listed(ASSIGNED) == []
    assert "07" not in world.listed(UNASSIGNED), "what it shows, it has read as it is"
    world.clock.advance(5)
    assert world.listed(ASSIGNED) == ["07"]


def test_z3_a_page_is_full_although_its_first_rows_are_stale(world: World) -> None:
    leases = [world.one.acquire_partition(f"{number:02}") for number in range(6)]
    world.lag = 5.0
    for lease in leases[:4]:
        assert lease is not None
        world.one.give_up(lease)
    page = world.store.page("flights|PARTITION", ASSIGNED, None, 2)
    assert [each.key for each in page] == ["04", "05"]


def test_z3_what_waits_for_a_parent_is_listed_as_what_waits(world: World) -> None:
    world.one.create_partitions([PartitionIdentifier("child", parents=("00",))])
    assert world.listed(UNASSIGNED) == [*(f"{number:02}" for number in range(20)), "child"]


def test_z3_a_status_that_many_have_is_listed_from_the_table(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_reads, "MOST_ROWS", 8)
    for number in range(0, 20, 2):
        assert world.one.acquire_partition(f"{number:02}") is not None
    store, source = world.store, "flights|PARTITION"
    first = [each.key for each in store.page(source, ASSIGNED, None, 6)]
    rest = [each.key for each in store.page(source, ASSIGNED, first[-1], 6)]
    assert first + rest == [f"{number:02}" for number in range(0, 20, 2)]
