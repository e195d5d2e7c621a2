"""Pausing a source (X12), and the brake that pauses one by itself (X13)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from itertools import count
from typing import Any

import pytest

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.metrics import CountingMetrics, Metric, full_name
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.pause import NEVER_PAUSED, OF_THE_SOURCE
from airflow_coordination.protocol.results import Answer
from airflow_coordination.protocol.writes import AcquireNext, Action, End, SetPause
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.conformance.fixtures import MINUTE, Workbench, owner
from airflow_coordination.testing.conformance.lost_answers import at_once
from airflow_coordination.values.failing import MOST_COUNTED, Failing
from airflow_coordination.values.settings import Settings
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


MOMENT = timedelta(milliseconds=1)
each_way = pytest.mark.parametrize("way", WAYS)


class Pausing:
    """Promise X12."""

    @pytest.fixture
    def pausing(self, bench: Workbench) -> Workbench:
        """Return the bench of a store in which sources can be paused."""
        assert not bench.pauses.pause(bench.source).paused
        return bench

    def test_nobody_has_ever_paused_it(self, pausing: Workbench) -> None:
        assert pausing.pauses.pause(pausing.source) == NEVER_PAUSED
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
        for key, may_miss in ((None, False), (None, True), ("other", False)):
            held = pausing.new("mine")
            pausing.create("other")
            pausing.pause()
            following = AcquireNext(source=pausing.source, tenancy=pausing.tenancy(), key=key, may_miss=may_miss)
            answer = pausing.fused.complete_and_acquire(pausing.completing(held), following)
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
        paused, at = pausing.pauses.pause(pausing.source), pausing.clock.now()
        assert (paused.paused, paused.by, paused.why, paused.at) == (True, "ana", "Spark is ill", at)
        assert pausing.store.outlook(pausing.source).pause == paused
        pausing.clock.advance(MINUTE)
        pausing.resume(by="bob", why="it is well")
        resumed = pausing.pauses.pause(pausing.source)
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
        assert pausing.pauses.set_pause(write).applied
        assert not pausing.pauses.set_pause(write).applied
        pausing.resume()
        assert not pausing.pauses.set_pause(write).applied
        assert not pausing.pauses.pause(pausing.source).paused
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
        assert pausing.pauses.set_pause(one).pause == pausing.pauses.pause(pausing.source)
        answer = pausing.pauses.set_pause(other)
        assert (answer.applied, answer.pause) == (False, pausing.pauses.pause(pausing.source))
        assert answer.pause.by == "ana"

    @each_way
    def test_x12_a_pause_with_an_end_ends_by_the_store_s_clock(self, pausing: Workbench, way: str) -> None:
        pausing.create("k")
        pausing.pause(lasts=2 * MINUTE)
        until = pausing.clock.now() + 2 * MINUTE
        seen = pausing.pauses.pause(pausing.source)
        assert (seen.paused, seen.until, seen.unending, seen.over) == (True, until, False, False)
        pausing.clock.advance(2 * MINUTE - MOMENT)
        assert WAYS[way](pausing, "k") is None
        assert pausing.pauses.holds_back(pausing.source)
        pausing.clock.advance(MOMENT)
        found = WAYS[way](pausing, "k")
        assert found is not None
        assert found.token == 1
        ended = pausing.pauses.pause(pausing.source)
        assert (ended.paused, ended.until, ended.over, ended.op) == (False, until, True, seen.op)
        assert pausing.store.outlook(pausing.source).pause == ended
        assert not pausing.pauses.holds_back(pausing.source)

    def test_x12_completing_one_acquires_the_next_when_the_pause_has_ended(self, pausing: Workbench) -> None:
        held = pausing.new("mine")
        pausing.create("other")
        pausing.pause(lasts=MINUTE)
        pausing.clock.advance(MINUTE)
        following = AcquireNext(source=pausing.source, tenancy=pausing.tenancy())
        answer = pausing.fused.complete_and_acquire(pausing.completing(held), following)
        assert answer.ended.applied
        assert answer.next is not None

    def test_an_end_is_that_of_its_own_pause(self, pausing: Workbench) -> None:
        """Paused, resumed and paused anew, it does not end when the first one would have."""
        pausing.create("k")
        pausing.pause(lasts=2 * MINUTE)
        pausing.resume()
        assert pausing.pauses.pause(pausing.source).until is None
        pausing.pause()
        pausing.clock.advance(3 * MINUTE)
        assert pausing.pauses.pause(pausing.source).unending
        assert pausing.next() is None

    def test_what_has_ended_is_paused_anew_and_for_longer(self, pausing: Workbench) -> None:
        pausing.create("k")
        pausing.pause(lasts=MINUTE)
        pausing.clock.advance(MINUTE)
        pausing.pause(by="bob", lasts=5 * MINUTE)
        assert pausing.pauses.pause(pausing.source).by == "bob"
        assert pausing.next() is None
        pausing.clock.advance(MINUTE)
        pausing.pause(by="ana")
        assert pausing.pauses.pause(pausing.source).unending, "who pauses for good takes over what has an end"
        said = [(each["action"], each["by"]) for each in pausing.store.audit(pausing.source, OF_THE_SOURCE)]
        assert said == [("pause", "ana"), ("pause", "bob"), ("pause", "ana")]

    def test_a_second_copy_of_a_pause_with_an_end_does_nothing_when_it_has_ended(self, pausing: Workbench) -> None:
        """It would hold back what has gone on since."""
        lasts = {"lasts": MINUTE}
        write = SetPause(source=pausing.source, op=pausing.op(), paused=True, seen=None, by="ana", why="why", **lasts)
        assert pausing.pauses.set_pause(write).pause.until == pausing.clock.now() + MINUTE
        pausing.clock.advance(2 * MINUTE)
        answer = pausing.pauses.set_pause(write)
        assert (answer.applied, answer.pause.over) == (False, True)

    def test_registering_the_source_again_leaves_it_paused(self, pausing: Workbench) -> None:
        pausing.store.register(pausing.source, {"dag_ids": ["one"]})
        pausing.pause()
        pausing.store.register(pausing.source, {"dag_ids": ["one", "two"]})
        assert pausing.pauses.pause(pausing.source).paused
        assert dict(pausing.store.sources())[pausing.source] == {"dag_ids": ["one", "two"]}


_PARTITIONS = 300
_DAY = timedelta(days=1)
_FIRST = 3
"""The most failures until they count, where processes believe for a while that nothing fails."""


class Failures:
    """Fails partitions of one source, each a new one."""

    def __init__(self, bench: Workbench) -> None:
        self.bench = bench
        self._numbers = count()

    def fail(self, error: str = "no table 7") -> Answer:
        """Create a partition, acquire it, and fail for a day."""
        return self.bench.fail(self.bench.new(f"failing-{next(self._numbers)}"), _DAY, error)

    @property
    def number(self) -> int:
        """How many partitions are counted."""
        failing = self.bench.pauses.pause(self.bench.source).failing
        return 0 if failing is None else failing.number

    def begin(self, error: str = "no table 7") -> int:
        """Fail until it counts, and return how many are counted."""
        for _ in range(_FIRST):
            self.fail(error)
            if self.number:
                return self.number
            self.bench.clock.advance(2 * self.bench.pauses.pause_holds_after + MINUTE)
        pytest.fail("no failure was ever counted")


class Braking:
    """Promise X13."""

    @pytest.fixture
    def failures(self, bench: Workbench) -> Failures:
        """Return what fails in a store that can pause sources."""
        assert bench.pauses.pause(bench.source).failing is None
        bench.store.register(bench.source, {})
        return Failures(bench)

    def test_x13_nothing_has_failed(self, failures: Failures) -> None:
        bench = failures.bench
        bench.complete(bench.new("well"))
        assert bench.pauses.pause(bench.source).failing is None
        assert bench.store.outlook(bench.source).pause.failing is None

    def test_x13_each_partition_counts(self, failures: Failures) -> None:
        begun = failures.begin()
        for more in range(1, 4):
            failures.fail(f"no table {more}")
            assert failures.number == begun + more
        found = failures.bench.pauses.pause(failures.bench.source).failing
        assert found == Failing("no table #", begun + 3)
        assert failures.bench.store.outlook(failures.bench.source).pause.failing == found

    def test_x13_a_partition_counts_once(self, failures: Failures) -> None:
        failures.begin()
        bench = failures.bench
        bench.fail(bench.new("again"), error="no table 1")
        counted = failures.number
        for _ in range(3):
            bench.fail(bench.acquire("again"), error="no table 2")
        assert failures.number == counted

    def test_x13_an_ending_that_comes_twice_counts_once(self, failures: Failures) -> None:
        begun, bench = failures.begin(), failures.bench
        end = _failing(bench)
        assert bench.store.write(end).applied
        assert not bench.store.write(end).applied
        assert failures.number == begun + 1

    def test_x13_a_refused_ending_does_not_count(self, failures: Failures) -> None:
        begun, bench = failures.begin(), failures.bench
        end = _failing(bench)
        bench.expire()
        bench.complete(bench.acquire("twice"))
        begun = failures.begin()
        assert not bench.store.write(end).applied
        assert failures.number == begun

    def test_x13_another_error_begins_anew(self, failures: Failures) -> None:
        for _ in range(3):
            failures.begin("no table")
        failures.fail("no memory")
        assert failures.number <= 1
        assert failures.bench.pauses.pause(failures.bench.source).failing == Failing("no memory", failures.number)
        failures.fail("no table")
        assert failures.number <= 1

    @pytest.mark.parametrize("well", ["complete", "close"])
    def test_x13_a_success_begins_anew(self, failures: Failures, well: str) -> None:
        bench = failures.bench
        for _ in range(3):
            failures.begin()
        getattr(bench, well)(bench.new("well"))
        assert bench.pauses.pause(bench.source).failing is None
        failures.fail()
        assert failures.number <= 1

    def test_x13_completing_and_acquiring_the_next_begins_anew(self, failures: Failures) -> None:
        bench = failures.bench
        held = bench.new("well")
        failures.begin()
        following = AcquireNext(source=bench.source, tenancy=bench.tenancy())
        assert bench.fused.complete_and_acquire(bench.completing(held), following).ended.applied
        assert bench.pauses.pause(bench.source).failing is None

    def test_x13_who_gives_up_or_is_lost_changes_nothing(self, failures: Failures) -> None:
        begun, bench = failures.begin(), failures.bench
        bench.give_up(bench.new("given up"))
        bench.begin(bench.new("lost"))
        bench.expire()
        assert bench.sweep().reclaimed == 1
        assert failures.number == begun

    def test_x13_pausing_and_resuming_begins_anew(self, failures: Failures) -> None:
        bench = failures.bench
        for _ in range(3):
            failures.begin()
        bench.pause()
        bench.resume()
        assert bench.pauses.pause(bench.source).failing is None
        failures.fail()
        assert failures.number <= 1

    def test_x13_a_source_that_only_fails_can_be_paused_by_who_saw_no_pause(self, failures: Failures) -> None:
        failures.begin()
        assert failures.bench.pauses.pause(failures.bench.source).op is None
        failures.bench.pause(by="ana", why="it fails")
        assert failures.bench.pauses.pause(failures.bench.source).by == "ana"

    def test_x13_another_source_is_not_counted(self, failures: Failures) -> None:
        failures.begin()
        assert failures.bench.pauses.pause("other|PARTITION").failing is None

    def test_x13_no_failure_is_lost_beside_others(self, failures: Failures, most_writers: int) -> None:
        begun, bench = failures.begin(), failures.bench
        writers = min(8, most_writers)
        held = [bench.new(f"at-once-{number}") for number in range(writers)]
        answers = at_once([partial(bench.fail, one, _DAY, "no table 9") for one in held])
        assert all(answer.applied for answer in answers)
        assert failures.number == begun + writers

    def test_x13_it_remembers_no_more_than_it_must(self, failures: Failures) -> None:
        begun = failures.begin()
        for _ in range(MOST_COUNTED - begun + 3):
            failures.fail()
        assert failures.number == MOST_COUNTED

    def test_b4_a_source_that_only_fails_pauses_itself(self, failures: Failures, clock: FakeClock) -> None:
        """B4: of 300 partitions the setting's number fails, and what goes on afterwards is resumed by a person."""
        coordinator = _coordinator(failures, clock)
        coordinator.create_partitions([f"{number:03}" for number in range(_PARTITIONS)])
        left = 10 - failures.begin("no table '7'")
        tried = sum(1 for _ in _tries(coordinator))
        paused = coordinator.pausing.current_pause()
        assert (paused.paused, paused.by, paused.braked) == (True, "the brake", True)
        assert "10 partitions failed of one error, one after the other: no table '#'" in str(paused.why)
        assert "resume flights" in str(paused.why)
        assert tried == left
        assert coordinator.get_next_partition() is None
        coordinator.pausing.resume("ana", "the table is there")
        left = 10 - failures.begin("no table '7'")
        assert sum(1 for _ in _tries(coordinator)) == left
        assert coordinator.pausing.current_pause().braked

    def test_b4_one_that_does_well_now_and_then_goes_on(self, failures: Failures, clock: FakeClock) -> None:
        coordinator = _coordinator(failures, clock, brake_after=3)
        coordinator.create_partitions([f"{number:03}" for number in range(20)])
        for number, lease in enumerate(iter(coordinator.get_next_partition, None)):
            assert lease is not None
            if number % 3 == 2:
                coordinator.complete(lease)
            else:
                coordinator.fail(lease, "no table", retry_after=_DAY)
        assert not coordinator.pausing.current_pause().paused
        assert number == 19

    def test_b4_without_the_brake_it_goes_on(self, failures: Failures, clock: FakeClock) -> None:
        coordinator = _coordinator(failures, clock, brake_after=0)
        coordinator.create_partitions([f"{number:03}" for number in range(20)])
        assert sum(1 for _ in _tries(coordinator)) == 20
        assert not coordinator.pausing.current_pause().paused


def _failing(bench: Workbench) -> End:
    held = bench.new("twice")
    status = PartitionStatus.UNASSIGNED
    return bench.ending(held, Outcome.FAILED, status, failures=1, last_error="no table 3", delay=timedelta(0))


def _coordinator(failures: Failures, clock: FakeClock, brake_after: int = 10) -> SourceCoordinator:
    """Return a coordinator of the bench's source, in which what fails counts from now on."""
    options: dict[str, Any] = {"settings": Settings(brake_after=brake_after), "clock": clock}
    return SourceCoordinator(failures.bench.store, "flights", owner().text, **options)


def _tries(coordinator: SourceCoordinator) -> Iterator[None]:
    """Acquire and fail until nothing can be acquired."""
    while (lease := coordinator.get_next_partition()) is not None:
        coordinator.fail(lease, f"no table '{lease.partition.key}'\nand more", retry_after=_DAY)
        yield
