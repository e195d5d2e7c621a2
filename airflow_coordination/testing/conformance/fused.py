"""Completing one partition and acquiring the next in one commit, where the store can."""

# ruff: noqa: D102  a test's name says what it shows

from __future__ import annotations

import pytest

from airflow_coordination.leases.partition import PartitionStatus
from airflow_coordination.leases.writes import AcquireNext
from airflow_coordination.testing.conformance.workbench import Workbench, block, head


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

    def test_starting_at_new_in_the_second_half(self, bench: Workbench, following: AcquireNext) -> None:
        bench.create("crashed", "a", "new")
        bench.acquire("crashed")
        bench.expire()
        wanted = AcquireNext(source=bench.source, tenancy=following.tenancy, new_first=True)
        answer = bench.store.complete_and_acquire(bench.completing(bench.acquire("a")), wanted)
        assert answer.next is not None
        assert answer.next.key == "new"
