"""Placing: a partition that was just created gets the life that it had in another store."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from airflow_coordination.protocol.fields import MOVED
from airflow_coordination.protocol.partition import Partition, PartitionIdentifier
from airflow_coordination.protocol.results import Answer
from airflow_coordination.protocol.writes import AcquireNext, Action, NewPartition, Place
from airflow_coordination.testing.clock import START
from airflow_coordination.testing.conformance.accounting import LARGE
from airflow_coordination.testing.conformance.exactly import tenancy
from airflow_coordination.testing.conformance.fixtures import MINUTE, Workbench, block, head, without_time
from airflow_coordination.values.accounting import Accounts
from airflow_coordination.values.status import PartitionStatus, Rank

_FENCE: dict[str, Any] = {"token": 7, "nonce": "there", "last_op": "ended-there", "generation": "life-there"}
LIVES: dict[str, dict[str, Any]] = {
    "fresh, but acquired before": {"available_at": START - MINUTE},
    "delayed": {"available_at": START + MINUTE, "failures": 2, "last_error": "no memory", "max_failures": 4},
    "crashed": {"available_at": START - MINUTE, "rank": Rank.CRASHED, "lost_leases": 2, "max_lost_leases": 3},
    "reopened": {"available_at": START - MINUTE, "rank": Rank.REOPENED, "closed_count": 1},
    "closed": {"status": PartitionStatus.CLOSED, "reopen_at": START + MINUTE, "closed_count": 1},
    "closed and due": {"status": PartitionStatus.CLOSED, "reopen_at": START - MINUTE, "closed_count": 3},
    "parked": {"status": PartitionStatus.CLOSED, "failures": 5, "last_error": "bad", "max_failures": 5},
    "completed": {"status": PartitionStatus.COMPLETED},
    "counted": {"status": PartitionStatus.COMPLETED, "accounting_text": Accounts("life-there", False, LARGE).text},
    "with progress": {"available_at": START, "progress_text": '{"row":1}', "staged": (block("a"),)},
    "with large progress": {"available_at": START, "progress_text": f'"{"x" * 1000}"', "staged": (block("a" * 400),)},
}
"""What a partition may be that nobody holds."""
NOT_BEFORE_A_MINUTE = ("delayed", "closed")
NEVER = ("parked", "completed", "counted")

each_life = pytest.mark.parametrize("life", LIVES)


class Placing:
    """Moves to another store."""

    @pytest.fixture
    def there(self, bench: Workbench) -> Workbench:
        """Return the bench of the store that partitions are moved to."""
        return bench

    def life_of(self, there: Workbench, name: str, key: str = "k") -> Partition:
        """Return a partition as it was in another store."""
        fields = {"status": PartitionStatus.UNASSIGNED, "created_at": START - 2 * MINUTE, **_FENCE, **LIVES[name]}
        return Partition(source=there.source, key=key, **fields)

    def place(self, there: Workbench, life: Partition, created: str | None = None, **more: Any) -> Answer:
        """Place it over what was created here."""
        created = created or there.get(life.key).create_op
        return there.store.place(Place(source=there.source, key=life.key, created=created, life=life, **more))

    @each_life
    def test_it_has_its_life_here(self, there: Workbench, life: str) -> None:
        there.create("k")
        new, wanted = there.get("k"), self.life_of(there, life)
        assert self.place(there, wanted).applied
        found = there.get("k")
        kept = {name for name in MOVED if getattr(found, name) is not None}  # some stores keep less
        assert {name: getattr(found, name) for name in kept} == {name: getattr(wanted, name) for name in kept}
        assert {"status", "token", "nonce", "last_op", "generation"} <= kept
        assert (found.ordinal, found.create_op, found.ring) == (new.ordinal, new.create_op, new.ring)
        assert (found.owner, found.progress_text, found.staged) == (None, wanted.progress_text, wanted.staged)

    def test_all_of_its_life_goes_along_and_what_it_was_created_with_stays(self, there: Workbench) -> None:
        there.create("parent")
        there.create(PartitionIdentifier("k", {"file": "a"}, parents=["parent"]))
        there.store.acquire_next(AcquireNext(source=there.source, tenancy=tenancy(there, "one"), key="parent"))
        life = replace(
            self.life_of(there, "parked"),
            rank=Rank.REOPENED,
            closed_count=2,
            lost_leases=1,
            max_lost_leases=9,
            progress_text='{"row":1}',
            staged=(block("a"),),
            accounting_text=Accounts("life-there", False, LARGE).text,
        )
        there.pause()
        there.clock.advance(MINUTE)
        assert self.place(there, life).applied
        found = there.get("k")
        lacks = set() if there.get("parent").max_failures else {"max_failures"}
        assert [name for name in MOVED if getattr(found, name) != getattr(life, name) and name not in lacks] == []
        assert (found.payload, found.parents, found.waits_for) == ({"file": "a"}, ("parent",), ("parent",))
        assert found.updated_at == there.clock.now()
        there.clock.advance(MINUTE)
        there.complete(there.get("parent"))
        released = there.get("k")
        assert (released.waits_for, released.updated_at) == ((), there.clock.now())
        assert replace(released, waits_for=("parent",), updated_at=found.updated_at, rank=found.rank) == found

    @each_life
    def test_it_is_acquired_when_it_is_due_and_its_fence_goes_on(self, there: Workbench, life: str) -> None:
        there.create("k")
        assert self.place(there, self.life_of(there, life)).applied
        if life in NOT_BEFORE_A_MINUTE:
            assert there.next() is None
            assert there.next("k") is None
            there.clock.advance(2 * MINUTE)
        if life in NEVER:
            there.clock.advance(10_000 * MINUTE)
            assert there.next() is None
            assert not there.sweep().total
            return
        there.clock.advance(MINUTE)
        held = there.acquire()
        assert (held.token, held.key) == (8, "k")
        assert there.complete(held).applied

    @each_life
    def test_sweeps_and_counts_know_it(self, there: Workbench, life: str) -> None:
        there.create("k")
        wanted = self.life_of(there, life)
        assert self.place(there, wanted).applied
        counts = there.store.counts(there.source)
        assert counts == dict.fromkeys(PartitionStatus, 0) | {wanted.status: 1}
        there.clock.advance(2 * MINUTE)
        assert there.sweep().reopened == (wanted.reopen_at is not None)
        if life not in NEVER:
            assert [key for key, _ in there.store.claimable(there.source, 10)] == ["k"]
            assert there.acquire().token == 8

    def test_the_order_goes_on(self, there: Workbench) -> None:
        lives = ("fresh, but acquired before", "reopened", "crashed")
        there.create(*lives, "never acquired")
        for name in lives:
            assert self.place(there, self.life_of(there, name, name)).applied
        there.clock.advance(MINUTE)
        order = [there.acquire().key for _ in range(4)]
        assert order[:2] == ["crashed", "reopened"]
        assert sorted(order[2:]) == ["fresh, but acquired before", "never acquired"]

    def test_what_it_has_published_is_read_here(self, there: Workbench) -> None:
        there.create("k")
        life = self.life_of(there, "completed")
        begun = datetime(2013, 1, 1, tzinfo=UTC)
        placed = replace(head(life, block("a"), op="ended-there"), interval_start=begun, interval_end=begun + MINUTE)
        heads = (placed, replace(head(life, block("b")), dataset="other"))
        assert self.place(there, life, heads=heads).applied
        found = there.store.heads(there.source, key="k")
        assert [without_time(each) for each in found] == sorted(heads, key=lambda each: each.dataset)

    def test_a_second_copy_does_nothing(self, there: Workbench) -> None:
        there.create("k")
        created, life = there.get("k").create_op, self.life_of(there, "with progress")
        assert self.place(there, life, created).applied
        held = there.acquire()
        answer = self.place(there, life, created)
        assert (answer.applied, answer.partition) == (False, there.get("k"))
        assert there.complete(held).applied
        assert not self.place(there, life, created).applied

    def test_nothing_that_was_touched_is_replaced(self, there: Workbench) -> None:
        life = self.life_of(there, "completed")
        there.create("k")
        assert not self.place(there, life, created="another").applied
        there.act(Action.PARK, "k")
        assert not self.place(there, life).applied
        there.act(Action.DELETE, "k")
        assert not self.place(there, life).applied
        answer = self.place(there, replace(life, key="absent"), created="any")
        assert (answer.applied, answer.partition) == (False, None)

    def test_s1_what_lives_again_keeps_its_fence(self, there: Workbench) -> None:
        there.create("k")
        there.act(Action.DELETE, "k")
        there.create("k")
        again = there.get("k")
        assert again.token > 0
        assert not self.place(there, self.life_of(there, "completed")).applied
        assert there.get("k") == again

    def test_two_at_once_place_one(self, there: Workbench) -> None:
        there.create("k")
        created = there.get("k").create_op
        one, other = self.life_of(there, "completed"), self.life_of(there, "parked")
        assert self.place(there, one, created).applied
        assert not self.place(there, other, created).applied
        assert there.get("k").status is PartitionStatus.COMPLETED

    def test_what_is_created_again_stays_as_it_was_placed(self, there: Workbench) -> None:
        there.create("k")
        assert self.place(there, self.life_of(there, "completed")).applied
        new = NewPartition(key="k", payload_text=None, priority=0)
        assert there.create("k").existing == 1
        assert there.get(new.key).status is PartitionStatus.COMPLETED
