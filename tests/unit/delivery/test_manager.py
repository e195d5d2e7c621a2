"""All sets of a process: counts that add up, expiry, shutdown."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_coordination.acknowledgments import AcknowledgmentSetManager, ManagerCounts, SetStatus
from airflow_coordination.values.input_errors import CoordinationError

MINUTE = timedelta(minutes=1)


@pytest.fixture
def manager(clock):
    return AcknowledgmentSetManager(clock)


def test_scenario_50_created_is_the_sum_of_what_became_of_them(manager, clock):
    told: list[bool] = []
    positive, negative, cancelled = (manager.create(told.append, MINUTE) for _ in range(3))
    manager.create(told.append, MINUTE)
    waiting = manager.create(told.append)  # two hours
    negative.add("a")
    negative.release("a", positive=False)
    positive.complete()
    negative.complete()
    cancelled.cancel()
    clock.advance(MINUTE)
    expected = ManagerCounts(created=5, open=1, positive=1, negative=1, expired=1, cancelled=1)
    assert (manager.counts(), manager.look(), manager.counts()) == (expected, expected, expected)
    assert (waiting.status, told) == (SetStatus.OPEN, [True, False])


def test_a_look_runs_progress_checks_and_tells_of_expiry(manager, clock):
    told: list[bool] = []
    seen: list[float] = []
    acks = manager.create(told.append, MINUTE, notify_on_expiry=True)
    acks.add("a")
    acks.add_progress_check(seen.append, timedelta(seconds=30))
    for _ in range(3):
        manager.look()
        clock.advance(timedelta(seconds=30))
    assert (seen, told) == ([1.0, 1.0], [False])


def test_scenario_47_a_callback_that_fails_does_not_stop_others(manager):
    told: list[bool] = []

    def fail(_: bool) -> None:
        raise RuntimeError("its store is away")

    for callback in (fail, told.append):
        acks = manager.create(callback, MINUTE)
        acks.complete()
    assert told == [True]


def test_scenario_49_shutdown_cancels_every_set_and_makes_no_further_one(manager):
    told: list[bool] = []
    sets = [manager.create(told.append, MINUTE) for _ in range(3)]
    manager.shutdown()
    assert [each.complete() for each in sets] == [False] * 3
    assert (told, manager.counts().cancelled) == ([], 3)
    with pytest.raises(CoordinationError, match="shut down"):
        manager.create(told.append)
