"""One call for many leases: who ends how, who is charged, and what stops it. No Spark is needed for that."""

from __future__ import annotations

import signal
import threading
from datetime import timedelta

import pytest

from airflow_coordination import Close, Complete, GiveUp, SourceCoordinator, drain
from airflow_coordination.leases import Outcome, PartitionStatus, Settings, SettingsError
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.spark import draining
from airflow_coordination.spark.tenure import DriverContext
from airflow_coordination.spark.together.course import Together
from airflow_coordination.spark.why_ended import Why

KEYS = tuple("abcdefgh")


@pytest.fixture
def days(store: PartitionStore) -> SourceCoordinator:
    days = SourceCoordinator(store, "days", "a person")
    days.create_partitions(KEYS)
    return days


@pytest.fixture
def run(days: SourceCoordinator):
    """Drain the source with a function that is given many leases, and return what became of it, and of what calls."""

    def run(main, together: int = len(KEYS), **more: object):
        calls: list[tuple[str, ...]] = []

        def noting(spark, leases):
            calls.append(tuple(leases))
            return main(leases)

        more = {"max_leases": None, "settings": Settings(retry_delay=timedelta(hours=1))} | more
        done = drain(noting, store=days.store, source="days", spark=None, together=together, **more)
        return done, calls

    return run


def test_one_call_has_all_that_can_be_had(run, days) -> None:
    done, calls = run(lambda leases: Complete(), together=5)
    assert calls == [tuple("abcde"), tuple("fgh")]
    assert (done.completed, done.keys, done.why) == (8, KEYS, Why.NOTHING)
    assert days.counts()[PartitionStatus.COMPLETED] == 8


def test_a_lease_costs_one_acquisition_and_one_ending(run, days, monkeypatch) -> None:
    """As it would be alone: no renewal and no write more."""
    sent: list[str] = []
    for name in ("acquire_next", "write"):
        send = getattr(days.store, name)

        def noting(*given, name=name, send=send, **more):
            sent.append(name)
            return send(*given, **more)

        monkeypatch.setattr(days.store, name, noting)
    assert run(lambda leases: Complete(), together=4, max_leases=8)[0].completed == 8
    assert {name: sent.count(name) for name in sent} == {"acquire_next": 8, "write": 8}


def test_no_more_than_max_leases_are_taken_in_all(run, days) -> None:
    done, calls = run(lambda leases: Complete(), together=3, max_leases=4)
    assert calls == [tuple("abc"), ("d",)]
    assert (done.completed, done.why) == (4, Why.LIMIT)
    assert days.counts()[PartitionStatus.UNASSIGNED] == 4


def test_each_ends_as_the_function_says_of_it(run, days) -> None:
    def main(leases):
        leases.fail("b", "no header")
        leases.end("c", GiveUp("not now", retry_after=timedelta(hours=1)))
        leases.end("d", Close(timedelta(hours=1), state={"n": 1}))
        return Complete()

    done, calls = run(main)
    assert calls == [KEYS]
    assert (done.completed, done.failed, done.given_up, done.closed) == (5, 1, 1, 1)
    assert done.errors == (("b", "RuntimeError: no header"),)
    assert days.partition("d").progress_state == {"n": 1}


def test_one_outcome_for_each_key_may_be_returned(run) -> None:
    def main(leases):
        return {key: GiveUp("later") if key == "a" else Complete() for key in leases if key != "h"}

    done, _ = run(main)
    assert (done.completed, done.given_up, done.failed) == (6, 1, 1)
    assert done.errors[0][1].startswith("RuntimeError: the partition function returned nothing")


def test_a_call_that_fails_is_halved_until_who_fails_is_alone(run, days) -> None:
    def main(leases):
        if "c" in leases:
            raise ValueError("bad row")
        return Complete()

    done, calls = run(main)
    assert calls == [KEYS, tuple("abcd"), tuple("ab"), tuple("cd"), ("c",), ("d",), tuple("efgh")]
    assert (done.completed, done.errors) == (7, (("c", "ValueError: bad row"),))
    assert {key: days.partition(key).failures for key in KEYS} == {key: int(key == "c") for key in KEYS}


def test_where_all_fail_of_one_error_the_source_pauses_and_the_others_are_not_charged(run, days) -> None:
    def main(leases):
        raise ValueError("the table is gone")

    done, calls = run(main, settings=Settings(retry_delay=timedelta(hours=1), brake_after=2))
    assert (done.failed, done.given_up) == (2, 6)
    assert calls == [KEYS, tuple("abcd"), tuple("ab"), ("a",), ("b",)]
    assert [days.partition(key).failures for key in KEYS] == [1, 1, 0, 0, 0, 0, 0, 0]
    assert days.pausing.current_pause().braked
    assert days.counts()[PartitionStatus.UNASSIGNED] == 8


