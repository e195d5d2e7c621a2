"""E5: SIGTERM ends a drain, at work or waiting, and nobody takes that for done."""

import signal
import threading
from types import SimpleNamespace

import pytest

from airflow_coordination.leases import InvalidInputError, SourceCoordinator
from airflow_coordination.spark import draining
from airflow_coordination.spark.draining import drain
from airflow_coordination.spark.one_by_one import OneByOne
from airflow_coordination.spark.tenure import DriverContext
from airflow_coordination.spark.why_ended import Why
from airflow_coordination.stores import open_store


@pytest.fixture
def store():
    return open_store("memory://")


@pytest.fixture
def flights(store):
    return SourceCoordinator(store, "flights", "watches")


@pytest.fixture(autouse=True)
def this_process_lives_on(monkeypatch):
    monkeypatch.setattr(draining, "_stopped", threading.Event())
    monkeypatch.setattr(draining, "check_distributions", lambda: None)
    monkeypatch.setattr("airflow_coordination.spark.interruption.GRACE", 0.1)
    monkeypatch.setattr("airflow_coordination.spark.interruption.CANCEL_AGAIN", 0.05)


@pytest.fixture
def drained(store):
    def run(**more):
        return drain(lambda spark, lease: None, store=store, source="flights", spark=None, max_leases=None, **more)

    return run


@pytest.fixture
def waiting(flights, monkeypatch):
    """Let somebody hold the supplier's lease, so that a drain waits; SIGTERM comes while it does."""
    with monkeypatch.context() as patch:
        patch.setattr("airflow_coordination.leases.tenures.Tenures.end", lambda *_: None)
        SourceCoordinator(flights.store, "flights", "rival").run_supplier(lambda state: [])
    sent = []

    def pause(_):
        if not sent:
            sent.append(signal.raise_signal(signal.SIGTERM))
        threading.Event().wait(0.01)

    monkeypatch.setattr(draining, "time", SimpleNamespace(sleep=pause))


@pytest.mark.parametrize("places", [1, 2])
@pytest.mark.usefixtures("waiting")
def test_e5_sigterm_ends_a_drain_that_waits_and_its_process(drained, places):
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as ended:
        drained(supplier=lambda state: [], concurrent_leases=places)
    assert ended.value.code == 143
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.usefixtures("waiting")
def test_e5_who_asks_for_it_is_told_and_no_further_drain_begins(drained, flights):
    stopped = drained(supplier=lambda state: [], on_stop="return")
    assert (stopped.stopped, stopped.why, stopped.left) == (True, Why.STOPPED, None)
    flights.create_partitions(["a"])
    assert drained(on_stop="return") == stopped
    with pytest.raises(SystemExit):
        drained()
    assert flights.partition("a").token == 0


def test_e5_what_was_just_acquired_as_the_search_was_cut_short_is_given_back(flights):
    flights.create_partitions(["a"])
    mine = SourceCoordinator(flights.store, "flights", "mine")

    def acquire():
        mine.get_next_partition()  # its answer comes too late
        signal.raise_signal(signal.SIGTERM)
        threading.Event().wait(30)

    course = OneByOne(None, DriverContext(spark=None, coordinator=mine), acquire, None, hears=True)
    assert (list(course.run()), course.why) == ([], Why.STOPPED)
    seen = flights.partition("a")
    assert (str(seen.status), seen.token, seen.failures) == ("UNASSIGNED", 1, 0)


def test_e5_a_lease_that_comes_with_the_signal_is_given_back_unbegun(flights):
    flights.create_partitions(["a"])
    mine = SourceCoordinator(flights.store, "flights", "mine")

    def acquire():
        signal.raise_signal(signal.SIGTERM)
        return mine.get_next_partition()

    course = OneByOne(None, DriverContext(spark=None, coordinator=mine), acquire, None, hears=True)
    assert (list(course.run()), course.why) == ([], Why.STOPPED)
    assert str(flights.partition("a").status) == "UNASSIGNED"


def test_e5_only_two_ways_to_end_are_known(drained):
    with pytest.raises(InvalidInputError, match=r"on_stop='ignore': is not a choice\. Give one of exit, return"):
        drained(on_stop="ignore")
