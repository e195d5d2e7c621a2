"""What a worker takes at a look, in virtual time."""

from datetime import timedelta

import pytest

from airflow_coordination.leases import CoordinationError, Outcome, SourceCoordinator
from airflow_coordination.spark.balance import Balance
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.settings import Balancing


class Worker:
    """Takes what its balance allows."""

    def __init__(self, store, name, clock, capacity=12, **options):
        self.coordinator = SourceCoordinator(store, "flights", name, ownership_timeout=timedelta(minutes=1))
        self.balance = Balance(self.coordinator, capacity, Balancing(**options), clock=clock)
        self.leases = []

    def look(self):
        room = self.balance.room(len(self.leases))
        self.leases += [self.coordinator.get_next_partition() for _ in range(room)]
        return room

    def renew(self):
        """Renew all leases, and return how many of them are wanted."""
        self.leases = [self.coordinator.renew(lease) for lease in self.leases]
        return sum(lease.wanted for lease in self.leases)

    def heeded(self):
        """Return how many of them are to be handed over."""
        wanted = [(lease.chain.wanted_by, lease.key) for lease in self.leases if lease.wanted]
        return sum(self.balance.heeds(*each) for each in wanted)

    def hand_over(self, number=99):
        for lease in [lease for lease in self.leases if lease.wanted][:number]:
            self.coordinator.workers.hand_over(lease)
            self.leases.remove(lease)

    def steal(self):
        while (lease := self.balance.overdue()) is not None:
            self.leases.append(lease)


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def store_clock():
    return FakeClock()


@pytest.fixture
def hire(clock, store_clock, monkeypatch):
    monkeypatch.setattr("airflow_coordination.leases.workers.Heartbeat.__enter__", lambda self: self)
    store = InMemoryStore(clock=store_clock)  # leases do not run out while the workers' clock goes on
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


@pytest.fixture
def late(hire, clock):
    """Return one worker that has everything, and one that came when nothing was left, and has asked."""
    one, two = hire("one"), hire("two", hand_over_timeout=timedelta(seconds=30))
    one.look()
    clock.advance(13)
    one.look()
    two.look()
    assert one.renew() == 0, "nobody asks at a first look"
    clock.advance(13)
    assert two.look() == 0
    return one, two


def test_who_comes_late_waits_for_its_second_look(hire, clock):
    one, two = hire("one"), hire("two")
    one.look()
    clock.advance(13)
    one.look()
    assert (two.look(), two.balance.free, two.balance.expects) == (0, 0, True)


def test_who_finds_nothing_at_all_expects_nothing(hire):
    one = hire("one")
    for key in [f"{number:02}" for number in range(12)]:
        one.coordinator.complete(one.coordinator.acquire_partition(key))
    assert (one.look(), one.balance.expects) == (0, False)


def test_who_comes_late_asks_for_four_at_a_time(late, clock):
    one, two = late
    assert (one.renew(), two.balance.expects) == (4, True)
    clock.advance(13)
    two.look()
    assert one.renew() == 6, "up to half of the difference"
    clock.advance(13)
    two.look()
    assert one.renew() == 6


def test_what_is_handed_over_is_taken_by_who_has_asked(late, clock):
    one, two = late
    one.renew()
    one.hand_over()
    assert one.look() == 0, "it has its share"
    assert two.look() == 4
    clock.advance(13)
    two.look()
    one.renew()
    one.hand_over()
    clock.advance(13)
    assert (two.look(), len(one.leases), len(two.leases)) == (2, 6, 6)
    clock.advance(13)
    assert (two.look(), two.balance.expects, one.renew()) == (0, False, 0), "nothing moves any more"


def test_what_is_not_handed_over_in_time_is_stolen(late, clock, store_clock):
    one, two = late
    clock.advance(29)
    two.steal()
    assert two.leases == []
    clock.advance(2)
    store_clock.advance(31)
    assert one.renew() == 4, "it hears of it, and does nothing"
    two.steal()
    assert len(two.leases) == 4
    assert [_ending(one, lease) for lease in one.leases].count(Outcome.STOLEN) == 4


def _ending(worker, lease):
    now = worker.coordinator.partition(lease.key).ending_of(lease.fence)
    return now and now.outcome


@pytest.fixture
def never_steals(hire, clock):
    """Return one worker that has everything, and one that has asked for four of them and takes nothing by itself."""
    one, two = hire("one"), hire("two", steal=False, hand_over_timeout=timedelta(seconds=4))
    one.look()
    clock.advance(13)
    one.look()
    two.look()
    clock.advance(13)
    two.look()
    return one, two


def pass_in_vain(clock, store_clock, one, two):
    clock.advance(5)
    store_clock.advance(5)
    one.renew()
    two.steal()


