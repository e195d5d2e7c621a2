"""The brake: what fails one after the other of one error is counted beside the source, and pauses it (X13)."""

# ruff: noqa: D102  a test's name says what it shows

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from itertools import count
from typing import Any

import pytest

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.port import PartitionStore, counts_failures, pause_holds_after
from airflow_coordination.protocol.results import Answer
from airflow_coordination.protocol.writes import AcquireNext, End
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.conformance.concurrency import at_once
from airflow_coordination.testing.conformance.workbench import MINUTE, Workbench, owner
from airflow_coordination.values.failing import MOST_COUNTED, Failing
from airflow_coordination.values.settings import Settings
from airflow_coordination.values.status import Outcome, PartitionStatus

_PARTITIONS = 300
_DAY = timedelta(days=1)
_FIRST = 3
"""So many failures it takes at most until they count, where processes believe for a while that nothing fails."""


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
        failing = self.bench.store.pause(self.bench.source).failing
        return 0 if failing is None else failing.number

    def begin(self, error: str = "no table 7") -> int:
        """Fail until it counts, and return how many are counted."""
        for _ in range(_FIRST):
            self.fail(error)
            if self.number:
                return self.number
            self.bench.clock.advance(2 * pause_holds_after(self.bench.store) + MINUTE)
        pytest.fail("no failure was ever counted")


class Braking:
    """Promise X13."""

    @pytest.fixture
    def failures(self, store: PartitionStore, bench: Workbench) -> Failures:
        """Return what fails in a store that counts failures."""
        if not counts_failures(store):
            pytest.skip("this store counts no failures")
        store.register(bench.source, {})
        return Failures(bench)

    def test_x13_nothing_has_failed(self, failures: Failures) -> None:
        bench = failures.bench
        bench.complete(bench.new("well"))
        assert bench.store.pause(bench.source).failing is None
        assert bench.store.outlook(bench.source).pause.failing is None

    def test_x13_each_partition_counts(self, failures: Failures) -> None:
        begun = failures.begin()
        for more in range(1, 4):
            failures.fail(f"no table {more}")
            assert failures.number == begun + more
        found = failures.bench.store.pause(failures.bench.source).failing
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
        assert failures.bench.store.pause(failures.bench.source).failing == Failing("no memory", failures.number)
        failures.fail("no table")
        assert failures.number <= 1

    @pytest.mark.parametrize("well", ["complete", "close"])
    def test_x13_a_success_begins_anew(self, failures: Failures, well: str) -> None:
        bench = failures.bench
        for _ in range(3):
            failures.begin()
        getattr(bench, well)(bench.new("well"))
        assert bench.store.pause(bench.source).failing is None
        failures.fail()
        assert failures.number <= 1

    def test_x13_completing_and_acquiring_the_next_begins_anew(self, failures: Failures) -> None:
        bench = failures.bench
        if not bench.store.has_fused_step:
            pytest.skip("this store has no fused step")
        held = bench.new("well")
        failures.begin()
        following = AcquireNext(source=bench.source, tenancy=bench.tenancy())
        assert bench.store.complete_and_acquire(bench.completing(held), following).ended.applied
        assert bench.store.pause(bench.source).failing is None

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
        assert bench.store.pause(bench.source).failing is None
        failures.fail()
        assert failures.number <= 1

    def test_x13_a_source_that_only_fails_can_be_paused_by_who_saw_no_pause(self, failures: Failures) -> None:
        failures.begin()
        assert failures.bench.store.pause(failures.bench.source).op is None
        failures.bench.pause(by="ana", why="it fails")
        assert failures.bench.store.pause(failures.bench.source).by == "ana"

    def test_x13_another_source_is_not_counted(self, failures: Failures) -> None:
        failures.begin()
        assert failures.bench.store.pause("other|PARTITION").failing is None

    def test_x13_no_failure_is_lost_beside_others(self, failures: Failures) -> None:
        begun, bench = failures.begin(), failures.bench
        writers = min(8, int(getattr(self, "writers", 8)))
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
        paused = coordinator.current_pause()
        assert (paused.paused, paused.by, paused.braked) == (True, "the brake", True)
        assert "10 partitions failed of one error, one after the other: no table '#'" in str(paused.why)
        assert "resume --source flights" in str(paused.why)
        assert tried == left
        assert coordinator.get_next_partition() is None
        coordinator.resume("ana", "the table is there")
        left = 10 - failures.begin("no table '7'")
        assert sum(1 for _ in _tries(coordinator)) == left
        assert coordinator.current_pause().braked

    def test_b4_one_that_does_well_now_and_then_goes_on(self, failures: Failures, clock: FakeClock) -> None:
        coordinator = _coordinator(failures, clock, brake_after=3)
        coordinator.create_partitions([f"{number:03}" for number in range(20)])
        for number, lease in enumerate(iter(coordinator.get_next_partition, None)):
            assert lease is not None
            if number % 3 == 2:
                coordinator.complete(lease)
            else:
                coordinator.fail(lease, "no table", retry_after=_DAY)
        assert not coordinator.current_pause().paused
        assert number == 19

    def test_b4_without_the_brake_it_goes_on(self, failures: Failures, clock: FakeClock) -> None:
        coordinator = _coordinator(failures, clock, brake_after=0)
        coordinator.create_partitions([f"{number:03}" for number in range(20)])
        assert sum(1 for _ in _tries(coordinator)) == 20
        assert not coordinator.current_pause().paused


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
