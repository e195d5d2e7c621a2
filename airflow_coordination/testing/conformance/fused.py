"""Completing one partition and acquiring the next in one commit, where the store can."""

# ruff: noqa: D102  a test's name says what it shows

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_coordination.protocol.writes import AcquireNext
from airflow_coordination.testing.conformance.workbench import Workbench, block, head
from airflow_coordination.values.status import PartitionStatus


class Fused:
    """Row *complete and acquire next* of the table."""

    @pytest.fixture
    def following(self, bench: Workbench) -> AcquireNext:
        """Return the second half of the step."""
        if not bench.store.has_fused_step:
            pytest.skip("this store has no fused step")
        return AcquireNext(source=bench.source, tenancy=bench.tenancy())

    def test_both_halves(self, bench: Workbench, following: AcquireNext) -> None:
        bench.create("a", "b")
        held = bench.acquire("a")
        answer = bench.store.complete_and_acquire(bench.completing(held, head(held, block("b1"))), following)
        assert answer.ended.applied
        assert answer.next == bench.get("b")
        assert answer.next.nonce == following.tenancy.op
        assert bench.get("a").status is PartitionStatus.COMPLETED
        assert [record.key for record in bench.store.heads(bench.source)] == ["a"]

    def test_nothing_left_to_acquire(self, bench: Workbench, following: AcquireNext) -> None:
        answer = bench.store.complete_and_acquire(bench.completing(bench.new("a")), following)
        assert (answer.ended.applied, answer.next) == (True, None)

    def test_a_refused_completion_acquires_nothing(self, bench: Workbench, following: AcquireNext) -> None:
        bench.create("a", "b")
        zombie = bench.acquire("a")
        bench.expire()
        now = bench.acquire("a")
        answer = bench.store.complete_and_acquire(bench.completing(zombie, head(zombie, block("z"))), following)
        assert (answer.ended.applied, answer.ended.partition, answer.next) == (False, now, None)
        assert bench.get("b").status is PartitionStatus.UNASSIGNED
        assert list(bench.store.heads(bench.source)) == []

    def test_a_repeated_step_acquires_nothing_more(self, bench: Workbench, following: AcquireNext) -> None:
        bench.create("a", "b", "c")
        end = bench.completing(bench.acquire("a"))
        first = bench.store.complete_and_acquire(end, following)
        again = bench.store.complete_and_acquire(end, following)
        assert not again.ended.applied
        assert again.next is None
        assert bench.store.find_nonce(bench.source, following.tenancy.op) == first.next
        assert bench.get("c").status is PartitionStatus.UNASSIGNED

    def test_a_bare_key_in_the_second_half(self, bench: Workbench, following: AcquireNext) -> None:
        bench.create("a", "b", "c")
        wanted = AcquireNext(source=bench.source, tenancy=following.tenancy, key="c")
        answer = bench.store.complete_and_acquire(bench.completing(bench.acquire("a")), wanted)
        assert answer.next == bench.get("c")

    @pytest.mark.parametrize("earlier", ["crashed", "swept", "reopened", "due", "returned", "delayed"])
    def test_a_second_half_that_may_miss_passes_over_nothing(
        self, bench: Workbench, following: AcquireNext, earlier: str
    ) -> None:
        bench.create("a", "b", "new")
        _let_wait(bench, earlier)
        held = bench.acquire("a")
        wanted = AcquireNext(source=bench.source, tenancy=following.tenancy, may_miss=True)
        answer = bench.store.complete_and_acquire(bench.completing(held), wanted)
        assert answer.ended.applied
        assert answer.missed is (answer.next is None)
        assert bench.get("new").status is PartitionStatus.UNASSIGNED
        assert (answer.next or bench.acquire()).key == "b"

    def test_a_second_half_that_may_miss_finds_what_is_new(self, bench: Workbench, following: AcquireNext) -> None:
        bench.create("a", "b", "c")
        wanted = AcquireNext(source=bench.source, tenancy=following.tenancy, may_miss=True)
        answer = bench.store.complete_and_acquire(bench.completing(bench.acquire("a")), wanted)
        assert answer.next == bench.get("b")
        assert not answer.missed

    def test_starting_at_new_in_the_second_half(self, bench: Workbench, following: AcquireNext) -> None:
        bench.create("crashed", "a", "new")
        bench.acquire("crashed")
        bench.expire()
        wanted = AcquireNext(source=bench.source, tenancy=following.tenancy, new_first=True)
        answer = bench.store.complete_and_acquire(bench.completing(bench.acquire("a")), wanted)
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
