"""Parents and children: nobody acquires a child early, and none waits for ever (promises S19 and S20)."""

from __future__ import annotations

import random
import string
from dataclasses import replace
from datetime import timedelta

import pytest

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.partition import PartitionIdentifier
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.writes import AcquireNext, Action
from airflow_coordination.testing.conformance.coordinator_cases import Coordinators, acquired
from airflow_coordination.testing.conformance.fixtures import TIMEOUT, Workbench, block, head, owner
from airflow_coordination.testing.conformance.lost_answers import LOST
from airflow_coordination.testing.crash import Crash, Fault, FaultyStore
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.input_errors import ParentCycleError, UnknownParentError
from airflow_coordination.values.status import Outcome
from airflow_coordination.values.status import PartitionStatus as S


def child(key: str, *parents: str) -> PartitionIdentifier:
    """Return a partition that comes after others."""
    return PartitionIdentifier(key, parents=parents)


def family(bench: Workbench, *parents: str, of: str = "child") -> None:
    """Create parents, then their child."""
    bench.create(*parents)
    bench.create(child(of, *parents))


def blocked(bench: Workbench) -> int:
    """Return how many partitions wait for a parent."""
    return bench.store.outlook(bench.source).blocked


class Hierarchy:
    """What comes after what."""

    def test_s19_a_child_waits_for_its_parent(self, bench: Workbench) -> None:
        family(bench, "p")
        seen = bench.get("child")
        assert (seen.status, seen.parents, seen.waits_for, seen.blocked) == (S.UNASSIGNED, ("p",), ("p",), True)
        assert (seen.available_at, blocked(bench)) == (None, 1)
        assert bench.drained() == ["p", "child"]
        assert (bench.get("child").parents, blocked(bench)) == (("p",), 0)

    def test_s19_nobody_acquires_it_by_any_way(self, bench: Workbench) -> None:
        family(bench, "p")
        held = bench.acquire("p")
        assert bench.next("child") is None
        assert bench.next() is None
        assert bench.next(new_first=True) is None
        assert not bench.hinted("child", 0).applied
        assert "child" not in dict(bench.store.claimable(bench.source, 10))
        bench.sweep()
        bench.expire()
        bench.sweep()
        assert bench.next("child") is None
        assert bench.get("child").waits_for == ("p",)
        assert not bench.complete(held).applied

    def test_s20_the_step_that_completes_the_last_parent_releases_it(self, bench: Workbench) -> None:
        """A merge of two: the second one to end."""
        family(bench, "p", "q")
        assert bench.complete(bench.acquire("p")).applied
        assert bench.get("child").waits_for == ("q",)
        assert bench.next("child") is None
        bench.complete(bench.acquire("q"))
        released = bench.get("child")
        assert (released.waits_for, released.available_at) == ((), bench.clock.now())
        assert bench.acquire().key == "child"

    def test_s20_a_split_releases_all_and_what_is_published_is(self, bench: Workbench) -> None:
        bench.create("p")
        bench.create(*(child(f"c{number}", "p") for number in range(3)))
        held = bench.acquire("p")
        assert bench.store.write(bench.completing(held, head(held, block("b1")))).applied
        assert len(bench.store.heads(bench.source)) == 1
        assert bench.drained() == ["c0", "c1", "c2"]

    def test_s20_two_hundred_children(self, bench: Workbench) -> None:
        """More than one transaction of DynamoDB holds: the rest follows right after."""
        bench.create("p")
        keys = [f"c{number:03}" for number in range(200)]
        for first in (0, 100):
            bench.create(*(child(key, "p") for key in keys[first : first + 100]))
        assert bench.complete(bench.acquire("p")).applied
        assert (blocked(bench), sorted(bench.drained())) == (0, keys)

    def test_s19_a_chain_and_a_diamond_go_step_by_step(self, bench: Workbench) -> None:
        bench.create("top")
        bench.create(child("left", "top"), child("right", "top"))
        bench.create(child("bottom", "left", "right"))
        bench.create(child("last", "bottom", "top"))
        assert bench.drained() == ["top", "left", "right", "bottom", "last"]

    def test_s20_a_close_at_the_maximum_finishes_it_too(self, bench: Workbench) -> None:
        family(bench, "p")
        held = bench.acquire("p")
        assert bench.close(held, timedelta(0)).applied
        bench.clock.advance(timedelta(seconds=1))
        assert bench.get("child").waits_for == ("p",)
        held = bench.acquire("p")
        end = replace(bench.completing(held), outcome=Outcome.CLOSED, closed_count=2)
        assert bench.store.write(end).applied
        assert bench.acquire().key == "child"

    def test_s20_a_fused_step_may_take_the_child_it_has_released(self, bench: Workbench) -> None:
        family(bench, "p")
        end = bench.completing(bench.acquire("p"))
        following = AcquireNext(source=bench.source, tenancy=bench.tenancy(), may_miss=True)
        answer = bench.fused.complete_and_acquire(end, following)
        assert answer.ended.applied
        found = answer.next or bench.acquire()
        assert (found.key, bench.get("p").status) == ("child", S.COMPLETED)

    def test_s5_a_refused_ending_releases_nobody(self, bench: Workbench) -> None:
        family(bench, "p")
        held = bench.acquire("p")
        bench.expire()
        successor = bench.acquire("p", by=owner("successor"))
        refused = bench.complete(held)
        assert (refused.applied, refused.partition) == (False, bench.get("p"))
        assert bench.get("child").waits_for == ("p",)
        if (fused := parts_of(bench.store).fused) is not None:
            following = AcquireNext(source=bench.source, tenancy=bench.tenancy())
            assert not fused.complete_and_acquire(bench.completing(held), following).ended.applied
            assert bench.get("child").waits_for == ("p",)
        assert bench.complete(successor).applied

    def test_s19_failing_giving_up_and_closing_release_nobody(self, bench: Workbench) -> None:
        family(bench, "p")
        bench.fail(bench.acquire("p"))
        bench.give_up(bench.acquire("p"))
        bench.fail(bench.acquire("p"), delay=None)
        assert bench.get("p").parked
        assert bench.get("child").waits_for == ("p",)
        assert (bench.store.outlook(bench.source).parked, blocked(bench)) == (1, 1)

    def test_what_has_completed_is_nothing_to_wait_for(self, bench: Workbench) -> None:
        bench.create("done", "open")
        bench.complete(bench.acquire("done"))
        bench.create(child("c", "done"), child("d", "done", "open"))
        assert (bench.get("c").waits_for, bench.get("d").waits_for) == ((), ("open",))
        assert bench.get("done").awaited_op is None
        assert bench.get("c").parents == ("done",)

    def test_a_parent_must_be_there(self, bench: Workbench) -> None:
        bench.create("gone", "there")
        bench.act(Action.DELETE, "gone")
        for missing in ("never", "gone"):
            with pytest.raises(UnknownParentError, match=f"parents='{missing}': does not exist, and partition 'c'"):
                bench.create("beside", child("c", "there", missing))
            assert bench.store.get(bench.source, "beside") is None
        assert bench.get("there").awaited_op is None

    def test_what_exists_is_looked_at_before_its_parents(self, bench: Workbench) -> None:
        bench.create("p")
        bench.create(child("c", "p"))
        bench.complete(bench.acquire("p"))
        bench.act(Action.DELETE, "p")
        assert bench.create(child("c", "p")).existing == 1
        changed = bench.create(PartitionIdentifier("c"))
        assert (changed.existing, changed.changed) == (1, ("c",))
        assert bench.create(child("c", "elsewhere")).changed == ("c",)

    def test_s7_repeated_a_creation_counts_the_same_and_blocks_nothing_again(self, bench: Workbench) -> None:
        bench.create("p")
        op = bench.op()
        assert bench.create(child("c", "p"), "d", op=op).created == 2
        assert bench.create(child("c", "p"), "d", op=op).created == 2
        bench.complete(bench.acquire("p"))
        assert bench.create(child("c", "p"), "d", op=op).created == 2
        assert bench.get("c").waits_for == ()

    def test_s19_a_release_is_final(self, bench: Workbench) -> None:
        """Resetting a parent takes nothing back, and its second completion finds nobody."""
        family(bench, "p")
        bench.complete(bench.acquire("p"))
        bench.act(Action.RESET, "p")
        assert bench.acquire("child").waits_for == ()
        assert bench.complete(bench.acquire("p")).applied

    def test_s19_who_is_created_after_a_reset_waits(self, bench: Workbench) -> None:
        bench.create("p")
        bench.complete(bench.acquire("p"))
        bench.act(Action.RESET, "p")
        bench.create(child("c", "p"))
        assert bench.get("c").waits_for == ("p",)
        assert bench.drained() == ["p", "c"]

    def test_s19_a_child_that_is_created_again_waits_for_its_new_parents(self, bench: Workbench) -> None:
        bench.create("p", "q")
        bench.create(child("c", "p"))
        bench.act(Action.DELETE, "c")
        gone = bench.get("c")
        assert (gone.parents, gone.waits_for) == ((), ())
        assert bench.create(child("c", "q")).created == 1
        bench.complete(bench.acquire("p"))
        seen = bench.get("c")
        assert (seen.parents, seen.waits_for, seen.token) == (("q",), ("q",), gone.token)
        bench.complete(bench.acquire("q"))
        assert bench.acquire("c").token == gone.token + 1

    def test_a_tombstone_comes_back_without_parents(self, bench: Workbench) -> None:
        family(bench, "p")
        bench.act(Action.DELETE, "child")
        bench.create("child")
        assert (bench.get("child").parents, bench.acquire("child").waits_for) == ((), ())

    def test_children_are_listed_by_key(self, bench: Workbench) -> None:
        bench.create("p", "q")
        bench.create(child("é", "p"), child("b", "p", "q"), child("a", "q", "p"), child("z", "q"))
        bench.act(Action.DELETE, "b")

        def listed(after: str | None = None, limit: int = 10) -> list[str]:
            return bench.keys(bench.store.children(bench.source, "p", after, limit))

        assert (listed(), listed(limit=1), listed("a")) == (["a", "é"], ["a"], ["é"])
        bench.complete(bench.acquire("p"))
        assert listed() == ["a", "é"]
        assert bench.store.children(bench.source, "nobody", None, 10) in ((), [])

    def test_keys_as_odd_as_a_store_holds(self, bench: Workbench) -> None:
        odd = ["\"[]'%|\\", "p" * 2_048, "ü\U0001f600\n", "[]", "null"]
        bench.create(*odd)
        bench.create(child("c" * 2_048, *odd), child("d", odd[0]))
        assert bench.get("c" * 2_048).waits_for == tuple(odd)
        for key in odd:
            bench.complete(bench.acquire(key))
        assert sorted(bench.drained()) == ["c" * 2_048, "d"]

    def test_keys_as_long_as_they_may_be_and_not_to_be_compressed(self, bench: Workbench) -> None:
        """An index of PostgreSQL holds 2,704 bytes a row, after compression."""
        chance = random.Random(7)
        *parents, last = ["".join(chance.choices(string.printable, k=2_048)) for _ in range(4)]
        family(bench, *parents, of=last)
        for key in parents:
            assert bench.keys(bench.store.children(bench.source, key, None, 10)) == [last]
            bench.complete(bench.acquire(key))
        assert bench.acquire().key == last

    def test_a_released_child_keeps_its_priority_and_place(self, bench: Workbench) -> None:
        bench.create("p")
        bench.create(PartitionIdentifier("late", parents=["p"], priority=5), child("first", "p"), "plain")
        bench.complete(bench.acquire("p"))
        assert bench.drained() == ["first", "plain", "late"]

    def test_the_coordinator_puts_parents_first(self, coordinators: Coordinators) -> None:
        one = coordinators()
        made = one.create_partitions([child("c", "b"), child("b", "a"), "a", "z"])
        assert (made.created, one.looking.outlook().blocked) == (4, 2)
        with pytest.raises(ParentCycleError, match="goes in a circle, so that none of them could ever start"):
            one.create_partitions(["y", child("v", "x"), child("w", "v"), child("x", "w")])
        assert one.partition("y") is None


