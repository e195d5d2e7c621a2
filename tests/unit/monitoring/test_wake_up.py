"""When waiting work is worth an event: an edge for what is new, a level for what is left alone."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.monitoring.waiting.idleness import WakeUp

REMIND_AFTER = 60.0


@pytest.fixture
def wake_up():
    return WakeUp(REMIND_AFTER, most_hints=4)


def test_it_is_silent_without_work(wake_up):
    assert not wake_up.is_due([], at_work=False, now=0)
    assert not wake_up.is_due([], at_work=True, now=9999)


def test_it_is_due_once_for_work_that_nobody_has_taken_yet(wake_up):
    assert [wake_up.is_due(["a", "b"], at_work=False, now=now) for now in range(4)] == [True, False, False, False]


def test_it_is_due_for_new_work_also_while_other_work_goes_on(wake_up):
    assert wake_up.is_due(["a"], at_work=False, now=0)
    assert wake_up.is_due(["a", "b"], at_work=True, now=1)
    assert not wake_up.is_due(["a", "b"], at_work=True, now=2)
    assert wake_up.is_due(["b", "c"], at_work=True, now=3)


def test_it_is_silent_while_a_run_works_through_what_it_told_of(wake_up):
    assert wake_up.is_due(["a", "b", "c"], at_work=False, now=0)
    assert [wake_up.is_due(left, at_work=True, now=1) for left in (["b", "c"], ["c"], [])] == [False, False, False]


def test_it_is_due_for_what_a_run_has_left(wake_up):
    """The run took two of three and ended; between two looks, it may have started and ended."""
    assert wake_up.is_due(["a", "b", "c"], at_work=False, now=0)
    assert not wake_up.is_due(["c"], at_work=True, now=1)
    assert wake_up.is_due(["c"], at_work=False, now=2)
    assert not wake_up.is_due(["c"], at_work=False, now=3)


def test_it_is_due_again_for_work_that_nobody_takes(wake_up):
    """The run it started died before it took anything. It is not started all the time."""
    rung = [now for now in range(0, 20_000, 20) if wake_up.is_due(["a"], at_work=False, now=now)]
    assert rung == [0, 60, 180, 420, 900, 1860, 3780, 7380, 10980, 14580, 18180]


def test_news_starts_the_reminders_afresh(wake_up):
    assert [now for now in range(0, 200, 20) if wake_up.is_due(["a"], at_work=False, now=now)] == [0, 60, 180]
    assert [now for now in range(200, 300, 20) if wake_up.is_due(["a", "b"], at_work=False, now=now)] == [200, 260]


def test_it_is_due_when_the_same_work_comes_back(wake_up):
    """A partition that was parked and reopened between two runs has the same token as before."""
    assert wake_up.is_due(["a"], at_work=False, now=0)
    assert not wake_up.is_due([], at_work=False, now=1)
    assert wake_up.is_due(["a"], at_work=False, now=2)


def test_a_failure_makes_new_work(wake_up):
    assert wake_up.is_due(["a at 0"], at_work=False, now=0)
    assert not wake_up.is_due([], at_work=True, now=1)
    assert wake_up.is_due(["a at 1"], at_work=False, now=2)


def test_what_moves_up_in_a_full_list_is_no_news(wake_up):
    assert wake_up.is_due(["a", "b", "c", "d"], at_work=False, now=0)
    assert not wake_up.is_due(["b", "c", "d", "e"], at_work=True, now=1)
    assert not wake_up.is_due(["d", "e", "f", "g"], at_work=True, now=2)
    assert wake_up.is_due(["d", "e", "f", "g"], at_work=False, now=3)


class World:
    """Partitions, and runs that the wake_up starts: at most one is active, at most one more is queued (Airflow)."""

    def __init__(self, chance):
        self.chance = chance
        self.waiting: dict[int, int] = {}  # the token of each
        self.held: dict[int, tuple[int, int]] = {}  # the token, and until when
        self.queued = self.active = False
        self.made = self.rung = self.changes = 0

    def make_some(self):
        for _ in range(self.chance.choice([0, 0, 0, 1, 5])):
            self.made += 1
            self.waiting[self.made] = 0
            self.changes += 1

    def let_runs_work(self, now):
        """A run takes some of what waits when it starts, ends when all of that has ended, and may do so at once."""
        for key, (token, until) in list(self.held.items()):
            if now >= until:
                del self.held[key]
                if self.chance.random() < 0.2:
                    self.waiting[key] = token
                    self.changes += 1
        self.active = bool(self.held)
        if self.queued and not self.active:
            self.queued = False
            for key in list(self.waiting)[: self.chance.randint(1, 3)]:
                self.held[key] = (self.waiting.pop(key) + 1, now + self.chance.randint(0, 4))
                self.changes += 1

    def look(self, wake_up, now):
        hints = [f"{key} at {token}" for key, token in self.waiting.items()][:4]
        if wake_up.is_due(hints, at_work=bool(self.held), now=now):
            self.queued = True
            self.rung += 1


@given(st.integers())
def test_no_work_is_left_alone_and_each_event_has_a_change(seed):
    """Whatever comes, fails, and is left over, all of it is done in the end, without one reminder."""
    world, wake_up = World(random.Random(seed)), WakeUp(float("inf"), most_hints=4)
    for now in range(300):
        if now < 50:
            world.make_some()
        world.let_runs_work(now)
        if world.waiting and not (world.held or world.queued):
            world.look(wake_up, now)
            assert world.queued
        elif world.chance.random() < 0.5:
            world.look(wake_up, now)
    assert not world.waiting
    assert not world.held
    assert world.rung <= world.changes