def test_a_lease_that_was_lost_ends_no_other(run, days) -> None:
    def main(leases):
        days.people.release("b", by="ana", why="moved")
        days.people.park("b", by="ana", why="moved")
        return Complete()

    done, calls = run(main)
    assert calls == [KEYS]
    assert (done.completed, done.lost) == (7, 1)
    assert done.errors[0][0] == "b"
    assert days.partition("b").parked


def test_the_call_is_cut_short_when_all_leases_are_lost(run, days, monkeypatch) -> None:
    monkeypatch.setattr("airflow_coordination.spark.interruption.GRACE", 0.1)
    monkeypatch.setattr("airflow_coordination.spark.interruption.CANCEL_AGAIN", 0.05)

    def main(leases):
        for key in leases:
            days.people.release(key, by="ana", why="moved")
            days.people.park(key, by="ana", why="moved")
        threading.Event().wait(300)

    done, _ = run(main, settings=Settings(ownership_timeout=timedelta(seconds=1)))
    assert (done.completed, done.lost) == (0, 8)


def test_a_key_ends_the_drain_and_gives_all_back(run, days) -> None:
    calls = []

    def main(leases):
        calls.append(tuple(leases))
        if len(leases) > 4:
            raise ValueError("bad row")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(main)
    assert calls == [KEYS, tuple("abcd")]
    assert [days.partition(key).endings[-1].outcome for key in KEYS] == [Outcome.GIVEN_UP] * 8
    assert [days.partition(key).failures for key in KEYS] == [0] * 8


def test_a_bad_output_root_charges_nobody(run, days, tmp_path) -> None:
    def main(leases):
        next(iter(leases._held.values())).scratch("x")

    with pytest.raises(SettingsError, match="output_root=None"):
        run(main)
    assert [days.partition(key).failures for key in KEYS] == [0] * 8
    assert days.counts()[PartitionStatus.UNASSIGNED] == 8


def test_sigterm_while_leases_are_gathered_gives_all_back(days) -> None:
    mine = SourceCoordinator(days.store, "days", "mine")
    asked = []

    def more():
        asked.append(len(asked))
        lease = mine.get_next_partition()
        if len(asked) == 3:
            signal.raise_signal(signal.SIGTERM)
            threading.Event().wait(30)
        return lease

    driver = DriverContext(spark=None, coordinator=mine)
    course = Together(None, driver, mine.get_next_partition, more, together=8, max_leases=None, hears=True)
    assert (list(course.run()), course.why) == ([], Why.STOPPED)
    assert days.counts()[PartitionStatus.UNASSIGNED] == 8
    assert [days.partition(key).token for key in KEYS] == [1, 1, 1, 1, 0, 0, 0, 0]


def test_sigterm_at_work_gives_all_back_uncharged(run, days, monkeypatch) -> None:
    monkeypatch.setattr(draining, "_stopped", threading.Event())
    monkeypatch.setattr("airflow_coordination.spark.interruption.GRACE", 0.1)
    monkeypatch.setattr("airflow_coordination.spark.interruption.CANCEL_AGAIN", 0.05)

    def main(leases):
        signal.raise_signal(signal.SIGTERM)
        threading.Event().wait(300)

    done, calls = run(main, on_stop="return")
    assert (calls, done.given_up, done.stopped) == ([KEYS], 8, True)
    assert days.counts()[PartitionStatus.UNASSIGNED] == 8
    assert [days.partition(key).failures for key in KEYS] == [0] * 8


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"together": 0}, r"together=0: is not a whole number from 1 to 500"),
        ({"together": True}, r"together=True: is not a whole number"),
        ({"together": 501}, r"together=501: is not a whole number from 1 to 500"),
        ({"together": 5, "max_leases": 4}, r"together=5: is more than max_leases=4.*Give max_leases=None"),
        ({"together": 5, "concurrent_leases": 2}, r"together=5: cannot be had with concurrent_leases=2"),
        ({"together": 5, "balance": True}, r"together=5: cannot be had with balance=True"),
    ],
)
def test_what_cannot_be_is_refused(run, given, message) -> None:
    with pytest.raises(SettingsError, match=message):
        run(lambda leases: Complete(), **given)
