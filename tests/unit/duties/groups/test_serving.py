"""Groups that are run again and again without Airflow, until somebody stops it."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from airflow_coordination.duties.groups.round import Ran, Round
from airflow_coordination.duties.groups.running import Group, GroupRunner, serve
from airflow_coordination.stores.in_memory import InMemoryStore


class Counted:
    """A duty that ends its server when it has run so often."""

    def __init__(self, over: threading.Event, most: int, error: Exception | None = None) -> None:
        self.name, self.runs, self._over, self._most, self._error = "counted", 0, over, most, error

    def run(self, round: Round) -> Ran:
        self.runs += 1
        if self.runs >= self._most:
            self._over.set()
        if self._error is not None:
            raise self._error
        return Ran(said="once more")


def group(name: str, duty: Counted, period: float = 0.01) -> Group:
    return Group(name=name, period=timedelta(seconds=period), duties=[duty], arguments={})


@pytest.fixture
def runner() -> GroupRunner:
    return GroupRunner(InMemoryStore(), "a server", start_delay=timedelta(0))


def test_each_group_is_run_again_when_it_is_due(runner):
    over = threading.Event()
    one = Counted(over, 2)
    told = []
    serve(runner, [group("one", one)], over, told.append)
    assert one.runs == 2
    assert [run.ran for run in told] == [True, True]


def test_a_group_that_fails_keeps_no_other_from_running(runner):
    over = threading.Event()
    broken, well = Counted(threading.Event(), 99, ValueError("never")), Counted(over, 2)
    serve(runner, [group("broken", broken), group("well", well)], over)
    assert well.runs == 2
    assert broken.runs >= 1
    assert runner.states()["broken"][1].of("counted").fails >= 1


def test_a_mistake_in_our_own_code_ends_all_of_it(runner, monkeypatch):
    over = threading.Event()
    monkeypatch.setattr(runner, "run", lambda group: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        serve(runner, [group("one", Counted(over, 1))], over)
    assert over.is_set()
