"""A drain with a supplier does not end while somebody else holds the supplier's lease, alive or dead."""

import threading
import time
from datetime import timedelta

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.spark import draining
from airflow_coordination.spark.draining import drain, next_lease
from airflow_coordination.stores import open_store


@pytest.fixture
def store(tmp_path):
    opened = open_store(f"sqlite:///{tmp_path / 'c.db'}")
    opened.setup()
    yield opened
    opened.close()


class Pauses:
    """What a drain takes for the module ``time``: it looks as often as it likes, and its pauses are counted."""

    monotonic = staticmethod(time.monotonic)

    def __init__(self):
        self.count = 0
        self.then = lambda: None

    def sleep(self, seconds):
        self.count += 1
        time.sleep(0.01)
        self.then()


@pytest.fixture
def pauses(monkeypatch):
    counted = Pauses()
    monkeypatch.setattr(draining, "time", counted)
    return counted


class KilledError(BaseException):
    """Its supplier's process dies: nothing is given back."""


def die_over_the_supplier(store, monkeypatch):
    rival = SourceCoordinator(store, "flights", "rival", ownership_timeout=timedelta(seconds=1))

    def killed(state):
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr("airflow_coordination.leases.tenures.Tenures.end", lambda *_: None)
        with pytest.raises(KilledError):
            rival.run_supplier(killed)
    assert rival.supplying.supplier_rival() is None, "its own"


def test_l4_a_drain_takes_a_dead_suppliers_place(store, pauses, monkeypatch, caplog):
    """L4: it ended as if all were done; what the rival would have listed, nobody listed."""
    die_over_the_supplier(store, monkeypatch)
    mine = SourceCoordinator(store, "flights", "mine")
    assert mine.get_next_partition(lambda state: ["a"]) is None
    assert next_lease(mine, lambda state: ["a"]).key == "a"
    assert pauses.count
    assert [line for line in caplog.messages if "'rival' holds the lease of the supplier until" in line][1:] == []


def test_a_drain_waits_for_what_a_rival_lists(store, pauses):
    """It lists when the drain has waited twice."""
    begun, looked = threading.Event(), threading.Event()

    def slow(state):
        begun.set()
        assert looked.wait(30)
        return ["a"]

    thread = threading.Thread(target=SourceCoordinator(store, "flights", "rival").run_supplier, args=[slow])
    thread.start()
    assert begun.wait(30)

    def go_on():
        if pauses.count == 2:
            looked.set()
            thread.join(30)

    pauses.then = go_on
    lease = next_lease(SourceCoordinator(store, "flights", "mine"), lambda state: [])
    thread.join(30)
    assert lease.key == "a"


def test_x12_a_drain_says_that_its_source_is_paused(store, monkeypatch, caplog):
    flights = SourceCoordinator(store, "flights", "mine")
    flights.create_partitions(["a"])
    flights.pausing.pause(by="ana", why="the cluster is upgraded")
    monkeypatch.setattr("airflow_coordination.spark.draining.check_distributions", lambda: None)
    assert drain(lambda spark, lease: None, store=store, source="flights", spark=None).keys == ()
    assert "Source 'flights' is not drained: it was paused at" in caplog.text
    assert "by 'ana', who said 'the cluster is upgraded'" in caplog.text


def test_a_drain_ends_when_there_is_nothing_to_do(store, pauses):
    runs = []
    mine = SourceCoordinator(store, "flights", "mine")
    assert next_lease(mine, lambda state: runs.append(state) or []) is None
    assert len(runs) == 1
    assert next_lease(mine, None) is None
    assert pauses.count == 0
