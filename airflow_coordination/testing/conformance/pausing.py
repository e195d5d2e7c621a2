"""Pausing a source: new tenures are held back, owners and sweeps go on; promise X12."""

# ruff: noqa: D102  a test's name says what it shows

from __future__ import annotations

from collections.abc import Callable

import pytest

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.metrics import CountingMetrics, Metric, full_name
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.pause import NEVER_PAUSED, OF_THE_SOURCE
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.writes import AcquireNext, Action, SetPause
from airflow_coordination.testing.conformance.workbench import MINUTE, Workbench, owner
from airflow_coordination.values.status import Outcome, PartitionStatus

WAYS: dict[str, Callable[[Workbench, str], Partition | None]] = {
    "in the order": lambda bench, key: bench.next(),
    "new first": lambda bench, key: bench.next(new_first=True),
    "by its key": lambda bench, key: bench.next(key),
    "by a hint": lambda bench, key: _hinted(bench, key),
}


def _hinted(bench: Workbench, key: str) -> Partition | None:
    answer = bench.hinted(key, bench.get(key).token)
    assert answer.applied or answer.partition == bench.get(key), "a refusal says what is there"
    return answer.partition if answer.applied else None


each_way = pytest.mark.parametrize("way", WAYS)


class Pausing:
    """Promise X12."""

    @pytest.fixture
    def pausing(self, store: PartitionStore, bench: Workbench) -> Workbench:
        """Return the bench of a store in which sources can be paused."""
        if not hasattr(store, "set_pause"):
            pytest.skip("this store knows of no pauses")
        return bench

    def test_nobody_has_ever_paused_it(self, pausing: Workbench) -> None:
        assert pausing.store.pause(pausing.source) == NEVER_PAUSED
        assert pausing.store.outlook(pausing.source).pause == NEVER_PAUSED

    @each_way
    def test_x12_nothing_is_acquired(self, pausing: Workbench, way: str) -> None:
        pausing.create("k")
        pausing.pause()
        assert WAYS[way](pausing, "k") is None
        assert pausing.get("k").token == 0
        pausing.resume()
        found = WAYS[way](pausing, "k")
        assert found is not None
        assert found.token == 1

    @each_way
    def test_x12_nothing_that_has_expired_is_taken_over(self, pausing: Workbench, way: str) -> None:
        held = pausing.new("k")
        pausing.expire()
        pausing.pause()
        assert WAYS[way](pausing, "k") is None
        assert pausing.get("k") == held

    @each_way
    def test_x12_nothing_that_is_due_is_acquired(self, pausing: Workbench, way: str) -> None:
        pausing.close(pausing.new("k"), MINUTE)
        pausing.clock.advance(2 * MINUTE)
        pausing.pause()
        assert WAYS[way](pausing, "k") is None
        assert pausing.get("k").status is PartitionStatus.CLOSED

    def test_x12_owners_go_on(self, pausing: Workbench) -> None:
        held = pausing.new("k")
        pausing.pause()
        assert pausing.renew(held).applied
        held = pausing.save(held, 1)
        assert pausing.complete(held).applied
        assert pausing.get("k").status is PartitionStatus.COMPLETED

    def test_x12_a_later_try_of_the_same_task_goes_on(self, pausing: Workbench) -> None:
        held = pausing.new("k", by=owner("task", 1))
        pausing.pause()
        taken = pausing.retake(held, by=owner("task", 2))
        assert taken.applied
        assert taken.partition is not None
        assert pausing.complete(taken.partition).applied

    def test_x12_completing_one_acquires_no_other(self, pausing: Workbench) -> None:
        if not pausing.store.has_fused_step:
            pytest.skip("this store has no fused step")
        for key, may_miss in ((None, False), (None, True), ("other", False)):
            held = pausing.new("mine")
            pausing.create("other")
            pausing.pause()
            following = AcquireNext(source=pausing.source, tenancy=pausing.tenancy(), key=key, may_miss=may_miss)
            answer = pausing.store.complete_and_acquire(pausing.completing(held), following)
            assert (answer.ended.applied, answer.next) == (True, None)
            assert pausing.get("mine").status is PartitionStatus.COMPLETED
            assert pausing.get("other").token == 0
            pausing.resume()
            pausing.act(Action.RESET, "mine")

    def test_x12_sweeps_and_creations_go_on(self, pausing: Workbench) -> None:
        pausing.close(pausing.new("closed"), MINUTE)
        lost = pausing.begin(pausing.new("lost")).partition
        assert lost is not None
        pausing.pause()
        pausing.expire()
        swept = pausing.sweep()
        assert (swept.reopened, swept.reclaimed) == (1, 1)
        assert pausing.get("lost").endings[-1].outcome is Outcome.LOST
        assert pausing.create("new").created == 1
        assert pausing.next() is None

    def test_x12_people_go_on(self, pausing: Workbench) -> None:
        pausing.new("k")
        pausing.pause()
        for action, status in (
            (Action.RELEASE, PartitionStatus.UNASSIGNED),
            (Action.PARK, PartitionStatus.CLOSED),
            (Action.REOPEN, PartitionStatus.UNASSIGNED),
        ):
            pausing.act(action, "k")
            assert pausing.get("k").status is status
        assert pausing.next() is None

    def test_x12_another_source_goes_on(self, pausing: Workbench) -> None:
        pausing.pause()
        other = Workbench(pausing.store, pausing.clock, "other|PARTITION")
        assert other.new("k").token == 1

    def test_z5_nothing_acquired_counts_only_where_nothing_is_free_and_the_source_goes_on(
        self, pausing: Workbench
    ) -> None:
        """Z5: neither what a pause holds back is counted, nor a named partition that is held."""
        metrics = CountingMetrics()
        one = SourceCoordinator(pausing.store, "flights", owner().text, metrics=metrics, clock=pausing.clock)
        pausing.new("held")
        pausing.create("free")
        assert one.acquire_partition("held") is None
        pausing.pause()
        assert one.get_next_partition() is None
        assert metrics.counts.get(full_name("flights", Metric.NONE_ACQUIRED), 0) == 0
        pausing.resume()
        lease = one.get_next_partition()
        assert lease is not None
        pausing.pause()
        assert one.complete_and_get_next(lease) is None
        assert metrics.counts.get(full_name("flights", Metric.NONE_ACQUIRED), 0) == 0
        pausing.resume()
        assert one.get_next_partition() is None
        assert metrics.counts[full_name("flights", Metric.NONE_ACQUIRED)] == 1

    def test_it_says_who_paused_and_who_resumed(self, pausing: Workbench) -> None:
        pausing.pause(by="ana", why="Spark is ill")
        paused, at = pausing.store.pause(pausing.source), pausing.clock.now()
        assert (paused.paused, paused.by, paused.why, paused.at) == (True, "ana", "Spark is ill", at)
        assert pausing.store.outlook(pausing.source).pause == paused
        pausing.clock.advance(MINUTE)
        pausing.resume(by="bob", why="it is well")
        resumed = pausing.store.pause(pausing.source)
        assert (resumed.paused, resumed.by, resumed.why, resumed.at) == (False, "bob", "it is well", at + MINUTE)
        assert pausing.store.outlook(pausing.source).pause == resumed
        lines = [
            (each["key"], each["action"], each["by"], each["why"], each["at"])
            for each in pausing.store.audit(pausing.source, OF_THE_SOURCE)
        ]
        assert lines == [
            (OF_THE_SOURCE, "pause", "ana", "Spark is ill", at),
            (OF_THE_SOURCE, "resume", "bob", "it is well", at + MINUTE),
        ]

    def test_a_second_copy_of_a_pause_does_nothing_also_after_it_was_resumed(self, pausing: Workbench) -> None:
        write = SetPause(source=pausing.source, op=pausing.op(), paused=True, seen=None, by="ana", why="why")
        assert pausing.store.set_pause(write).applied
        assert not pausing.store.set_pause(write).applied
        pausing.resume()
        assert not pausing.store.set_pause(write).applied
        assert not pausing.store.pause(pausing.source).paused
        assert len(pausing.store.audit(pausing.source, OF_THE_SOURCE)) == 2

    def test_what_was_done_to_a_source_stands_among_what_was_done_in_it(self, pausing: Workbench) -> None:
        """The pause itself is no action, wherever a store keeps it."""
        pausing.create("a")
        for act in (pausing.pause, pausing.resume, lambda: pausing.act(Action.PARK, "a")):
            pausing.clock.advance(MINUTE)
            act()
        told = [(entry["key"], entry["action"]) for entry in pausing.store.audit(pausing.source, None)]
        assert told == [(OF_THE_SOURCE, "pause"), (OF_THE_SOURCE, "resume"), ("a", "park")]

    def test_of_two_who_pause_at_once_one_is_told(self, pausing: Workbench) -> None:
        one, other = (
            SetPause(source=pausing.source, op=pausing.op(), paused=True, seen=None, by=by, why="why")
            for by in ("ana", "bob")
        )
        assert pausing.store.set_pause(one).pause == pausing.store.pause(pausing.source)
        answer = pausing.store.set_pause(other)
        assert (answer.applied, answer.pause) == (False, pausing.store.pause(pausing.source))
        assert answer.pause.by == "ana"

    def test_registering_the_source_again_leaves_it_paused(self, pausing: Workbench) -> None:
        pausing.store.register(pausing.source, {"dag_ids": ["one"]})
        pausing.pause()
        pausing.store.register(pausing.source, {"dag_ids": ["one", "two"]})
        assert pausing.store.pause(pausing.source).paused
        assert dict(pausing.store.sources())[pausing.source] == {"dag_ids": ["one", "two"]}