def test_who_may_not_steal_asks_for_each_tenure_three_times(never_steals, clock, store_clock):
    one, two = never_steals
    for wanted in (4, 8, 12):
        now = [one.coordinator.partition(lease.key) for lease in one.leases]
        asked = [each.key for each in now if each.wanted and each.wanted_until > store_clock.now()]
        assert len(asked) == 4
        for _ in range(2):
            pass_in_vain(clock, store_clock, one, two)
            until = [one.coordinator.partition(key).wanted_until for key in asked]
            assert until == [store_clock.now() + timedelta(seconds=4)] * 4, "the same ones, once more"
            assert (two.leases, two.balance.expects) == ([], True)
        pass_in_vain(clock, store_clock, one, two)
        assert (two.leases, two.balance.expects) == ([], False), "a worker that has nothing to do ends then"
        assert one.renew() == wanted
        clock.advance(13)
        two.look()
    assert not two.balance.expects, "all twelve were asked for in vain"


def test_who_may_not_steal_gets_what_is_handed_over_late(never_steals, clock, store_clock):
    """An owner that took longer than ``hand_over_timeout`` handed over to nobody: who had asked had ended."""
    one, two = never_steals
    pass_in_vain(clock, store_clock, one, two)
    assert two.balance.expects
    one.hand_over()
    assert two.look() == 4


def test_while_the_clocks_differ_it_waits_for_the_stores(late, clock, store_clock):
    one, two = late
    clock.advance(31)
    two.steal()
    assert (two.leases, two.balance.expects) == ([], True)
    store_clock.advance(31)
    one.renew()
    clock.advance(13)
    two.steal()
    assert len(two.leases) == 4


def test_z1_who_has_its_share_meanwhile_takes_nothing_it_had_asked_for(hire, clock, store_clock):
    """Z1: b asked d for half of the difference, then another worker ended, and b took its leases as well."""
    one, ends, late = hire("one"), hire("ends"), hire("late", hand_over_timeout=timedelta(seconds=30))
    one.look(), ends.look()
    clock.advance(13)
    one.look(), ends.look()
    late.look()
    clock.advance(13)
    late.look()
    assert one.renew() + ends.renew() == 4
    for lease in ends.leases:
        ends.coordinator.give_up(lease)
    ends.balance.leave()
    clock.advance(13)
    assert late.look() == 6
    clock.advance(31)
    store_clock.advance(31)
    late.look()
    late.steal()
    assert (len(one.leases), len(late.leases), late.balance.expects) == (6, 6, False)
    one.renew()
    assert one.heeded() == 0


def test_z1_a_look_that_fails_takes_nothing(late, clock, store_clock, monkeypatch):
    _, two = late
    clock.advance(31)
    store_clock.advance(31)
    with monkeypatch.context() as patch:
        patch.setattr(two.coordinator, "claimable", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            two.look()
    two.steal()
    assert two.leases == []
    two.look()
    two.steal()
    assert len(two.leases) == 4


def test_z2_a_mark_is_heeded_only_while_its_maker_lives_and_is_short(late, clock):
    """Z2: the asker ends; an hour later its marks still had leases handed over to nobody."""
    one, two = late
    clock.advance(13)
    one.look()
    assert (one.renew(), one.heeded()) == (4, 4)
    two.balance.leave()
    assert one.heeded() == 4, "until the next look"
    clock.advance(13)
    one.look()
    assert (one.renew(), one.heeded()) == (4, 0)


def test_z2_no_more_are_handed_over_than_who_asked_is_short_of(late, clock):
    one, two = late
    clock.advance(13)
    one.look(), two.look()
    clock.advance(13)
    one.look(), two.look()
    assert (one.renew(), one.heeded()) == (6, 6)
    one.hand_over(3)
    two.leases += [two.coordinator.get_next_partition() for _ in range(3)]
    clock.advance(13)
    one.look()
    assert (len(one.leases), one.renew(), one.heeded()) == (9, 3, 3)
    assert not one.balance.heeds("two", "another"), "as many as it is short of are being handed over"


def test_z7_how_often_it_looks_can_be_set(hire, clock):
    one = hire("one", balance_interval=timedelta(seconds=2))
    one.look()
    assert 0 < one.balance.next_look <= 3
    clock.advance(3)
    assert one.look() == 11


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"balance_interval": timedelta(0)}, "balance_interval"),
        ({"max_leases_to_steal_at_one_time": 0}, "max_leases_to_steal_at_one_time"),
        ({"max_leases_to_steal_at_one_time": True}, "max_leases_to_steal_at_one_time"),
        ({"hand_over_timeout": timedelta(0)}, "hand_over_timeout"),
        ({"steal": "no"}, "steal"),
    ],
)
def test_options_that_make_no_sense(options, named):
    with pytest.raises(CoordinationError, match=named):
        Balancing(**options)
