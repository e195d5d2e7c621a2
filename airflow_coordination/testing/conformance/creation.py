"""Creating partitions."""

# ruff: noqa: D102  a test's name says what it shows

from __future__ import annotations

import pytest

from airflow_coordination.protocol.partition import PartitionIdentifier
from airflow_coordination.protocol.results import Created
from airflow_coordination.protocol.writes import Action
from airflow_coordination.testing.conformance.workbench import MINUTE, Workbench, fence
from airflow_coordination.values.fence import RING_SIZE
from airflow_coordination.values.status import PartitionStatus, Rank


class Creation:
    """Row *create* of the table; promise S10."""

    def test_a_new_partition_is_unassigned_and_counts_nothing(self, bench: Workbench) -> None:
        identifier = PartitionIdentifier("k", payload={"month": 2, "a": [1, None]}, priority=-7)
        assert bench.create(identifier, op="op-1") == Created(created=1)
        made = bench.get("k")
        assert (made.status, made.rank, made.priority) == (PartitionStatus.UNASSIGNED, Rank.NEW, -7)
        assert (made.closed_count, made.failures, made.lost_leases, made.token) == (0, 0, 0, 0)
        assert made.payload == {"month": 2, "a": [1, None]}
        assert (made.create_op, made.generation, made.last_op) == ("op-1", "op-1", "op-1")
        absent = (made.progress_state, made.owner, made.ownership_timeout, made.reopen_at, made.fence)
        assert absent == (None,) * 5
        assert made.created_at == made.updated_at == made.available_at == bench.clock.now()
        assert made.ring == (None,) * RING_SIZE
        assert made.source == bench.source

    @pytest.mark.parametrize("status", list(PartitionStatus))
    def test_s10_creating_again_changes_nothing_in_any_status(self, bench: Workbench, status: PartitionStatus) -> None:
        before = bench.bring("k", status)
        bench.clock.advance(MINUTE / 60)
        assert bench.create("k") == Created(existing=1)
        assert bench.get("k") == before

    def test_a_list_of_existing_and_new_creates_the_new_ones(self, bench: Workbench) -> None:
        """Data Prepper: regression #3319 stopped at the first existing one."""
        bench.create("a")
        assert bench.create("a", "b", "c") == Created(created=2, existing=1)
        assert bench.drained() == ["a", "b", "c"]

    def test_a_repeated_creation_counts_the_same_and_changes_nothing(self, bench: Workbench) -> None:
        bench.create("a")
        assert bench.create("a", "b", op="op-1") == Created(created=1, existing=1)
        before = bench.get("b")
        bench.clock.advance(MINUTE)
        assert bench.create("a", "b", op="op-1") == Created(created=1, existing=1)
        assert bench.get("b") == before

    def test_a_key_named_twice_in_a_page_is_created_once(self, bench: Workbench) -> None:
        first, second = PartitionIdentifier("k", payload={"n": 1}), PartitionIdentifier("k", payload={"n": 2})
        made = bench.create(first, second)
        assert (made.created, made.existing) == (1, 1)
        assert bench.get("k").payload == {"n": 1}

    def test_a_changed_payload_or_priority_is_reported_and_not_overwritten(self, bench: Workbench) -> None:
        bench.create(*(PartitionIdentifier(key, payload={"n": 1}) for key in "abc"))
        again = bench.create(
            PartitionIdentifier("a", payload={"n": 2}),
            PartitionIdentifier("b", payload={"n": 1}, priority=3),
            PartitionIdentifier("c", payload={"n": 1}),
            PartitionIdentifier("d", payload={"n": 9}),
        )
        assert (again.created, again.existing, set(again.changed)) == (1, 3, {"a", "b"})
        assert bench.get("a").payload == {"n": 1}
        assert bench.get("b").priority == 0

    def test_an_empty_page_creates_nothing(self, bench: Workbench) -> None:
        assert bench.create() == Created()

    def test_sources_are_apart(self, bench: Workbench) -> None:
        other = Workbench(bench.store, bench.clock, source="prefix|flights|PARTITION")
        bench.create("k", "by key")
        assert other.store.get(other.source, "k") is None
        assert other.next() is None
        assert other.create("k", "by key") == Created(created=2)
        bench.acquire("by key")
        assert (bench.drained(), other.drained()) == (["k"], ["k", "by key"])

    def test_e17_what_other_sources_have_says_nothing(self, bench: Workbench) -> None:
        """E17: neither a tombstone nor another payload under the same key."""
        other = Workbench(bench.store, bench.clock, source="other|PARTITION")
        bench.create("deleted", PartitionIdentifier("different", {"of": "flights"}))
        bench.act(Action.DELETE, "deleted")
        assert other.create("deleted", "different", op=bench.op()) == Created(created=2)
        assert other.create("deleted", "different", op=bench.op()) == Created(existing=2)
        assert bench.get("deleted").deleted

    def test_a_tombstone_is_not_revived_by_a_repeated_old_creation(self, bench: Workbench) -> None:
        bench.create("k", op="op-1")
        bench.act(Action.DELETE, "k")
        bench.create("k", op="op-1")
        assert bench.get("k").deleted
        assert bench.next() is None

    def test_s1_a_partition_made_anew_keeps_token_and_ring(self, bench: Workbench) -> None:
        held = bench.new("k")
        bench.give_up(held)
        tombstone = bench.act(Action.DELETE, "k")
        assert bench.create("k") == Created(created=1)
        made = bench.get("k")
        assert (made.token, made.ring) == (tombstone.token, tombstone.ring)
        assert (made.deleted, made.closed_count, made.status) == (False, 0, PartitionStatus.UNASSIGNED)
        assert made.ending_of(fence(held)) is not None
        assert bench.acquire().token > tombstone.token > held.token

    def test_a_page_of_a_thousand_keeps_its_order(self, bench: Workbench) -> None:
        keys = [f"{number * 7919 % 1000:04}" for number in range(1000)]
        assert bench.create(*keys) == Created(created=1000)
        assert [key for key, _ in bench.store.claimable(bench.source, 1000)] == keys
