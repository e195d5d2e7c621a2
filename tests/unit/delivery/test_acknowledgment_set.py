"""Data Prepper's acknowledgment scenarios 33 to 39, and the three places where ours is better than theirs."""

from __future__ import annotations

import logging
import threading
from datetime import timedelta

import pytest

from airflow_coordination.acknowledgments import AcknowledgmentSet, SetStatus
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.input_errors import InvalidInputError

MINUTE = timedelta(minutes=1)


@pytest.fixture
def told() -> list[bool]:
    return []


@pytest.fixture
def acks(clock: FakeClock, told: list[bool]) -> AcknowledgmentSet:
    return AcknowledgmentSet(told.append, MINUTE, clock=clock)


def test_s13_scenario_33_all_positive_calls_back_once(acks, told):
    acks.add("a")
    acks.add("b")
    assert not acks.release("a")
    acks.complete()
    assert acks.release("b")
    assert not acks.release("b")
    assert told == [True]
    assert acks.status is SetStatus.POSITIVE


def test_s13_scenario_33_never_before_complete(acks, told):
    acks.add("a")
    assert not acks.release("a")
    assert told == []
    assert acks.complete()
    assert told == [True]


def test_s13_scenario_34_extra_acquires_need_as_many_releases(acks, told):
    acks.add("a")
    assert acks.acquire("a", 2)
    acks.complete()
    assert [acks.release("a") for _ in range(4)] == [False, False, True, False]
    assert told == [True]


def test_s13_scenario_34_a_duplicate_or_unknown_release_changes_nothing_mended(acks, told):
    """Data Prepper takes the result of every release, also of one that it does not know."""
    acks.add("a")
    acks.add("b")
    acks.release("a")
    assert not acks.release("a", positive=False)
    assert not acks.release("never added", positive=False)
    acks.complete()
    acks.release("b")
    assert told == [True]


def test_a_release_of_more_than_is_left_changes_nothing(acks, told):
    acks.add("task 1", 3)
    assert not acks.release("task 1", positive=False, count=4)
    acks.complete()
    assert acks.release("task 1", count=3)
    assert told == [True]


def test_s13_scenario_35_one_negative_of_many_tells_after_the_last(acks, told):
    for each in range(5):
        acks.add(each)
    acks.complete()
    acks.release(2, positive=False)
    assert told == []
    for each in (0, 1, 3, 4):
        acks.release(each)
    assert told == [False]
    assert acks.status is SetStatus.NEGATIVE


def test_s13_scenario_36_an_empty_set_is_positive(acks, told):
    assert acks.complete()
    assert not acks.complete()
    assert told == [True]


def test_s13_scenario_38_expiry_is_silent_by_default(acks, told, clock):
    acks.add("a")
    acks.complete()
    clock.advance(MINUTE)
    assert acks.look() is SetStatus.EXPIRED
    assert told == []


def test_s13_scenario_38_expiry_tells_when_asked(clock, told):
    acks = AcknowledgmentSet(told.append, MINUTE, clock=clock, notify_on_expiry=True)
    clock.advance(MINUTE)
    acks.look()
    acks.look()
    assert told == [False]


def test_s13_scenario_38_a_late_release_is_harmless_also_before_anybody_looked(acks, told, clock):
    acks.add("a")
    acks.complete()
    clock.advance(MINUTE)
    assert not acks.release("a")
    assert not acks.complete()
    assert not acks.add("b")
    assert not acks.acquire("a")
    assert not acks.extend(MINUTE)
    assert not acks.cancel()
    assert (acks.look(), told) == (SetStatus.EXPIRED, [])


def test_an_extension_counts_from_now_and_does_not_add(acks, clock):
    clock.advance(timedelta(seconds=50))
    assert acks.extend(timedelta(seconds=20))
    clock.advance(timedelta(seconds=19))
    assert acks.status is SetStatus.OPEN
    clock.advance(timedelta(seconds=1))
    assert acks.status is SetStatus.EXPIRED


def test_scenario_39_progress_falls_and_stops_at_the_end(acks, clock):
    seen: list[float] = []
    acks.add_progress_check(seen.append, timedelta(seconds=2))
    for each in range(4):
        acks.add(each)
    acks.complete()
    for each in range(4):
        acks.look()
        acks.look()  # not due again yet
        acks.release(each)
        clock.advance(timedelta(seconds=2))
    acks.look()
    assert seen == [1.0, 0.75, 0.5, 0.25]


