"""Many owners lost at once: the source is held back, and those that come back keep their leases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial

import pytest

from airflow_coordination.duties.configuring import set_config
from airflow_coordination.duties.groups.registry import configured, named, resolved
from airflow_coordination.duties.groups.round import Cluster, Round
from airflow_coordination.duties.groups.running import GroupRunner
from airflow_coordination.duties.watching.losses import LOSSES, Watched, WatchLosses, watch_losses
from airflow_coordination.leases import Lease, Settings, SourceCoordinator
from airflow_coordination.planning.duties.configuration import DynamicConfig
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import FaultyStore
from tests.faults.sleeping import Sleeping

MINUTE = timedelta(minutes=1)
HOLD = 2 * MINUTE
MOST_STATEMENTS = 10


class Fleet:
    """Eight workers of one source, with a lease each, and who watches them.

    :param grace: that they have.
    """

    def __init__(self, store: PartitionStore, clock: FakeClock, grace: timedelta) -> None:
        self.store, self.clock = FaultyStore(store), clock
        self._settings = Settings(ownership_timeout=10 * MINUTE, reassign_grace=grace)
        self.c = self.joined("watch")
        self.c.create_partitions([f"{number}" for number in range(12)])
        self.leases: dict[str, Lease] = {}
        for number in range(8):
            lease = self.joined(f"w{number}").get_next_partition()
            assert lease is not None
            self.leases[f"w{number}"] = lease
        self.waits_for: dict[str, int] = {}

    def joined(self, name: str) -> SourceCoordinator:
        return SourceCoordinator(self.store, "flights", name, settings=self._settings, clock=self.clock)

    def renew(self, *numbers: int) -> None:
        for number in numbers:
            name = f"w{number}"
            self.leases[name] = self.joined(name).renew(self.leases[name])

    def watch(self, percent: float = 50, **more: bool) -> Watched:
        found = watch_losses(self.c, percent, HOLD, waits_for=self.waits_for, **more)
        self.waits_for = dict(found.waits_for)
        return found

    def loses(self, *numbers: int) -> None:
        """Let all but these renew when all would be late."""
        self.clock.advance(10 * MINUTE)
        self.renew(*(number for number in range(8) if number not in numbers))


Begin = Callable[..., Fleet]


@pytest.fixture(params=["memory", "sqlite"])
def begin(request: pytest.FixtureRequest, tmp_path: object) -> Iterator[Begin]:
    clock = FakeClock()
    store = open_store({"memory": "memory://", "sqlite": f"sqlite:///{tmp_path}/c.db"}[request.param], clock=clock)
    store.setup()
    yield lambda grace=10 * MINUTE: Fleet(store, clock, grace)
    store.close()


@pytest.mark.parametrize("grace", [10 * MINUTE, timedelta(0)])
def test_five_of_eight_lost_hold_the_source_back_for_a_time(begin: Begin, grace: timedelta) -> None:
    fleet = begin(grace)
    assert fleet.watch() == Watched("flights", 8, 0)
    fleet.loses(0, 1, 2, 3, 4)
    found = fleet.watch()
    assert (found.leases, found.lost, found.done) == (8, 5, "held back")
    pause = fleet.c.pausing.current_pause()
    assert (pause.by, pause.until) == (LOSSES, fleet.clock.now() + HOLD)
    why = "5 of 8 leases are late or expired, more than 50 %: their owners have time to come back"
    assert (found.said, pause.why) == (why, why)
    assert fleet.joined("other").get_next_partition() is None
    fleet.renew(0, 1, 5)
    assert fleet.watch().done == ""
    fleet.clock.advance(HOLD)
    assert fleet.joined("other").get_next_partition() is not None, "nobody had to resume it"
    for number in (0, 1, 5):
        fleet.joined(f"w{number}").complete(fleet.leases[f"w{number}"])


def test_half_is_not_more_than_half(begin: Begin) -> None:
    fleet = begin()
    fleet.loses(0, 1, 2, 3)
    assert fleet.watch() == Watched("flights", 8, 4)
    assert fleet.watch(percent=49).done == "held back"


def every_stop(look: Callable[[Fleet, PartitionStore], object], meanwhile: Callable[[Fleet], object]) -> list[bool]:
    """Stop who looks at a lossy source before each of its calls; return whether it was held back by each of them."""
    held_back: list[bool] = []
    while True:
        clock = FakeClock()
        fleet = Fleet(open_store("memory://", clock=clock), clock, 10 * MINUTE)
        fleet.loses(0, 1, 2, 3, 4)
        sleeping = Sleeping(fleet.store, len(held_back) + 1, partial(meanwhile, fleet))
        look(fleet, sleeping)
        if len(sleeping.calls) <= len(held_back):
            return held_back
        held_back.append(fleet.c.pausing.current_pause().paused)


def test_owners_that_came_back_while_who_looks_was_stopped_hold_nothing_back() -> None:
    """S25: but for the write that it was about to send."""

    def look(fleet: Fleet, store: PartitionStore) -> None:
        watch_losses(SourceCoordinator(store, "flights", "w", settings=fleet.c.settings, clock=fleet.clock), 50, HOLD)

    *before, last = every_stop(look, lambda fleet: fleet.renew(0, 1, 2, 3, 4))
    assert len(before) > 3
    assert not any(before)
    assert last, "what is looked at and what is written are two calls"


@pytest.mark.parametrize("said", [{"massLossPercent": 100}, {"pauseCoordination": True}], ids=["percent", "pause"])
def test_what_was_configured_otherwise_while_who_looks_was_stopped_counts(said) -> None:
    """S25: but for the write that it was about to send, and its second look at the leases."""

    def look(fleet: Fleet, store: PartitionStore) -> None:
        Rounds(fleet, 10 * MINUTE, store).run()

    held_back = every_stop(look, lambda fleet: set_config(fleet.c, said, "ana", "calm"))
    assert held_back == sorted(held_back)
    assert (held_back.count(False) > 3, held_back.count(True)) == (True, 3)


def test_three_leases_are_too_few_to_judge(begin: Begin) -> None:
    fleet = begin()
    for number in range(5):
        fleet.joined(f"w{number}").give_up(fleet.leases[f"w{number}"])
    fleet.clock.advance(10 * MINUTE)
    assert fleet.watch() == Watched("flights", 3, 3)


def test_when_all_are_back_it_goes_on_before_the_end(begin: Begin) -> None:
    fleet = begin()
    fleet.loses(0, 1, 2, 3, 4)
    fleet.watch()
    fleet.renew(0, 1, 2, 3)
    found = fleet.watch()
    assert (found.done, found.lost) == ("", 1)
    fleet.renew(4)
    found = fleet.watch()
    assert (found.done, found.said) == ("let go on", "all 5 leases are renewed again")
    assert not fleet.c.pausing.current_pause().paused
    said = [(each["action"], each["by"]) for each in fleet.c.pausing.pauses()]
    assert said == [("pause", LOSSES), ("resume", LOSSES)]
    assert fleet.watch() == Watched("flights", 8, 0)


def test_who_took_a_lease_over_is_not_who_comes_back(begin: Begin) -> None:
    """The lease that was lost is over: its owner never comes back to it."""
    fleet = begin()
    fleet.loses(0, 1, 2, 3, 4)
    fleet.watch()
    fleet.renew(0, 1, 2, 3)
    person = fleet.joined("person").people
    person.release("4", "ana", "its host is gone")
    assert fleet.watch().done == ""
    assert fleet.c.pausing.current_pause().paused


def test_the_same_dead_leases_hold_it_back_once(begin: Begin) -> None:
    fleet = begin(60 * MINUTE)
    fleet.loses(0, 1, 2, 3, 4)
    assert fleet.watch().done == "held back"
    for _ in range(10):
        fleet.clock.advance(HOLD)
        fleet.renew(5, 6, 7)
        assert fleet.watch() == Watched("flights", 3, 0)
    for number in range(8, 12):
        lease = fleet.joined(f"w{number}").get_next_partition()
        assert lease is not None
        fleet.leases[f"w{number}"] = lease
    fleet.clock.advance(10 * MINUTE)
    fleet.renew(8)
    found = fleet.watch()
    assert (found.leases, found.lost, found.done) == (7, 6, "held back"), "others are lost, which were there before"


def test_what_was_reclaimed_counts_no_more(begin: Begin) -> None:
    fleet = begin(timedelta(0))
    fleet.loses(0, 1, 2, 3, 4)
    fleet.c.sweep()
    assert fleet.watch() == Watched("flights", 3, 0)


def test_a_pause_of_a_person_is_left_alone(begin: Begin) -> None:
    fleet = begin()
    fleet.loses(0, 1, 2, 3, 4)
    seen = fleet.c.pausing.pause("ana", "the zone is gone", lasts=HOLD)
    assert fleet.watch() == Watched("flights")
    assert fleet.c.pausing.current_pause() == seen
    fleet.clock.advance(HOLD)
    assert fleet.watch() == Watched("flights", 3, 0), "ana knew of those"


def test_a_hold_that_a_person_takes_over_is_theirs(begin: Begin) -> None:
    fleet = begin()
    fleet.loses(0, 1, 2, 3, 4)
    fleet.watch()
    fleet.c.pausing.pause("ana", "it is worse")
    fleet.renew(0, 1, 2, 3, 4)
    assert fleet.watch() == Watched("flights")
    assert fleet.c.pausing.current_pause().unending


def test_a_pause_without_an_end_is_nobody_s_hold_whatever_its_author_is_called(begin: Begin) -> None:
    fleet = begin()
    fleet.loses(0, 1, 2, 3, 4)
    fleet.watch()
    fleet.c.pausing.pause(LOSSES, "said by a person of that name")
    fleet.renew(0, 1, 2, 3, 4)
    assert fleet.watch() == Watched("flights")
    assert fleet.c.pausing.current_pause().unending


def test_of_a_person_and_the_watch_at_once_the_faster_counts(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = begin()
    fleet.loses(0, 1, 2, 3, 4)
    pausing = fleet.c.pausing
    pause = pausing.pause

    def slower(*args: object, **more: object) -> object:
        fleet.joined("ana").pausing.pause("ana", "faster")
        return pause(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(pausing, "pause", slower)
    found = fleet.watch()
    assert found.done == ""
    assert "it was meanwhile paused at" in found.said
    assert pausing.current_pause().by == "ana"


def test_a_dry_run_changes_nothing(begin: Begin) -> None:
    fleet = begin()
    fleet.loses(0, 1, 2, 3, 4)
    assert fleet.watch(dry_run=True).done == "held back"
    assert not fleet.c.pausing.current_pause().paused
    fleet.waits_for = {}
    fleet.watch()
    fleet.renew(0, 1, 2, 3, 4)
    assert fleet.watch(dry_run=True).done == "let go on"
    assert fleet.c.pausing.current_pause().paused


def test_who_watches_without_the_grace_sees_what_has_expired(begin: Begin) -> None:
    fleet = begin()
    fleet.loses(0, 1, 2, 3, 4)
    blind = SourceCoordinator(fleet.store, "flights", "watch", clock=fleet.clock)
    assert watch_losses(blind, 50, HOLD) == Watched("flights", 8, 0)
    fleet.clock.advance(10 * MINUTE)
    assert watch_losses(blind, 50, HOLD).done == "held back"


def test_it_asks_a_few_times_however_many_partitions_there_are(begin: Begin) -> None:
    """Done-when 8."""
    fleet = begin()
    fleet.c.create_partitions([f"more-{number}" for number in range(5_000)])
    fleet.loses(0, 1, 2, 3)
    fleet.store.calls.clear()
    fleet.watch()
    assert len(fleet.store.calls) <= MOST_STATEMENTS
    assert fleet.store.calls == ["pause", "page", "now"]


class Rounds:
    """Runs the duty again and again, as its group does."""

    def __init__(self, fleet: Fleet, grace: timedelta, store: PartitionStore | None = None) -> None:
        self._fleet, self._grace, self.left = fleet, grace, None
        self._store = store or fleet.store
        fleet.c.supplying.register_dag("a_dag")

    def run(self) -> object:
        now = self._fleet.clock.now()
        cluster = Cluster(
            store=self._store, owner="leader", now=now, led_since=now, period=MINUTE, config=DynamicConfig(),
            grace=self._grace,
        )  # fmt: skip
        ran = WatchLosses().run(Round(cluster=cluster, by=LOSSES, remembered=self.left))
        self.left = ran.left
        return ran


def test_its_duty_says_what_it_has_done_and_remembers_what_it_waits_for(begin: Begin) -> None:
    fleet = begin()
    rounds = Rounds(fleet, 10 * MINUTE)
    idle = rounds.run()
    assert (idle.said, idle.idle, idle.left) == ("0 of 8 lease(s) are late or expired", True, {})
    assert idle.counts == {"lease/lost/count": 0, "source/heldBack/count": 0}
    fleet.loses(0, 1, 2, 3, 4)
    ran = rounds.run()
    assert ran.said.startswith("flights held back: 5 of 8 leases are late or expired")
    assert (ran.idle, ran.counts, len(ran.warnings)) == (False, {"lease/lost/count": 5, "source/heldBack/count": 1}, 1)
    fleet.renew(0, 1, 2, 3, 4)
    assert rounds.run().said == "flights let go on: all 5 leases are renewed again"
    rounds.left = {"flights": {"0": "no token"}}
    assert rounds.run().idle, "what is no token was left by something else"


def test_it_is_in_a_group_of_its_own_every_30_seconds(begin: Begin) -> None:
    fleet = begin()
    fleet.c.supplying.register_dag("a_dag")
    group = resolved(named(configured({}), "watching"))
    assert (group.period, [duty.name for duty in group.duties]) == (timedelta(seconds=30), [LOSSES])
    settings = Settings(reassign_grace=10 * MINUTE)
    runner = GroupRunner(fleet.store, "leader", settings=settings, start_delay=timedelta(0), clock=fleet.clock)
    fleet.loses(0, 1, 2, 3, 4)
    assert runner.run(group).ran
    assert fleet.c.pausing.current_pause().by == LOSSES, "it knows the grace of those whom it watches"
