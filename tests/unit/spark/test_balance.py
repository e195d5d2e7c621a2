"""What a worker takes at a look, in virtual time."""

from datetime import timedelta

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.spark.balance import Balance
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock


class Worker:
    """Takes what its balance allows."""

    def __init__(self, store, name, clock, capacity=12):
        self.coordinator = SourceCoordinator(store, "flights", name, ownership_timeout=timedelta(minutes=1))
        self.balance = Balance(self.coordinator, capacity, clock=clock)
        self.leases = []

    def look(self):
        room = self.balance.room(len(self.leases))
        self.leases += [self.coordinator.get_next_partition() for _ in range(room)]
        return room


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def hire(clock, monkeypatch):
    monkeypatch.setattr("airflow_coordination.leases.members.Heartbeat.__enter__", lambda self: self)
    store = InMemoryStore(clock=FakeClock())  # leases do not run out while the workers' clock goes on
    store.setup()
    SourceCoordinator(store, "flights", "creates").create_partitions([f"{number:02}" for number in range(12)])
    return lambda name, **given: Worker(store, name, clock, **given)


def test_three_that_start_at_once_share_evenly(hire, clock):
    workers = [hire(name) for name in "abc"]
    assert [each.look() for each in workers] == [1, 1, 1]
    assert [each.look() for each in workers] == [0, 0, 0], "the rest comes a tick later"
    clock.advance(13)
    assert [each.look() for each in workers] == [3, 3, 3]


def test_alone_it_takes_all_that_it_can_hold(hire, clock):
    one = hire("one", capacity=8)
    assert one.look() == 1
    clock.advance(13)
    assert one.look() == 7
    clock.advance(13)
    assert one.look() == 0


def test_what_nobody_takes_is_taken_above_the_share(hire, clock):
    one, idle = hire("one"), hire("idle")
    idle.balance.room(0)  # a member that takes nothing
    assert one.look() == 1
    taken = []
    for _ in range(9):
        clock.advance(13)
        taken.append(one.look())
    assert taken[0] == 5
    assert taken[1:8] == [1, 0, 0, 1, 0, 0, 1], "one after three looks at free ones"


def test_what_is_free_for_very_long_is_taken_at_once(hire, clock):
    one, idle = hire("one"), hire("idle")
    idle.balance.room(0)
    one.look()
    clock.advance(13)
    assert one.look() == 5
    clock.advance(181)
    assert one.look() == 6, "all of them"


def test_looks_between_two_ticks_are_none_of_the_three(hire, clock):
    one, idle = hire("one"), hire("idle")
    idle.balance.room(0)
    one.look()
    clock.advance(13)
    one.look()
    assert [one.look() for _ in range(5)] == [0] * 5


def test_who_is_above_its_share_does_not_go_on_with_another(hire, clock):
    one = hire("one")
    one.look()
    clock.advance(13)
    one.look()
    assert one.balance.may_follow(12)
    late = hire("late")
    assert late.look() == 0
    clock.advance(13)
    assert one.look() == 0
    assert (one.balance.share, one.balance.may_follow(12), one.balance.may_follow(6)) == (6, False, True)


def test_who_has_left_leaves_all_to_the_others(hire, clock):
    one, two = hire("one"), hire("two")
    one.look(), two.look()
    two.balance.leave()
    assert two.balance.next_look is None
    clock.advance(13)
    assert one.look() == 10
