"""What people do to parents and children, and what lost answers and killed processes do to them (S19, S20)."""

# ruff: noqa: D102  a test's name says what it shows

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.writes import Action
from airflow_coordination.testing.conformance.coordinating import Coordinators, acquired
from airflow_coordination.testing.conformance.hierarchy import blocked, child, family
from airflow_coordination.testing.conformance.lost_answers import LOST
from airflow_coordination.testing.conformance.workbench import TIMEOUT, Workbench, block, owner
from airflow_coordination.testing.crash import Crash, Fault, FaultyStore
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.status import PartitionStatus as S


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
            one.delete("p", by="ana", why="a test")
        for number in range(12):
            one.delete(f"c{number:02}", by="ana", why="a test")
        assert one.delete("p", by="ana", why="a test").deleted

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
        outlook = steady.outlook()
        assert (steady.counts()[S.COMPLETED], outlook.blocked, outlook.claimable) == (5, 0, 0)
        return faulty.crashed
