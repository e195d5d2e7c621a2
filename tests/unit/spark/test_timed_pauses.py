"""A pause that ends soon by itself, as ``watchLosses`` sets it, ends no drain and no task; one of a person does."""

from __future__ import annotations

import signal
import threading
from datetime import timedelta

import pytest

from airflow_coordination.leases import PartitionStatus, SourceCoordinator
from airflow_coordination.leases.outcomes import Complete
from airflow_coordination.monitoring.waiting.patience import LOOK_AGAIN, PATIENCE, ends_soon, patiently
from airflow_coordination.spark import draining
from airflow_coordination.spark.balance import Balance
from airflow_coordination.spark.draining import Drained, drain
from airflow_coordination.spark.why_ended import Why
from airflow_coordination.stores import open_store
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.submission.lease_choice import LeaseChoice
from airflow_coordination.submission.task_instance import TaskMemory
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.settings import Balancing

HOLD = timedelta(seconds=0.4)
SHAPES = ({}, {"concurrent_leases": 2}, {"concurrent_leases": 2, "balance": True, "balance_interval": HOLD / 4})


class TaskStateStore(dict):
    """Airflow's task state store, as far as a task sees it."""

    set = dict.__setitem__


@pytest.fixture(autouse=True)
def this_process_lives_on(monkeypatch) -> None:
    monkeypatch.setattr(draining, "_stopped", threading.Event())


@pytest.fixture(params=["memory", "sqlite"])
def flights(request, tmp_path) -> SourceCoordinator:
    store = open_store("memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'c.db'}")
    store.setup()
    coordinator = SourceCoordinator(store, "flights", "a test")
    coordinator.create_partitions(["a", "b", "c"])
    return coordinator


def drained(flights: SourceCoordinator, **more) -> Drained:
    def done(spark, lease) -> Complete:
        return Complete()

    return drain(done, store=flights.store, source="flights", spark=None, max_leases=None, **more)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_drain_waits_for_the_end_of_a_short_pause(flights, shape) -> None:
    flights.pausing.pause("watchLosses", "5 of 8 leases are late", lasts=HOLD)
    done = drained(flights, **shape)
    assert (done.completed, done.why) == (3, Why.NOTHING)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_drain_that_meets_a_short_pause_at_work_goes_on_after_it(flights, shape) -> None:
    once = threading.Lock()

    def held(spark, lease) -> Complete:
        if once.acquire(blocking=False):
            flights.pausing.pause("watchLosses", "5 of 8 leases are late", lasts=HOLD)
        return Complete()

    done = drain(held, store=flights.store, source="flights", spark=None, max_leases=None, **shape)
    assert done.completed == 3


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("lasts", [None, PATIENCE * 2])
def test_a_pause_that_lasts_ends_a_drain_at_once(flights, shape, lasts) -> None:
    flights.pausing.pause("ana", "maintenance", lasts=lasts)
    done = drained(flights, **shape)
    assert (done.completed, done.why) == (0, Why.PAUSED)


def test_a_task_that_shares_a_source_does_not_wait_under_a_pause_for_what_is_free(flights) -> None:
    flights.pausing.pause("ana", "maintenance")
    assert Balance(flights, 2, Balancing(balance_interval=HOLD / 4)).first() is None
    assert len(flights.claimable(9)) == 3


@pytest.mark.parametrize("balancing", [None, Balancing(balance_interval=HOLD / 4)])
def test_a_mapped_task_waits_for_the_end_of_a_short_pause(flights, balancing) -> None:
    flights.pausing.pause("watchLosses", "5 of 8 leases are late", lasts=HOLD)
    assert LeaseChoice(flights, TaskMemory({}), None, "explain", balance=balancing).choose(1).key == "a"


def test_a_mapped_task_waits_with_the_partition_that_it_has_begun(flights) -> None:
    memory = TaskMemory({"task_state_store": TaskStateStore()})
    lease = flights.acquire_partition("b")
    memory.remember("b", lease.fence)
    flights.give_up(lease)
    flights.pausing.pause("watchLosses", "5 of 8 leases are late", lasts=HOLD)
    assert LeaseChoice(flights, memory, None, "explain").choose(2).key == "b"


class Waited:
    """Waits in virtual time."""

    def __init__(self, **first) -> None:
        self.clock, self.slept = FakeClock(), []
        self.flights = SourceCoordinator(InMemoryStore(clock=self.clock), "flights", "a test")
        self.flights.create_partitions(["a"])
        self.flights.pausing.pause("watchLosses", "late", **first)
        self.meanwhile = lambda: None

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.clock.advance(seconds)
        self.meanwhile()

    def acquire(self):
        acquire = self.flights.get_next_partition
        return acquire() or patiently(self.flights, acquire, sleep=self.sleep)


def test_it_looks_every_few_seconds_and_waits_no_longer_than_the_pause() -> None:
    waited = Waited(lasts=timedelta(minutes=2))
    assert waited.acquire().key == "a"
    assert max(waited.slept) <= LOOK_AGAIN
    assert 120 <= sum(waited.slept) < 121


def test_who_resumes_the_source_ends_the_waiting() -> None:
    waited = Waited(lasts=timedelta(minutes=2))
    waited.meanwhile = lambda: waited.flights.pausing.resume("ana", "all is well")
    assert waited.acquire().key == "a"
    assert len(waited.slept) == 1


def test_who_pauses_it_for_good_ends_the_waiting_too() -> None:
    waited = Waited(lasts=timedelta(minutes=2))
    waited.meanwhile = lambda: waited.flights.pausing.pause("ana", "maintenance")
    assert waited.acquire() is None
    assert len(waited.slept) == 1


def test_where_nothing_is_paused_nothing_is_waited_for() -> None:
    waited = Waited(lasts=timedelta(minutes=2))
    waited.clock.advance(121)
    assert not ends_soon(waited.flights)
    assert waited.acquire().key == "a"
    assert waited.acquire() is None
    assert waited.slept == []


@pytest.mark.parametrize("shape", SHAPES[:2])
def test_sigterm_ends_a_drain_that_waits_for_a_pause(flights, shape, monkeypatch) -> None:
    flights.pausing.pause("watchLosses", "5 of 8 leases are late", lasts=timedelta(minutes=2))
    monkeypatch.setattr("airflow_coordination.spark.interruption.GRACE", 0.1)
    monkeypatch.setattr("airflow_coordination.spark.interruption.CANCEL_AGAIN", 0.05)
    looked, sent = flights.store.pause, []

    def look(source: str):
        if not sent:
            sent.append(signal.raise_signal(signal.SIGTERM))
        threading.Event().wait(0.01)
        return looked(source)

    monkeypatch.setattr(flights.store, "pause", look)
    done = drained(flights, on_stop="return", **shape)
    assert (done.stopped, done.why, done.completed) == (True, Why.STOPPED, 0)
    assert flights.partition("a").status is PartitionStatus.UNASSIGNED
