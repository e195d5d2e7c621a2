"""Acquiring: what is first, and what cannot be had."""

from __future__ import annotations

import pytest

from airflow_coordination.protocol.partition import PartitionIdentifier
from airflow_coordination.protocol.writes import AcquireHinted, Action
from airflow_coordination.testing.conformance.fixtures import MINUTE, TIMEOUT, Workbench, fence, owner
from airflow_coordination.values.status import Outcome, PartitionStatus


class Acquisition:
    """Rows *acquire* of the table, and the acquisition order; promises S1, S8, S9."""

    def test_an_acquired_partition_is_held_for_the_timeout(self, bench: Workbench) -> None:
        bench.create("k")
        held = bench.acquire()
        assert (held.status, held.token, held.owner) == (PartitionStatus.ASSIGNED, 1, owner().text)
        assert held.ownership_timeout == bench.clock.now() + TIMEOUT
        assert held.last_op == held.nonce
        assert held.available_at is None
        assert not held.confirmed
        assert held == bench.get("k")

    def test_what_is_held_is_not_given_to_a_second_owner(self, bench: Workbench) -> None:
        held = bench.new("k")
        bench.clock.advance(TIMEOUT - MINUTE / 60)
        assert bench.next(by=owner("other")) is None
        assert bench.next("k", by=owner("other")) is None
        assert not bench.hinted("k", held.token, by=owner("other")).applied
        assert bench.get("k") == held

    def test_nothing_to_acquire(self, bench: Workbench) -> None:
        assert bench.next() is None
        assert bench.next("absent") is None
        absent = bench.hinted("absent", 0)
        assert (absent.applied, absent.partition) == (False, None)

    def test_s1_fences_are_never_given_twice(self, bench: Workbench) -> None:
        bench.create("k")
        fences = []
        for _ in range(20):
            held = bench.acquire()
            fences.append(fence(held))
            bench.give_up(held)
        assert [given.token for given in fences] == list(range(1, 21))
        assert len({given.nonce for given in fences}) == 20

    def test_s9_crashed_then_reopened_then_new(self, bench: Workbench) -> None:
        for key in ("crashed", "closed", "new-1", "new-2"):
            bench.create(key)
        bench.acquire("crashed")
        bench.close(bench.acquire("closed"), reopen_after=5 * MINUTE)
        bench.expire()
        assert bench.drained() == ["crashed", "closed", "new-1", "new-2"]

    @pytest.mark.parametrize("swept", [False, True], ids=["unswept", "swept"])
    def test_s9_the_order_is_the_same_whether_swept_or_not(self, bench: Workbench, swept: bool) -> None:
        bench.create(*"abcdefgh")
        for key, minutes in (("a", 3), ("b", 2)):
            bench.close(bench.acquire(key), reopen_after=minutes * MINUTE)
        bench.acquire("c", timeout=2 * MINUTE)
        bench.acquire("d", timeout=MINUTE)
        bench.clock.advance(4 * MINUTE)
        if swept:
            bench.sweep()
        bench.acquire("h")
        assert bench.drained() == ["d", "c", "b", "a", "e", "f", "g"]

    def test_s9_a_swept_and_an_unswept_one_stand_in_one_line(self, bench: Workbench) -> None:
        bench.create(*"abcd")
        bench.acquire("b", timeout=MINUTE)
        bench.close(bench.acquire("d"), reopen_after=MINUTE)
        bench.clock.advance(MINUTE)
        bench.sweep()
        bench.acquire("a", timeout=MINUTE)
        bench.close(bench.acquire("c"), reopen_after=MINUTE)
        bench.clock.advance(MINUTE)
        assert bench.drained() == ["b", "a", "d", "c"]

    def test_s9_priority_decides_inside_a_class_only(self, bench: Workbench) -> None:
        urgent = {"n2": -1, "c2": -1, "x2": -1}
        keys = ("n1", "n2", "c1", "c2", "x1", "x2")
        bench.create(*(PartitionIdentifier(key, priority=urgent.get(key, 0)) for key in keys))
        for key in ("x1", "x2"):
            bench.acquire(key)
        for key in ("c1", "c2"):
            bench.close(bench.acquire(key))
        bench.expire()
        assert bench.drained() == ["x2", "x1", "c2", "c1", "n2", "n1"]

    def test_s9_new_ones_keep_the_suppliers_order(self, bench: Workbench) -> None:
        bench.create("c", "a")
        bench.create("b", "a", "0")
        assert bench.drained() == ["c", "a", "b", "0"]

    def test_s9_fail_give_up_and_release_return_to_the_old_place(self, bench: Workbench) -> None:
        bench.create(*"abcd")
        a, b, _c = (bench.acquire(key) for key in "abc")
        bench.clock.advance(MINUTE)
        bench.give_up(a)
        bench.fail(b, delay=MINUTE)
        bench.clock.advance(MINUTE)
        bench.act(Action.RELEASE, "c")
        assert bench.drained() == ["a", "b", "c", "d"]

    def test_s9_a_crashed_or_reopened_one_that_ends_returns_to_new(self, bench: Workbench) -> None:
        bench.create(*"abcde")
        bench.acquire("b")
        bench.acquire("e")
        for key in "cd":
            bench.close(bench.acquire(key))
        bench.expire()
        bench.sweep()
        for key in "bd":
            bench.fail(bench.acquire(key))
        bench.give_up(bench.acquire("c"))
        bench.acquire("e")
        bench.act(Action.RELEASE, "e")
        assert bench.drained() == ["a", "b", "c", "d", "e"]

    def test_s9_starting_at_new_goes_on_with_crashed_and_reopened(self, bench: Workbench) -> None:
        bench.create("crashed", "closed", "new")
        bench.acquire("crashed")
        bench.close(bench.acquire("closed"))
        bench.expire()
        assert bench.drained(new_first=True) == ["new", "crashed", "closed"]

    def test_s8_not_before_a_delay_is_over(self, bench: Workbench) -> None:
        held = bench.new("k")
        bench.fail(held, delay=MINUTE)
        assert bench.get("k").available_at == bench.clock.now() + MINUTE
        bench.clock.advance(MINUTE - MINUTE / 60)
        assert bench.next() is bench.next("k") is None
        assert not bench.hinted("k", held.token).applied
        bench.clock.advance(MINUTE / 60)
        assert bench.acquire().key == "k"

    def test_s8_not_before_reopening_and_then_without_a_sweep(self, bench: Workbench) -> None:
        bench.close(bench.new("k"), reopen_after=MINUTE)
        bench.clock.advance(MINUTE - MINUTE / 60)
        assert bench.next() is bench.next("k") is None
        bench.clock.advance(MINUTE / 60)
        again = bench.acquire()
        assert (again.key, again.closed_count, again.reopen_at) == ("k", 1, None)

    def test_parked_and_completed_are_never_acquired(self, bench: Workbench) -> None:
        bench.fail(bench.new("parked"), delay=None)
        bench.complete(bench.new("done"))
        bench.clock.advance(10_000 * MINUTE)
        bench.sweep()
        assert bench.next() is bench.next("parked") is bench.next("done") is None

    def test_a_hint_holds_while_its_token_does(self, bench: Workbench) -> None:
        bench.create("k")
        first = bench.hinted("k", 0)
        assert first.applied
        assert first.partition == bench.get("k")
        bench.give_up(bench.get("k"))
        old = bench.hinted("k", 0)
        assert not old.applied
        assert old.partition == bench.get("k")
        assert bench.hinted("k", 1).applied

    def test_a_repeated_acquisition_by_hint_is_refused_and_shows_what_it_did(self, bench: Workbench) -> None:
        bench.create("k")
        write = AcquireHinted(source=bench.source, key="k", token=0, tenancy=bench.tenancy())
        assert bench.store.acquire(write).applied
        again = bench.store.acquire(write)
        assert not again.applied
        assert again.partition is not None
        assert again.partition.nonce == again.partition.last_op == write.tenancy.op

    def test_a_bare_key_is_acquired_whatever_its_token(self, bench: Workbench) -> None:
        bench.create("a", "b")
        bench.give_up(bench.acquire("b"))
        assert bench.acquire("b").token == 2
        assert bench.acquire().key == "a"

    def test_an_expired_lease_is_taken_over_with_its_progress(self, bench: Workbench) -> None:
        lost = bench.save(bench.new("k"), {"row": 9})
        bench.expire()
        held = bench.acquire(by=owner("other"))
        assert (held.key, held.progress_state, held.lost_leases) == ("k", {"row": 9}, 1)
        assert held.owner == owner("other").text
        ending = held.ending_of(fence(lost))
        assert ending is not None
        assert (ending.outcome, ending.status_after, ending.at) == (
            Outcome.LOST,
            PartitionStatus.ASSIGNED,
            bench.clock.now(),
        )
        assert (ending.op, ending.last) == (held.nonce, lost.last_op)

    @pytest.mark.parametrize("how", ["order", "key", "hint"])
    def test_at_the_last_lost_lease_only_a_sweep_acts(self, bench: Workbench, how: str) -> None:
        held = bench.save(bench.new("k", max_lost_leases=1), 1)
        bench.expire()
        refused = {
            "order": lambda: bench.next() is None,
            "key": lambda: bench.next("k") is None,
            "hint": lambda: not bench.hinted("k", held.token).applied,
        }
        assert refused[how]()
        assert bench.get("k") == held
        assert bench.sweep().parked == 1

    def test_one_that_only_a_sweep_may_take_holds_up_nobody(self, bench: Workbench) -> None:
        bench.create("poison", "good-1", "good-2")
        bench.save(bench.acquire("poison", max_lost_leases=1), 1)
        bench.expire()
        assert bench.acquire().key == "good-1"
        assert bench.acquire().key == "good-2"
        assert bench.next() is None

    def test_e17_a_renewed_lease_holds_up_nobody(self, bench: Workbench) -> None:
        """E17: it is first by its priority and, in a store that moves its index seldom, by the time in the index."""
        bench.create(PartitionIdentifier("renewed", priority=-1), "expired")
        renewed = bench.acquire("renewed")
        bench.acquire("expired")
        bench.clock.advance(4 * MINUTE)
        assert bench.renew(renewed).applied
        bench.clock.advance(7 * MINUTE)
        assert [key for key, _ in bench.store.claimable(bench.source, 9)] == ["expired"]
        assert bench.acquire().key == "expired"
        assert bench.next() is None
