"""Sweeps: reopening what is due, reclaiming what has expired."""

# ruff: noqa: D102  a test's name says what it shows

from __future__ import annotations

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.results import Swept
from airflow_coordination.testing.conformance.workbench import MAX_LOST, MINUTE, Workbench, fence
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