class Families:
    """What happens to families from outside."""

    @pytest.mark.parametrize("action", [Action.RESET, Action.REOPEN])
    def test_s19_people_do_not_start_what_waits(self, bench: Workbench, action: Action) -> None:
        family(bench, "p")
        bench.act(action, "child")
        seen = bench.get("child")
        assert (seen.status, seen.waits_for, seen.available_at) == (S.UNASSIGNED, ("p",), None)
        assert bench.next("child") is None
        bench.complete(bench.acquire("p"))
        assert bench.acquire().key == "child"

    def test_s19_parked_and_reopened_it_still_waits(self, bench: Workbench) -> None:
        family(bench, "p")
        assert bench.act(Action.PARK, "child").parked
        assert blocked(bench) == 0
        bench.act(Action.REOPEN, "child")
        assert blocked(bench) == 1
        bench.act(Action.PARK, "child")
        bench.complete(bench.acquire("p"))
        seen = bench.get("child")
        assert (seen.parked, seen.waits_for) == (True, ())
        assert bench.next() is None
        bench.act(Action.REOPEN, "child")
        assert bench.acquire().key == "child"

    def test_an_ending_says_how_many_have_waited_for_it(self, bench: Workbench) -> None:
        bench.create("p", "alone")
        bench.create(child("a", "p"), child("b", "p", "alone"))
        assert bench.complete(bench.acquire("p")).released == 2
        assert bench.complete(bench.acquire("alone")).released == 1
        assert bench.complete(bench.acquire("a")).released == 0

    def test_s20_finish_lets_children_start(self, bench: Workbench) -> None:
        family(bench, "p")
        bench.fail(bench.acquire("p"), delay=None)
        done = bench.act(Action.FINISH, "p")
        assert (done.status, done.reopen_at, done.awaited_op, done.failures) == (S.COMPLETED, None, None, 0)
        assert bench.store.heads(bench.source) == []
        assert [entry["action"] for entry in bench.store.audit(bench.source, "p")] == ["finish"]
        assert bench.acquire().key == "child"

    def test_what_people_did_to_a_source_is_listed_whole(self, bench: Workbench) -> None:
        """By when it was done, over all partitions; of one partition its own alone."""
        bench.create("b", "a", "c")
        for key in ("b", "a", "b"):
            for action in (Action.PARK, Action.REOPEN):
                bench.clock.advance(timedelta(seconds=1))
                bench.act(action, key)
        told = [(entry["key"], entry["action"]) for entry in bench.store.audit(bench.source, None)]
        assert told == [(key, action) for key in ("b", "a", "b") for action in ("park", "reopen")]
        assert len(bench.store.audit(bench.source, "b")) == 4
        assert bench.store.audit("other|PARTITION", None) == []

    def test_finish_takes_the_lease_away_and_drops_what_is_not_published(self, bench: Workbench) -> None:
        held = bench.new("p")
        bench.save(held, {"at": 1}, block("b1"))
        done = bench.act(Action.FINISH, "p")
        assert (done.status, done.token, done.owner, done.staged) == (S.COMPLETED, held.token + 1, None, ())
        assert not bench.complete(held).applied
        assert bench.next() is None

    def test_s20_finish_of_what_waits_itself_releases_its_own(self, bench: Workbench) -> None:
        bench.create("a")
        bench.create(child("b", "a"))
        bench.create(child("c", "b"))
        bench.act(Action.FINISH, "b")
        assert bench.get("c").waits_for == ()
        assert bench.acquire("c").waits_for == ()

    def test_s19_finished_and_reset_it_waits_for_its_parents_as_before(self, bench: Workbench) -> None:
        """Who finishes what waits has not finished what it waits for."""
        bench.create("a")
        bench.create(child("b", "a"), child("c", "a"))
        for key in ("b", "c"):
            bench.act(Action.FINISH, key)
        bench.act(Action.RESET, "b")
        assert (bench.get("b").waits_for, bench.get("b").available_at) == (("a",), None)
        assert bench.next("b") is None
        bench.complete(bench.acquire("a"))
        assert bench.get("c").waits_for == ()
        bench.act(Action.RESET, "c")
        assert sorted(bench.drained()) == ["b", "c"]

    def test_s20_a_parent_is_not_deleted_under_its_children(self, coordinators: Coordinators) -> None:
        one = coordinators()
        one.create_partitions(["p"])
        one.create_partitions([child(f"c{number:02}", "p") for number in range(12)])
        named = r"12 partition\(s\) wait for it: 'c00', .* 'c09', …\. Use finish"
        with pytest.raises(PartitionUpdateError, match=named):
            one.people.delete("p", by="ana", why="a test")
        for number in range(12):
            one.people.delete(f"c{number:02}", by="ana", why="a test")
        assert one.people.delete("p", by="ana", why="a test").deleted

    def test_s20_nor_under_one_that_was_created_since_somebody_looked(self, bench: Workbench) -> None:
        bench.create("p")
        seen = bench.get("p")
        bench.create(child("c", "p"))
        assert not bench.store.act(bench.acting(Action.DELETE, seen)).applied
        bench.act(Action.DELETE, "c")
        seen = bench.get("p")
        bench.create(child("d", "p"))
        assert not bench.store.act(bench.acting(Action.DELETE, seen)).applied
        assert bench.get("d").waits_for == ("p",)

    def test_who_waits_for_another_is_left_alone_by_one_that_finishes_again(self, bench: Workbench) -> None:
        bench.create("p", "q")
        bench.create(child("c", "p", "q"))
        bench.complete(bench.acquire("p"))
        bench.act(Action.RESET, "p")
        bench.create(child("d", "p"))
        before = bench.get("c")
        bench.clock.advance(1)
        assert bench.complete(bench.acquire("p")).applied
        assert bench.get("d").waits_for == ()
        assert bench.get("c") == before

    def test_s20_a_pause_holds_back_no_release(self, bench: Workbench) -> None:
        held = bench.new("p")
        bench.create(child("c", "p"))
        bench.pause()
        assert bench.complete(held).applied
        assert bench.get("c").waits_for == ()

    def test_s20_nor_under_one_while_it_is_held(self, bench: Workbench) -> None:
        seen = bench.new("p")
        bench.create(child("c", "p"))
        assert not bench.store.act(bench.acting(Action.DELETE, seen)).applied
        assert bench.get("c").waits_for == ("p",)

    @pytest.mark.parametrize("fault", LOST)
    @pytest.mark.parametrize("number", [1, 2])
    def test_s6_a_completion_is_settled_by_the_parent_alone(
        self, coordinators: Coordinators, store: PartitionStore, fault: Fault, number: int
    ) -> None:
        faulty = FaultyStore(store, {number: fault}, only=("write", "create"))
        one = coordinators(store=faulty)
        one.create_partitions(["p"])
        one.create_partitions([child("c", "p")])
        one.complete(acquired(one.get_next_partition()))
        faulty.deliver()
        lease = acquired(one.get_next_partition())
        assert lease.partition.key == "c"
        one.complete(lease)
        assert (one.counts()[S.COMPLETED], one.refusals) == (2, 0)

    @pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER])
    def test_l1_family_killed_at_any_call_a_family_comes_to_its_end(
        self, coordinators: Coordinators, store: PartitionStore, bench: Workbench, fault: Fault
    ) -> None:
        number = 0
        while self._family_killed_at(number := number + 1, store, bench, fault):
            pass
        assert number > 6

    @staticmethod
    def _family_killed_at(number: int, store: PartitionStore, bench: Workbench, fault: Fault) -> bool:
        """Create and drain a family with one call that kills, then make it good; return whether it came to that."""
        faulty = FaultyStore(store, {number: fault})

        def work(one: SourceCoordinator) -> None:
            one.create_partitions(["p", "q", child("c", "p", "q"), child("d", "c"), child("e", "c")])
            while (lease := one.get_next_partition()) is not None:
                one.complete(lease)

        source = f"family-{number}"
        try:
            work(SourceCoordinator(faulty, source, owner().text, clock=bench.clock))
        except Crash:
            bench.clock.advance(TIMEOUT)
        steady = SourceCoordinator(store, source, owner("steady").text, clock=bench.clock)
        work(steady)
        outlook = steady.looking.outlook()
        assert (steady.counts()[S.COMPLETED], outlook.blocked, outlook.claimable) == (5, 0, 0)
        return faulty.crashed
