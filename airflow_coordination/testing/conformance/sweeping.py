"""Sweeps: reopening what is due, reclaiming what has expired; and what parks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import Swept
from airflow_coordination.protocol.writes import Action
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.conformance.coordinator_cases import Coordinators, acquired
from airflow_coordination.testing.conformance.fixtures import MAX_LOST, MINUTE, TIMEOUT, Workbench, fence, owner
from airflow_coordination.values.status import PartitionStatus, Rank

S = PartitionStatus


class Sweeping:
    """Rows *reclaim* and *reopen* of the table; promises L5, S8, S9."""

    def test_nothing_to_sweep(self, bench: Workbench) -> None:
        bench.create("free")
        bench.new("held")
        bench.close(bench.new("closed"))
        bench.fail(bench.new("parked"), delay=None)
        bench.complete(bench.new("done"))
        before = list(bench.store.page(bench.source, None, None, 9))
        assert bench.sweep() == Swept()
        assert list(bench.store.page(bench.source, None, None, 9)) == before

    def test_a_due_partition_is_reopened_in_its_place(self, bench: Workbench) -> None:
        bench.close(bench.new("k"), reopen_after=MINUTE)
        due = bench.get("k").reopen_at
        bench.clock.advance(3 * MINUTE)
        assert bench.sweep() == Swept(reopened=1)
        opened = bench.get("k")
        assert (opened.status, opened.rank, opened.reopen_at) == (S.UNASSIGNED, Rank.REOPENED, None)
        assert opened.available_at == due
        assert opened.closed_count == 1

    def test_an_expired_lease_is_reclaimed_in_its_place(self, bench: Workbench) -> None:
        held = bench.save(bench.new("k"), {"row": 1})
        bench.clock.advance(20 * MINUTE)
        assert bench.sweep() == Swept(reclaimed=1)
        free = bench.get("k")
        assert (free.status, free.rank, free.lost_leases) == (S.UNASSIGNED, Rank.CRASHED, 1)
        assert free.available_at == held.ownership_timeout
        assert (free.owner, free.ownership_timeout) == (None, None)
        assert (free.token, free.progress_state) == (held.token, {"row": 1})

    def test_a_sweep_is_idempotent(self, bench: Workbench) -> None:
        bench.save(bench.new("lost"), 1)
        bench.close(bench.new("closed"))
        bench.expire()
        assert bench.sweep() == Swept(reopened=1, reclaimed=1)
        assert bench.sweep() == Swept()

    def test_a_sweep_takes_at_most_its_limit_of_each(self, bench: Workbench) -> None:
        bench.create(*(f"{kind}-{number}" for kind in ("closed", "lost") for number in range(5)))
        for number in range(5):
            bench.close(bench.acquire(f"closed-{number}"), reopen_after=2 * MINUTE)
            bench.acquire(f"lost-{number}", timeout=MINUTE)
        bench.expire()
        assert [bench.sweep(limit=2) for _ in range(4)] == [
            Swept(reopened=2, reclaimed=2),
            Swept(reopened=2, reclaimed=2),
            Swept(reopened=1, reclaimed=1),
            Swept(),
        ]

    def test_l5_the_last_lost_lease_parks_and_says_why(self, bench: Workbench) -> None:
        bench.create("poison")
        for _ in range(MAX_LOST - 1):
            held = bench.save(bench.acquire("poison"), 1)
            bench.expire()
            assert bench.sweep() == Swept(reclaimed=1)
        held = bench.save(bench.acquire("poison"), 1)
        bench.expire()
        assert bench.sweep() == Swept(parked=1)
        parked = bench.get("poison")
        assert (parked.parked, parked.lost_leases, parked.progress_state) == (True, MAX_LOST, 1)
        assert str(MAX_LOST) in (parked.last_error or "")
        ending = parked.ending_of(fence(held))
        assert ending is not None
        assert ending.status_after is S.CLOSED

    def test_leases_that_saw_no_owner_write_count_nothing(self, bench: Workbench) -> None:
        """An acquisition whose answer was lost must not park a healthy partition."""
        bench.create("k")
        for number in range(3 * MAX_LOST):
            bench.acquire()
            bench.expire()
            if number % 2:
                bench.sweep()
        now: Partition = bench.get("k")
        assert now.lost_leases == 0
        assert bench.next() is not None

    def test_a_renewal_alone_makes_a_lost_lease_count(self, bench: Workbench) -> None:
        bench.renew(bench.new("k"))
        bench.expire()
        bench.sweep()
        assert bench.get("k").lost_leases == 1

    def test_a_take_over_counts_like_a_sweep(self, bench: Workbench) -> None:
        bench.renew(bench.new("k"))
        bench.expire()
        assert (bench.acquire().lost_leases, bench.get("k").lost_leases) == (1, 1)

    def test_sweeps_leave_other_sources_alone(self, bench: Workbench) -> None:
        bench.close(bench.new("k"))
        bench.expire()
        other = Workbench(bench.store, bench.clock, source="other|PARTITION")
        assert other.sweep() == Swept()
        assert bench.sweep() == Swept(reopened=1)

    def test_e17_a_sweep_is_not_held_up_by_other_sources(self, bench: Workbench) -> None:
        """E17: what is due there longer uses up no limit here, and is left alone under the same key."""
        other = Workbench(bench.store, bench.clock, source="other|PARTITION")
        before = []
        for key in ("longer due", "k"):
            before.append(other.new(key))
            bench.clock.advance(MINUTE)
        bench.new("k")
        bench.expire()
        assert bench.sweep(limit=1) == Swept(reclaimed=1)
        assert [other.get(held.key) for held in before] == before

    def test_e17_a_sweep_is_not_held_up_by_renewed_leases(self, bench: Workbench) -> None:
        """E17: an index may still have the time at which a lease would have ended; that uses up a limit once."""
        renewed = bench.new("renewed")
        bench.clock.advance(MINUTE)
        bench.new("lost")
        bench.clock.advance(3 * MINUTE)
        bench.renew(renewed)
        bench.clock.advance(7 * MINUTE)
        assert Swept(reclaimed=1) in [bench.sweep(limit=1), bench.sweep(limit=1)]
        assert bench.get("renewed").status is S.ASSIGNED


Judge = Callable[[Workbench, Partition, int], bool]
JUDGES: dict[str, Judge] = {
    "order": lambda bench, seen, own: bench.next(max_lost_leases=own) is not None,
    "key": lambda bench, seen, own: bench.next(seen.key, max_lost_leases=own) is not None,
    "hint": lambda bench, seen, own: bench.hinted(seen.key, seen.token, max_lost_leases=own).applied,
    "retake": lambda bench, seen, own: bench.retake(seen, by=owner(try_number=2), max_lost_leases=own).applied,
    "sweep": lambda bench, seen, own: bench.sweep(max_lost_leases=own) == Swept(reclaimed=1),
}
"""Who judges a lease that has expired: whether the partition is still to be had, by one with a limit of its own."""


class Limits:
    """The limit of the lease is in force, whoever finds it expired (E11); failures count in a row (A14)."""

    @pytest.mark.parametrize("judge", JUDGES)
    def test_e11_the_leases_limit_is_in_force_not_the_judges(self, bench: Workbench, judge: str) -> None:
        """E11: an acquirer, a retaker and a sweep judge by the limit that was written with the acquisition."""
        held = bench.save(bench.new("strict", max_lost_leases=1), 1)
        bench.expire()
        assert not JUDGES[judge](bench, held, 20)
        if bench.get("strict") == held:
            assert bench.sweep(max_lost_leases=20) == Swept(parked=1)
        held = bench.save(bench.new("patient", max_lost_leases=20), 1)
        bench.expire()
        assert JUDGES[judge](bench, held, 1)

    def test_e11_every_acquisition_writes_its_limit(self, bench: Workbench) -> None:
        """E11: by order, key, hint and retake; at the ending it stays to be seen."""
        held = bench.new("k", max_lost_leases=2)
        assert (held.max_lost_leases, bench.get("k").max_lost_leases) == (2, 2)
        answer = bench.retake(held, by=owner(try_number=2), max_lost_leases=3)
        assert answer.partition == bench.get("k")
        assert bench.get("k").max_lost_leases == 3
        bench.give_up(bench.get("k"))
        assert bench.get("k").max_lost_leases == 3
        bench.hinted("k", bench.get("k").token, max_lost_leases=4)
        assert bench.get("k").max_lost_leases == 4
        bench.expire()
        assert bench.acquire("k", max_lost_leases=6).max_lost_leases == bench.get("k").max_lost_leases == 6

    def test_e11_what_nobody_acquired_has_no_limit(self, bench: Workbench) -> None:
        """E11: nor has a new life of a partition that was deleted."""
        bench.create("k")
        assert bench.get("k").max_lost_leases is None
        bench.acquire("k")
        bench.act(Action.DELETE, "k")
        bench.create("k")
        assert bench.get("k").max_lost_leases is None

    def test_e11_a_tenure_without_an_owner_write_parks_nothing_by_a_stricter_limit(self, bench: Workbench) -> None:
        """E11: the leases that were lost before it, under a larger limit, are not held against it."""
        bench.create("k")
        for _ in range(2):
            bench.renew(bench.acquire("k", max_lost_leases=20))
            bench.expire()
            assert bench.sweep() == Swept(reclaimed=1)
        bench.acquire("k", max_lost_leases=1)
        bench.expire()
        assert bench.sweep() == Swept(reclaimed=1)
        bench.renew(bench.acquire("k", max_lost_leases=1))
        bench.expire()
        assert bench.sweep() == Swept(parked=1)

    @pytest.mark.parametrize(("said", "parked_after"), [(1, 1), (7, 7)])
    def test_e11_a_sensors_sweep_judges_by_the_workers_setting(
        self, store: PartitionStore, clock: FakeClock, said: int, parked_after: int
    ) -> None:
        """E11: ``max_lost_leases`` of an operator has its effect where a sensor with other settings sweeps."""
        one = SourceCoordinator(
            store, "flights", "host/dag/run/task/0/1", ownership_timeout=TIMEOUT, max_lost_leases=said, clock=clock
        )
        sensor = SourceCoordinator(store, "flights", "host/triggerer", clock=clock)
        one.create_partitions(["k"])
        lost = 0
        while (lease := one.get_next_partition()) is not None:
            one.renew(lease)
            clock.advance(2 * TIMEOUT)
            sensor.sweep()
            lost += 1
        parked = one.partition("k")
        assert parked is not None
        assert (lost, parked.parked, parked.lost_leases) == (parked_after, True, parked_after)

    @pytest.mark.parametrize("progress", [None, {"row": 1}], ids=["afresh", "with state"])
    def test_a14_a_close_forgets_failures(self, coordinators: Coordinators, clock: FakeClock, progress: object) -> None:
        """A14: a partition that closes and reopens for ever is parked by failures in a row only."""
        one = coordinators(max_failures=2)
        one.create_partitions(["k"])
        for _ in range(3):
            one.fail(acquired(one.get_next_partition()), "OutOfMemory")
            clock.advance(timedelta(hours=1))
            one.close(acquired(one.get_next_partition()), timedelta(hours=1), progress)
            closed = one.partition("k")
            assert closed is not None
            assert (closed.failures, closed.lost_leases, closed.last_error) == (0, 0, None)
            clock.advance(timedelta(hours=1))
        for _ in range(2):
            one.fail(acquired(one.get_next_partition()), "twice in a row")
            clock.advance(timedelta(hours=1))
        parked = one.partition("k")
        assert parked is not None
        assert (parked.parked, parked.failures, parked.last_error) == (True, 2, "twice in a row")

    def test_a14_a_close_forgets_lost_leases(self, coordinators: Coordinators, clock: FakeClock) -> None:
        """A14: lost leases too."""
        one = coordinators(max_lost_leases=2)
        one.create_partitions(["k"])
        for _ in range(3):
            one.renew(acquired(one.get_next_partition()))
            clock.advance(2 * TIMEOUT)
            assert one.sweep() == Swept(reclaimed=1)
            one.close(acquired(one.get_next_partition()), timedelta(0))
            closed = one.partition("k")
            assert closed is not None
            assert (closed.failures, closed.lost_leases) == (0, 0)
            clock.advance(2 * TIMEOUT)

    @pytest.mark.parametrize("how", ["complete", "and get next", "close at the maximum"])
    def test_a14_a_completion_forgets_both(self, coordinators: Coordinators, clock: FakeClock, how: str) -> None:
        """A14: by every way in which a partition becomes COMPLETED."""
        one = coordinators(max_closed_count=1)
        one.create_partitions(["k"])
        one.fail(acquired(one.get_next_partition()), "boom")
        clock.advance(timedelta(hours=1))
        one.renew(acquired(one.get_next_partition()))
        clock.advance(2 * TIMEOUT)
        one.sweep()
        lease = acquired(one.get_next_partition())
        assert (lease.partition.failures, lease.partition.lost_leases) == (1, 1)
        ways: dict[str, Callable[[], object]] = {
            "complete": lambda: one.complete(lease),
            "and get next": lambda: one.complete_and_get_next(lease),
            "close at the maximum": lambda: one.close(lease, timedelta(0)),
        }
        ways[how]()
        done = one.partition("k")
        assert done is not None
        assert (done.status, done.failures, done.lost_leases, done.last_error) == (
            PartitionStatus.COMPLETED,
            0,
            0,
            None,
        )

    def test_a14_what_is_no_success_forgets_nothing(self, bench: Workbench) -> None:
        """A14: failing keeps the lost leases, losing keeps the failures, giving up and releasing keep both."""
        bench.fail(bench.new("k"))
        bench.renew(bench.acquire("k"))
        bench.expire()
        bench.sweep()
        bench.give_up(bench.acquire("k"))
        bench.acquire("k")
        bench.act(Action.RELEASE, "k")
        bench.fail(bench.acquire("k"))
        assert (bench.get("k").failures, bench.get("k").lost_leases) == (2, 1)
