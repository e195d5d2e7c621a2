"""A source is counted once for all who look at it, and seen by those only who may."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from airflow_coordination.board import counting
from airflow_coordination.board.counting import LIFE, counted
from airflow_coordination.leases import PartitionStatus
from airflow_coordination.leases.errors import StoreUnavailableError
from airflow_coordination.testing.forwarding import ForwardingStore

SOURCE = "flights|PARTITION"


class Counting(ForwardingStore):
    """Says which calls it was asked for; the first count waits until it may go on, and may fail."""

    def __init__(self, store):
        super().__init__(store)
        self.asked, self.begun, self.go_on, self.fails = [], Event(), Event(), False

    def forward(self, name, call):
        if name == "counts":
            self.begun.set()
            assert self.go_on.wait(30)
            if self.fails:
                raise StoreUnavailableError("count", "gone")
        self.asked.append(name)
        return call()


@pytest.fixture
def watched(flights):
    return Counting(flights.store)


def test_many_who_look_at_once_cost_one_count(watched):
    with ThreadPoolExecutor(8) as viewers:
        first = viewers.submit(counted, watched, SOURCE)
        assert watched.begun.wait(30)
        others = [viewers.submit(counted, watched, SOURCE) for _ in range(7)]
        watched.go_on.set()
        found = {id(each.result(30)) for each in (first, *others)}
    assert len(found) == 1
    assert sorted(watched.asked) == ["counts", "now", "outlook"]


def test_one_source_waits_for_no_other(flights, watched):
    with ThreadPoolExecutor(1) as viewer:
        slow = viewer.submit(counted, watched, SOURCE)
        assert watched.begun.wait(30)
        assert counted(flights.store, SOURCE).counts[PartitionStatus.UNASSIGNED] == 1
        assert not slow.done()
        watched.go_on.set()
        slow.result(30)


def test_a_count_that_failed_is_not_kept(watched):
    watched.go_on.set()
    watched.fails = True
    with pytest.raises(StoreUnavailableError):
        counted(watched, SOURCE)
    watched.fails = False
    assert counted(watched, SOURCE).outlook.claimable == 1


def test_a_count_is_kept_for_its_life_and_no_longer(flights, monkeypatch):
    before = counted(flights.store, SOURCE)
    assert before.life >= LIFE
    flights.create_partitions(["another"])
    assert counted(flights.store, SOURCE) is before
    monkeypatch.setattr(counting, "LIFE", 0.0)
    monkeypatch.setattr(counting, "SHARE", 0)
    other = ForwardingStore(flights.store)
    for key, number in (("b", 3), ("c", 4)):
        flights.create_partitions([key])
        assert counted(other, SOURCE).counts[PartitionStatus.UNASSIGNED] == number


def test_what_takes_long_is_counted_the_less_often(flights, monkeypatch):
    clock = iter((100.0, 107.0))
    monkeypatch.setattr(counting, "monotonic", lambda: next(clock))
    assert counted(flights.store, SOURCE).life == 70.0


def test_what_one_has_counted_another_may_not_see(client, flights, token):
    def looked(role, team):
        headers = {"Authorization": f"Bearer {token(role, [team])}"}
        return client.get("/api/v1/sources", headers=headers).json()["stores"][0]["sources"]

    [ours] = looked("user", "ours")
    assert looked("user", "theirs") == []
    [again] = looked("viewer", "ours")
    assert again == {**ours, "may_act": False}  # one count for both, down to its time
