"""What people are told of groups of duties, on a store with real runs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from airflow_coordination.duties.configuring import set_config
from airflow_coordination.duties.groups.round import Ran, Round
from airflow_coordination.duties.groups.running import Group, GroupRunner
from airflow_coordination.duties.groups.told import MOST_GROUPS, NOTHING_LOST, Outcome, Standing, look
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import FaultyStore
from airflow_coordination.values.names import DUTIES

PERIOD = timedelta(minutes=5)


class Said:
    """A duty that does what a test wants."""

    def __init__(self, name: str, does: Callable[[Round], Ran]) -> None:
        self.name, self._does = name, does

    def run(self, round: Round) -> Ran:
        return self._does(round)


def hid(round: Round) -> Ran:
    return Ran(said="hid 3 intervals of 2 datasets", counts={"segment/dropped/count": 3}, warnings=("look at clean",))


def idle(round: Round) -> Ran:
    return Ran(said="nothing is new", idle=True)


def broken(round: Round) -> Ran:
    raise OSError("S3 answers SlowDown")


def group(name: str, **duties: Callable[[Round], Ran]) -> Group:
    said = [Said(duty, does) for duty, does in duties.items()]
    return Group(name=name, period=PERIOD, duties=said, arguments={})


class World:
    """A store in memory with a clock of its own, and who runs groups on it."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = InMemoryStore(self.clock)
        self.runner = GroupRunner(self.store, "one", start_delay=timedelta(0), clock=self.clock)

    def run(self, *groups: Group, after: timedelta = PERIOD) -> None:
        self.clock.advance(after.total_seconds())
        for each in groups:
            self.runner.run(each)

    def look(self):
        return look(self.runner.duties, self.store.now())


@pytest.fixture
def world() -> World:
    return World()


def test_a_group_tells_what_each_duty_did_who_led_and_when_it_is_due(world):
    its = group("HistoricalManagementDuties", runRules=hid, balanceSegments=idle)
    world.run(its)
    world.run(its)
    [found] = world.look().groups
    assert (found.name, found.standing, found.period, found.runs) == (its.name, Standing.DONE, PERIOD, "dd")
    assert (found.leader, found.last_leader, found.term) == (None, "one", 2)
    assert found.due == found.ran_at + PERIOD
    assert found.led_since == found.ran_at - PERIOD
    rules, balance = found.duties
    assert (rules.outcome, rules.said, rules.warnings) == (
        Outcome.DONE,
        "hid 3 intervals of 2 datasets",
        ["look at clean"],
    )
    assert rules.counts == {"segment/dropped/count": 3}
    assert (balance.name, balance.outcome) == ("balanceSegments", Outcome.IDLE)
    assert world.look().troubles == []


def test_what_failed_stands_first_and_says_what_happens_next(world):
    good, bad = group("A", runRules=hid), group("B", killUnused=idle, killStalePending=broken)
    world.run(good, bad)
    world.run(good, bad)
    told = world.look()
    assert [each.name for each in told.groups] == ["B", "A"]
    [trouble] = told.troubles
    assert trouble.sentence == "killStalePending of B failed 2 times in a row: OSError: S3 answers SlowDown"
    assert trouble.then == f"It is tried again in the next run of its group; the other duties have run. {NOTHING_LOST}"
    assert (trouble.at, trouble.person) == (told.groups[0].due, False)
    assert told.groups[0].duties[1].fails == 2
    world.run(good, group("B", killUnused=idle, killStalePending=hid))
    assert world.look().troubles == []
    assert world.look().groups[1].runs == "ffd"


def test_a_group_of_which_all_duties_fail_is_due_again_too(world):
    world.run(group("B", killStalePending=broken))
    assert world.runner.duties.partition("group|B").failures == 1
    [found] = world.look().groups
    assert found.standing is Standing.FAILED
    assert found.due == found.ran_at + PERIOD


def test_while_it_runs_it_says_who_leads_and_until_when(world):
    seen = []

    def looking(round: Round) -> Ran:
        seen.append(world.look())
        world.clock.advance(3600)
        seen.append(world.look())
        world.clock.advance(-3600)
        return Ran(said="looked")

    world.run(group("G", looking=looking))
    running, silent = seen[0].groups[0], seen[1]
    assert (running.standing, running.leader, running.due) == (Standing.RUNNING, "one", None)
    assert running.leader_until > world.store.now()
    assert silent.groups[0].standing is Standing.SILENT
    assert silent.troubles[0].sentence == "one leads G, and its lease has ended."


def test_a_stopped_coordinator_is_told_when_a_whole_period_has_passed(world):
    world.run(group("G", runRules=hid))
    world.clock.advance((2 * PERIOD).total_seconds())
    assert world.look().troubles == []
    world.clock.advance(1)
    [trouble] = world.look().troubles
    assert world.look().groups[0].standing is Standing.OVERDUE
    assert trouble.sentence == "Nobody has run G since it was due."
    assert "duty_dags()" in trouble.then
    assert trouble.person


def test_before_its_first_run_a_group_waits_for_the_start_delay(world):
    delayed = GroupRunner(world.store, "one", start_delay=timedelta(minutes=5), clock=world.clock)
    delayed.run(group("G", runRules=hid))
    [found] = world.look().groups
    assert (found.standing, found.ran_at, found.runs) == (Standing.WAITING, None, "")
    assert found.due == world.store.now() + timedelta(minutes=5)
    delayed.run_now("G", "ana", "at once")
    [found] = world.look().groups
    assert (found.standing, found.due) == (Standing.WAITING, None)


def test_what_was_let_go_on_is_run_by_whoever_comes_next(world):
    world.run(group("G", runRules=hid))
    world.runner.run_now("G", "ana", "at once")
    [found] = world.look().groups
    assert (found.standing, found.due, found.overdue) == (Standing.DONE, None, False)


def test_a_pause_of_all_says_who_has_set_it_and_why(world):
    set_config(world.runner.duties, {"pauseCoordination": True}, "ana", "the warehouse moves")
    world.run(group("G", runRules=hid))
    told = world.look()
    assert told.groups[0].standing is Standing.PAUSED
    assert told.groups[0].runs == "p"
    assert told.troubles[0].sentence == "No duty does anything: ana has set pauseCoordination (the warehouse moves)."
    assert told.troubles[0].person


@pytest.mark.parametrize("left", [{"duties": 1}, {"ms": "x"}, {"duties": {"a": {"counts": 3}}}])
def test_a_group_that_cannot_be_read_hides_no_other(world, left):
    world.run(group("G", runRules=hid))
    world.runner.duties.create_partitions(["group|H"])
    world.runner.duties.close(world.runner.duties.acquire_partition("group|H"), timedelta(hours=1), left)
    told = world.look()
    assert [each.name for each in told.groups] == ["H", "G"]
    assert told.groups[0].standing is Standing.UNREADABLE
    assert told.troubles[0].sentence.startswith("What the group H remembers cannot be read: ")


def test_a_look_sends_three_requests_however_many_groups_there_are(world):
    names = [f"group|{number:02}" for number in range(MOST_GROUPS + 5)]
    world.runner.duties.create_partitions([*names, "something else"])
    counting = FaultyStore(world.store)
    told = look(SourceCoordinator(counting, DUTIES, "ana"), world.store.now())
    assert (len(told.groups), told.more) == (MOST_GROUPS, True)
    assert sorted(counting.calls) == ["document", "history", "page"]


def test_nobody_has_run_anything(world):
    told = world.look()
    assert (told.groups, told.more, told.troubles) == ([], False, [])
