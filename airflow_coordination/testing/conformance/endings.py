"""Endings: complete, close, fail, give up, the ring that remembers them; completing and acquiring in one commit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.writes import KEEP, AcquireNext, Action
from airflow_coordination.testing.conformance.fixtures import MINUTE, Workbench, block, fence, head, owner
from airflow_coordination.values.fence import RING_SIZE
from airflow_coordination.values.status import Outcome, PartitionStatus, Rank

S = PartitionStatus
ENDINGS: dict[Outcome, tuple[Callable[[Workbench, Partition], object], PartitionStatus]] = {
    Outcome.COMPLETED: (lambda bench, held: bench.complete(held), S.COMPLETED),
    Outcome.CLOSED: (lambda bench, held: bench.close(held), S.CLOSED),
    Outcome.FAILED: (lambda bench, held: bench.fail(held), S.UNASSIGNED),
    Outcome.GIVEN_UP: (lambda bench, held: bench.give_up(held), S.UNASSIGNED),
    Outcome.HANDED_OVER: (lambda bench, held: bench.hand_over(held), S.UNASSIGNED),
    Outcome.STOLEN: (lambda bench, held: bench.ask_and_steal(held), S.ASSIGNED),
    Outcome.LOST: (lambda bench, held: (bench.expire(), bench.sweep()), S.UNASSIGNED),
    Outcome.RETAKEN: (lambda bench, held: bench.retake(held, by=owner(try_number=2)), S.ASSIGNED),
    Outcome.RELEASED: (lambda bench, held: bench.act(Action.RELEASE, held.key), S.UNASSIGNED),
}


class Endings:
    """Rows *complete*, *close*, *fail* and *give up* of the table; promises S3, S6, S7."""

    @pytest.mark.parametrize("outcome", ENDINGS)
    def test_an_ending_is_remembered_and_clears_the_owner(self, bench: Workbench, outcome: Outcome) -> None:
        held = bench.save(bench.new("k"), 1)
        bench.renew(held)
        end, status = ENDINGS[outcome]
        end(bench, held)
        after = bench.get("k")
        ending = after.ending_of(fence(held))
        assert ending is not None
        assert (ending.outcome, ending.fence, ending.last) == (outcome, fence(held), held.last_op)
        assert (ending.status_after, ending.at) == (status, bench.clock.now())
        assert ending.closed_count == after.closed_count
        if status is not S.ASSIGNED:
            assert ending.op == after.last_op
            assert (after.owner, after.ownership_timeout) == (None, None)
            assert not after.confirmed

    def test_the_ring_remembers_the_last_eight_tenures(self, bench: Workbench) -> None:
        bench.create("k")
        fences = []
        for number in range(RING_SIZE + 1):
            held = bench.acquire()
            fences.append(fence(held))
            bench.fail(held) if number % 2 else bench.give_up(held)
        now = bench.get("k")
        assert now.ending_of(fences[0]) is None
        assert [ending.fence for ending in now.endings] == fences[1:]
        outcomes = [ending.outcome for ending in now.endings]
        assert outcomes == [Outcome.FAILED, Outcome.GIVEN_UP] * (RING_SIZE // 2)

    def test_s3_completed_is_final(self, bench: Workbench) -> None:
        held = bench.new("k")
        assert bench.complete(held).applied
        done = bench.get("k")
        assert (done.status, done.available_at, done.reopen_at) == (S.COMPLETED, None, None)
        assert not bench.complete(held).applied
        bench.create("k")
        bench.clock.advance(timedelta(days=1000))
        bench.sweep()
        assert bench.next() is bench.next("k") is None
        assert bench.get("k") == done

    def test_s14_completing_keeps_progress_and_clears_staged_blocks(self, bench: Workbench) -> None:
        held = bench.save(bench.new("k"), {"row": 9}, block("b1"))
        bench.complete(held)
        assert (bench.get("k").progress_state, bench.get("k").staged) == ({"row": 9}, ())

    def test_s6_a_repeated_completion_is_refused_and_its_ending_names_it(self, bench: Workbench) -> None:
        held = bench.new("k")
        write = bench.completing(held)
        assert bench.store.write(write).applied
        again = bench.store.write(write)
        assert not again.applied
        assert again.partition is not None
        ending = again.partition.ending_of(write.fence)
        assert ending is not None
        assert ending.op == write.op

    def test_s7_closed_count_is_the_number_of_applied_closes(self, bench: Workbench) -> None:
        bench.create("k")
        for number in range(1, 4):
            held = bench.acquire()
            assert bench.close(held).applied
            assert not bench.close(held).applied
            assert bench.get("k").closed_count == number
            bench.clock.advance(MINUTE)

    def test_s7_a_failure_is_no_close(self, bench: Workbench) -> None:
        bench.create("k")
        for number in range(1, 4):
            bench.fail(bench.acquire(), error=f"error {number}")
            now = bench.get("k")
            assert (now.closed_count, now.failures, now.last_error) == (0, number, f"error {number}")

    def test_s7_the_close_that_reaches_the_maximum_completes(self, bench: Workbench) -> None:
        held = bench.new("k")
        last = bench.ending(held, Outcome.COMPLETED, S.COMPLETED, closed_count=1, progress=None, clear_staged=True)
        assert bench.store.write(last).applied
        done = bench.get("k")
        assert (done.status, done.closed_count, done.reopen_at) == (S.COMPLETED, 1, None)
        ending = done.ending_of(fence(held))
        assert ending is not None
        assert (ending.outcome, ending.closed_count) == (Outcome.COMPLETED, 1)

    def test_closing_sets_when_it_reopens(self, bench: Workbench) -> None:
        bench.close(bench.new("k"), reopen_after=90 * MINUTE)
        closed = bench.get("k")
        assert (closed.status, closed.reopen_at) == (S.CLOSED, bench.clock.now() + 90 * MINUTE)
        assert not closed.parked

    def test_closing_without_state_starts_the_next_pass_fresh(self, bench: Workbench) -> None:
        held = bench.save(bench.new("k"), {"row": 9}, block("b1"))
        bench.close(held, progress=None)
        assert (bench.get("k").progress_state, bench.get("k").staged) == (None, ())

    def test_closing_with_state_carries_it_over(self, bench: Workbench) -> None:
        held = bench.save(bench.new("k"), {"row": 9})
        bench.close(held, progress='{"row":10}')
        assert bench.get("k").progress_state == {"row": 10}

    def test_an_ending_may_keep_the_progress_and_begin_a_generation(self, bench: Workbench) -> None:
        held = bench.save(bench.new("k"), {"row": 9})
        bench.store.write(
            bench.ending(held, Outcome.CLOSED, S.CLOSED, delay=MINUTE, progress=KEEP, generation="second")
        )
        assert (bench.get("k").progress_state, bench.get("k").generation) == ({"row": 9}, "second")

    def test_failing_keeps_progress_and_staged_blocks_and_waits(self, bench: Workbench) -> None:
        held = bench.save(bench.new("k"), {"row": 9}, block("b1"))
        bench.fail(held, delay=MINUTE)
        failed = bench.get("k")
        assert (failed.status, failed.rank) == (S.UNASSIGNED, Rank.NEW)
        assert (failed.progress_state, failed.staged) == ({"row": 9}, held.staged)
        assert failed.available_at == bench.clock.now() + MINUTE

    def test_the_last_failure_parks(self, bench: Workbench) -> None:
        bench.fail(bench.new("k"), delay=None, error="poison")
        parked = bench.get("k")
        assert (parked.status, parked.reopen_at, parked.parked) == (S.CLOSED, None, True)
        assert parked.last_error == "poison"

    @pytest.mark.parametrize("delay", [timedelta(0), 5 * MINUTE])
    def test_giving_up_counts_nothing(self, bench: Workbench, delay: timedelta) -> None:
        held = bench.save(bench.new("k"), {"row": 9})
        bench.give_up(held, delay)
        free = bench.get("k")
        assert (free.status, free.closed_count, free.failures, free.lost_leases) == (S.UNASSIGNED, 0, 0, 0)
        assert free.progress_state == {"row": 9}
        assert free.available_at == bench.clock.now() + delay


class Fused:
    """Row *complete and acquire next* of the table."""

    @pytest.fixture
    def following(self, bench: Workbench) -> AcquireNext:
        """Return the second half of the step."""
        return AcquireNext(source=bench.source, tenancy=bench.tenancy())

    def test_both_halves(self, bench: Workbench, following: AcquireNext) -> None:
        bench.create("a", "b")
        held = bench.acquire("a")
        answer = bench.fused.complete_and_acquire(bench.completing(held, head(held, block("b1"))), following)
        assert answer.ended.applied
        assert answer.next == bench.get("b")
        assert answer.next.nonce == following.tenancy.op
        assert bench.get("a").status is PartitionStatus.COMPLETED
        assert [record.key for record in bench.store.heads(bench.source)] == ["a"]

    def test_nothing_left_to_acquire(self, bench: Workbench, following: AcquireNext) -> None:
        answer = bench.fused.complete_and_acquire(bench.completing(bench.new("a")), following)
        assert (answer.ended.applied, answer.next) == (True, None)

    def test_a_refused_completion_acquires_nothing(self, bench: Workbench, following: AcquireNext) -> None:
        bench.create("a", "b")
        zombie = bench.acquire("a")
        bench.expire()
        now = bench.acquire("a")
        answer = bench.fused.complete_and_acquire(bench.completing(zombie, head(zombie, block("z"))), following)
        assert (answer.ended.applied, answer.ended.partition, answer.next) == (False, now, None)
        assert bench.get("b").status is PartitionStatus.UNASSIGNED
        assert list(bench.store.heads(bench.source)) == []

    def test_a_repeated_step_acquires_nothing_more(self, bench: Workbench, following: AcquireNext) -> None:
        bench.create("a", "b", "c")
        end = bench.completing(bench.acquire("a"))
        first = bench.fused.complete_and_acquire(end, following)
        again = bench.fused.complete_and_acquire(end, following)
        assert not again.ended.applied
        assert again.next is None
        assert bench.store.find_nonce(bench.source, following.tenancy.op) == first.next
        assert bench.get("c").status is PartitionStatus.UNASSIGNED

    def test_a_bare_key_in_the_second_half(self, bench: Workbench, following: AcquireNext) -> None:
        bench.create("a", "b", "c")
        wanted = AcquireNext(source=bench.source, tenancy=following.tenancy, key="c")
        answer = bench.fused.complete_and_acquire(bench.completing(bench.acquire("a")), wanted)
        assert answer.next == bench.get("c")

    @pytest.mark.parametrize("earlier", ["crashed", "swept", "reopened", "due", "returned", "delayed"])
    def test_a_second_half_that_may_miss_passes_over_nothing(
        self, bench: Workbench, following: AcquireNext, earlier: str
    ) -> None:
        bench.create("a", "b", "new")
        _let_wait(bench, earlier)
        held = bench.acquire("a")
        wanted = AcquireNext(source=bench.source, tenancy=following.tenancy, may_miss=True)
        answer = bench.fused.complete_and_acquire(bench.completing(held), wanted)
        assert answer.ended.applied
        assert answer.missed is (answer.next is None)
        assert bench.get("new").status is PartitionStatus.UNASSIGNED
        assert (answer.next or bench.acquire()).key == "b"

    def test_a_second_half_that_may_miss_finds_what_is_new(self, bench: Workbench, following: AcquireNext) -> None:
        bench.create("a", "b", "c")
        wanted = AcquireNext(source=bench.source, tenancy=following.tenancy, may_miss=True)
        answer = bench.fused.complete_and_acquire(bench.completing(bench.acquire("a")), wanted)
        assert answer.next == bench.get("b")
        assert not answer.missed

    def test_starting_at_new_in_the_second_half(self, bench: Workbench, following: AcquireNext) -> None:
        bench.create("crashed", "a", "new")
        bench.acquire("crashed")
        bench.expire()
        wanted = AcquireNext(source=bench.source, tenancy=following.tenancy, new_first=True)
        answer = bench.fused.complete_and_acquire(bench.completing(bench.acquire("a")), wanted)
        assert answer.next is not None
        assert answer.next.key == "new"


def _let_wait(bench: Workbench, how: str) -> None:
    """Let "b" wait so that it goes before what is new, although it was created later than "a"."""
    held = bench.acquire("b")
    if how in ("crashed", "swept"):
        bench.expire()
    elif how in ("reopened", "due"):
        bench.close(held, timedelta(seconds=5))
        bench.clock.advance(6)
    elif how == "returned":
        bench.give_up(held)
    else:
        bench.fail(held, timedelta(seconds=5))
        bench.clock.advance(6)
    if how in ("swept", "reopened"):
        bench.sweep()
