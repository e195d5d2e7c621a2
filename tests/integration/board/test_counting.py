"""A source is counted once for all who look at it, and seen by those only who may."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event

import pytest

from airflow_coordination.board import counting
from airflow_coordination.board.counting import Counter
from airflow_coordination.leases import PartitionStatus
from airflow_coordination.testing.forwarding import ForwardingStore
from airflow_coordination.values.errors import StoreUnavailableError

SOURCE, OTHER = "flights|PARTITION", "other|PARTITION"


class Slow(ForwardingStore):
    """Counts one source when it may go on, and says which were counted."""

    def __init__(self, store):
        super().__init__(store)
        self.counted, self.begun, self.go_on, self.fails = [], Event(), Event(), False

    def counts(self, source):
        self.counted.append(source)
        if source == SOURCE:
            self.begun.set()
            assert self.go_on.wait(30)
            if self.fails:
                raise StoreUnavailableError("count", "gone")
        return super().counts(source)


@pytest.fixture
def slow(flights):
    slow = Slow(flights.store)
    yield slow
    slow.go_on.set()


def free(found):
    return found[SOURCE].counts[PartitionStatus.UNASSIGNED]


def test_many_who_look_at_once_cost_one_count(slow):
    counter = Counter()
    with ThreadPoolExecutor(8) as viewers:
        looks = [viewers.submit(counter.latest, slow, [SOURCE]) for _ in range(8)]
        assert slow.begun.wait(30)
        slow.go_on.set()
        assert {free(each.result(30)) for each in looks} == {1}
    assert slow.counted == [SOURCE]


def test_who_looks_waits_for_a_moment_only_and_then_sees_what_is_known(slow, monkeypatch):
    counter = Counter()
    monkeypatch.setattr(counting, "PATIENCE", 0.0)
    assert SOURCE not in counter.latest(slow, [SOURCE])
    monkeypatch.setattr(counting, "PATIENCE", 30.0)
    assert list(counter.latest(slow, [OTHER])) == [OTHER]  # one source waits for no other
    slow.go_on.set()
    assert free(counter.latest(slow, [SOURCE])) == 1
    assert slow.counted == [SOURCE, OTHER]


def test_old_numbers_are_shown_while_new_ones_are_counted(flights, slow, monkeypatch):
    monkeypatch.setattr(counting, "LIFE", 0.0)
    monkeypatch.setattr(counting, "SHARE", 0)
    counter = Counter()
    slow.go_on.set()
    assert free(counter.latest(slow, [SOURCE])) == 1
    flights.create_partitions(["another"])
    slow.go_on.clear()
    monkeypatch.setattr(counting, "PATIENCE", 0.0)
    before = counter.latest(slow, [SOURCE])
    assert free(before) == 1
    slow.go_on.set()
    monkeypatch.setattr(counting, "PATIENCE", 30.0)
    after = counter.latest(slow, [SOURCE])
    assert free(after) == 2
    assert after[SOURCE].at > before[SOURCE].at


def test_what_was_never_counted_comes_first(slow, monkeypatch):
    monkeypatch.setattr(counting, "LIFE", 0.0)
    monkeypatch.setattr(counting, "SHARE", 0)
    monkeypatch.setattr(counting, "_AT_ONCE", 1)
    slow.go_on.set()
    counter = Counter()
    counter.latest(slow, [SOURCE])
    counter.latest(slow, [SOURCE, OTHER])
    assert slow.counted == [SOURCE, OTHER, SOURCE]


def test_a_count_that_failed_is_told_and_not_kept(slow):
    counter = Counter()
    slow.go_on.set()
    slow.fails = True
    with pytest.raises(StoreUnavailableError):
        counter.latest(slow, [SOURCE])
    slow.fails = False
    assert free(counter.latest(slow, [SOURCE])) == 1


def test_a_count_is_kept_as_long_as_it_is_dear(slow, monkeypatch):
    """Counting takes 7 seconds by this clock, so that it is kept for 28."""
    now = [100.0]
    monkeypatch.setattr(counting, "monotonic", lambda: now[0])
    count = counting.count

    def dear(store, source, rows):
        began = now[0]
        now[0] += 7
        return replace(count(store, source), began=began, took=7.0)

    monkeypatch.setattr(counting, "count", dear)
    slow.go_on.set()
    counter = Counter()
    for at, number in ((100.0, 1), (127.9, 1), (128.0, 2)):
        now[0] = at
        counter.latest(slow, [SOURCE])
        assert len(slow.counted) == number


def test_what_one_has_counted_another_may_not_see(client, flights, token):
    def looked(role, team):
        headers = {"Authorization": f"Bearer {token(role, [team])}"}
        return client.get("/api/v1/sources", headers=headers).json()["stores"][0]["sources"]

    [ours] = looked("user", "ours")
    assert looked("user", "theirs") == []
    [again] = looked("viewer", "ours")
    assert again == {**ours, "may_act": False}  # one count for both, down to its time


def test_where_it_is_dear_to_be_sure_a_glance_is_enough(flights, monkeypatch):
    """On DynamoDB, where nothing moves: to be sure takes a reading of the whole source."""
    store = flights.store

    class Dear(ForwardingStore):
        def parts(self):
            return replace(super().parts(), glances=self)

        def glance(self, source):
            return replace(self.store.outlook(source), next_due=None, claimable=1)

        def outlook(self, source):
            raise AssertionError("it is not asked to be sure")

    assert counting.count(Dear(store), SOURCE).outlook.claimable == 1