def test_scenario_39_progress_checks_stop_at_the_expiry(acks, clock):
    seen: list[float] = []
    acks.add("a")
    acks.add_progress_check(seen.append, timedelta(seconds=2))
    clock.advance(MINUTE)
    acks.look()
    assert seen == []


def test_scenario_39_zero_of_zero_is_zero(acks):
    assert acks.progress == 0.0


def test_a_progress_check_that_fails_is_called_again(acks, clock, caplog):
    calls: list[float] = []

    def check(ratio: float) -> None:
        calls.append(ratio)
        raise RuntimeError("the store was away")

    acks.add_progress_check(check, timedelta(seconds=2))
    with caplog.at_level(logging.ERROR):
        acks.look()
    clock.advance(timedelta(seconds=2))
    acks.look()
    assert len(calls) == 2
    assert "the store was away" in caplog.text


def test_counted_units_progress_by_records(acks):
    acks.add("task 1", 300)
    acks.add("task 2", 100)
    acks.acquire("task 1", 300)
    acks.release("task 2", count=100)
    assert acks.progress == 0.75
    acks.release("task 1", count=450)
    assert acks.pending == 150


def test_cancelled_is_never_told(acks, told):
    acks.add("a")
    acks.complete()
    assert acks.cancel()
    assert not acks.release("a")
    assert (acks.status, told) == (SetStatus.CANCELLED, [])


def test_records_may_be_added_after_complete(acks, told):
    """Copies that routing makes."""
    acks.add("a")
    acks.complete()
    acks.add("copy of a")
    acks.release("a")
    assert told == []
    acks.release("copy of a")
    assert told == [True]


def test_s13_a_slow_callback_is_not_interrupted_by_the_expiry_mended(clock):
    """Data Prepper interrupts it, and its test asserts so."""
    began, go_on, finished = threading.Event(), threading.Event(), threading.Event()

    def slow(_: bool) -> None:
        began.set()
        assert go_on.wait(30)
        finished.set()

    acks = AcknowledgmentSet(slow, MINUTE, clock=clock, notify_on_expiry=True)
    thread = threading.Thread(target=acks.complete)
    thread.start()
    assert began.wait(30)
    clock.advance(MINUTE)
    assert acks.look() is SetStatus.POSITIVE
    go_on.set()
    thread.join(30)
    assert finished.is_set()
    assert acks.look() is SetStatus.POSITIVE


def test_a_callback_may_ask_its_own_set(clock):
    seen: list[SetStatus] = []
    acks = AcknowledgmentSet(lambda _: seen.append(acks.status), MINUTE, clock=clock)
    acks.complete()
    assert seen == [SetStatus.POSITIVE]


def test_a_callback_that_raises_is_logged_and_not_called_again(clock, caplog):
    calls: list[bool] = []

    def callback(result: bool) -> None:
        calls.append(result)
        raise RuntimeError("the queue was away")

    acks = AcknowledgmentSet(callback, MINUTE, clock=clock)
    acks.add("a")
    acks.complete()
    assert acks.release("a")
    assert not acks.complete()
    assert calls == [True]
    assert "the queue was away" in caplog.text


def test_s13_many_threads_release_and_one_of_them_calls_back(clock, told):
    acks = AcknowledgmentSet(told.append, MINUTE, clock=clock)
    for each in range(400):
        acks.add(each)
    acks.complete()
    ended: list[bool] = []

    def release(part: int) -> None:
        ended.extend(acks.release(each) for each in range(part, 400, 4))

    threads = [threading.Thread(target=release, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (told, ended.count(True)) == ([True], 1)


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "2"])
def test_a_count_that_is_none(acks, count):
    for call in (acks.add, acks.acquire):
        with pytest.raises(InvalidInputError, match=r"^count="):
            call("a", count)
    with pytest.raises(InvalidInputError, match=r"^count="):
        acks.release("a", count=count)


@pytest.mark.parametrize("timeout", [timedelta(0), timedelta(seconds=-1), None, 60])
def test_a_timeout_that_is_none(timeout, acks):
    with pytest.raises(InvalidInputError, match=r"^timeout="):
        AcknowledgmentSet(print, timeout)
    with pytest.raises(InvalidInputError, match=r"^timeout="):
        acks.extend(timeout)


def test_a_handle_that_is_there_already(acks):
    acks.add("a")
    with pytest.raises(InvalidInputError, match=r"^handle='a': is in this set already\. Acquire it"):
        acks.add("a")
