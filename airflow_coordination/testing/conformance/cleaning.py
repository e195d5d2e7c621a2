"""Finished parents that nobody needs are cleaned up, and whoever names them later need not wait (S19, S20)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from airflow_coordination.leases.cleaning import CleanedUp
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.hierarchy import CLEAN_AFTER
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.writes import Action
from airflow_coordination.testing.conformance.coordinator_cases import Coordinators, acquired
from airflow_coordination.testing.conformance.fixtures import MINUTE, TIMEOUT, Workbench, block, head, owner
from airflow_coordination.testing.conformance.hierarchy import child, family
from airflow_coordination.testing.conformance.lost_answers import LOST
from airflow_coordination.testing.crash import Crash, Fault, FaultyStore
from airflow_coordination.testing.forwarding import ForwardingStore
from airflow_coordination.values.errors import PartitionNotFoundError
from airflow_coordination.values.input_errors import UnknownParentError
from airflow_coordination.values.status import Outcome
from airflow_coordination.values.status import PartitionStatus as S

_LATER = CLEAN_AFTER + timedelta(seconds=5)
"""More than a store is exact about its time."""


def begun(one: SourceCoordinator) -> None:
    """Create ``p`` with its child ``c``, complete the one and acquire the other, and give it back."""
    one.create_partitions(["p", child("c", "p")])
    one.complete(acquired(one.get_next_partition()))
    one.give_up(acquired(one.get_next_partition()))


class Cleaning:
    """Row *clean up* of the table."""

    def test_what_was_cleaned_up_is_gone_and_counts_as_finished(self, bench: Workbench) -> None:
        family(bench, "p")
        held = bench.acquire("p")
        bench.store.write(bench.completing(held, head(held, block("b1"))))
        done = bench.get("p")
        gone = bench.act(Action.CLEAN_UP, "p")
        assert (gone.deleted, gone.status, gone.cleaned_up) == (True, S.COMPLETED, True)
        assert (gone.token, gone.nonce, gone.ring) == (done.token + 1, gone.last_op, done.ring)
        assert bench.keys(bench.store.page(bench.source, None, None, 10)) == ["child"]
        assert bench.store.counts(bench.source)[S.COMPLETED] == 0
        assert bench.store.outlook(bench.source).completed == 0
        assert [each.key for each in bench.store.heads(bench.source)] == ["p"]
        assert [line["action"] for line in bench.store.audit(bench.source, "p")] == ["clean up"]

    def test_s20_a_child_that_names_it_later_need_not_wait(self, bench: Workbench) -> None:
        bench.bring("p", S.COMPLETED)
        tombstone = bench.act(Action.CLEAN_UP, "p")
        bench.create("q")
        assert bench.create(child("c", "p"), child("d", "p", "q")).created == 2
        assert (bench.get("c").parents, bench.get("c").waits_for) == (("p",), ())
        assert (bench.get("d").parents, bench.get("d").waits_for) == (("p", "q"), ("q",))
        assert bench.get("p") == tombstone
        assert bench.drained() == ["q", "c", "d"]

    @pytest.mark.parametrize("call", ["renew", "save_progress_state", "complete", "close", "fail", "give_up"])
    def test_z6_an_owner_whose_partition_was_deleted_is_told_who_did_it(
        self, coordinators: Coordinators, call: str
    ) -> None:
        one = coordinators()
        one.create_partitions(["k"])
        lease = one.get_next_partition()
        assert lease is not None
        one.people.delete("k", by="ana", why="a wrong range")
        given: dict[str, list[object]] = {"save_progress_state": [{"row": 1}], "close": [MINUTE], "fail": ["broken"]}
        with pytest.raises(PartitionNotFoundError) as raised:
            getattr(one, call)(lease, *given.get(call, []))
        assert "was deleted by 'ana' ('a wrong range'). Stop this work" in str(raised.value)
        assert lease.ending is not None
        assert lease.ending.outcome is Outcome.RELEASED
        counts = one.metrics.counts  # type: ignore[attr-defined]
        found = {name.rpartition("_")[2] for name in counts}
        assert "partitionNotFoundErrors" in found
        assert "partitionNotOwnedErrors" not in found

    def test_one_that_a_person_has_deleted_is_no_parent(self, bench: Workbench) -> None:
        bench.bring("p", S.COMPLETED)
        gone = bench.act(Action.DELETE, "p")
        assert (gone.status, gone.cleaned_up) == (S.UNASSIGNED, False)
        with pytest.raises(UnknownParentError):
            bench.create(child("c", "p"))

    def test_s1_created_again_it_is_new_and_its_children_wait_again(self, bench: Workbench) -> None:
        before = bench.bring("p", S.COMPLETED)
        bench.create(child("c", "p"))
        bench.act(Action.CLEAN_UP, "p")
        assert bench.create("p").created == 1
        again = bench.get("p")
        assert (again.status, again.deleted, again.token) == (S.UNASSIGNED, False, before.token + 1)
        assert bench.get("c").waits_for == ()
        bench.create(child("d", "p"))
        assert bench.get("d").waits_for == ("p",)
        assert bench.acquire("p").token == before.token + 2
        assert bench.next("d") is None

    def test_s7_an_old_creation_does_not_bring_it_back(self, bench: Workbench) -> None:
        op = bench.op()
        bench.create("p", op=op)
        bench.complete(bench.acquire("p"))
        tombstone = bench.act(Action.CLEAN_UP, "p")
        bench.create("p", op=op)
        assert bench.get("p") == tombstone

    def test_one_that_was_reset_since_it_was_seen_stays(self, bench: Workbench) -> None:
        seen = bench.bring("p", S.COMPLETED)
        bench.act(Action.RESET, "p")
        write = bench.acting(Action.CLEAN_UP, seen)
        answer = bench.store.act(write)
        assert (answer.applied, answer.partition) == (False, bench.get("p"))
        bench.complete(bench.acquire("p"))
        assert not bench.store.act(write).applied
        assert not bench.get("p").deleted

    def test_s20_one_that_was_reset_and_is_awaited_stays(self, bench: Workbench) -> None:
        """Whatever its sender has seen: nothing else would tell its children."""
        seen = bench.bring("p", S.COMPLETED)
        bench.act(Action.RESET, "p")
        bench.create(child("c", "p"))
        assert not bench.store.act(bench.acting(Action.CLEAN_UP, seen)).applied
        assert bench.drained() == ["p", "c"]

    def test_a_tombstone_is_not_acted_on(self, bench: Workbench) -> None:
        bench.bring("p", S.COMPLETED)
        tombstone = bench.act(Action.CLEAN_UP, "p")
        for action in Action:
            assert not bench.store.act(bench.acting(action, tombstone)).applied
        assert bench.get("p") == tombstone
        assert bench.next("p") is None
        assert bench.sweep().total == 0

    def test_it_goes_a_day_after_its_end_when_its_children_have_begun(
        self, coordinators: Coordinators, bench: Workbench
    ) -> None:
        one = coordinators()
        one.create_partitions(["p", child("c", "p"), child("d", "p"), "alone"])
        for key in ("p", "alone", "c"):
            one.complete(acquired(one.acquire_partition(key)))
        bench.clock.advance(_LATER)
        assert one.cleaning.clean_up() == CleanedUp()  # d has not begun
        one.give_up(acquired(one.get_next_partition()))
        assert one.cleaning.clean_up(dry_run=True).keys == ("p",)
        assert one.partition("p") is not None
        assert one.cleaning.clean_up() == CleanedUp(("p",))
        assert one.cleaning.clean_up() == CleanedUp()
        assert (one.partition("p"), one.counts()[S.COMPLETED]) == (None, 2)
        [line] = one.looking.actions("p")
        assert (line["action"], line["by"]) == ("clean up", one.owner.text)
        assert "its children have begun" in line["why"]

    def test_not_before_a_day_is_over_and_by_the_stores_clock(
        self, coordinators: Coordinators, bench: Workbench
    ) -> None:
        one = coordinators()
        begun(one)
        bench.clock.advance(CLEAN_AFTER - timedelta(seconds=5))
        assert one.cleaning.clean_up().keys == ()
        assert one.cleaning.clean_up(timedelta(hours=1), dry_run=True).keys == ("p",)
        bench.clock.advance(timedelta(seconds=10))
        assert one.cleaning.clean_up().keys == ("p",)

    def test_a_child_that_was_made_anew_and_not_acquired_since_has_not_begun(
        self, coordinators: Coordinators, bench: Workbench
    ) -> None:
        one = coordinators()
        begun(one)
        one.people.delete("c", by="ana", why="a test")
        bench.clock.advance(_LATER)
        assert one.cleaning.clean_up().keys == ()  # it has no child at all
        one.create_partitions([child("c", "p")])
        assert one.cleaning.clean_up().keys == ()
        one.complete(acquired(one.get_next_partition()))
        assert one.cleaning.clean_up().keys == ("p",)

    def test_a_child_that_a_person_has_finished_has_taken_over(
        self, coordinators: Coordinators, bench: Workbench
    ) -> None:
        one = coordinators()
        one.create_partitions(["p", child("c", "p")])
        one.complete(acquired(one.get_next_partition()))
        one.people.finish("c", by="ana", why="a test")
        bench.clock.advance(_LATER)
        assert one.cleaning.clean_up().keys == ("p",)

    def test_parents_go_before_their_children(self, coordinators: Coordinators, bench: Workbench) -> None:
        """A split that was merged again, in an order of keys that is against it."""
        one = coordinators()
        one.create_partitions(["z", child("x", "z"), child("y", "z"), child("b", "x", "y"), child("a", "b")])
        while (lease := one.get_next_partition()) is not None:
            one.complete(lease)
        bench.clock.advance(_LATER)
        assert [one.cleaning.clean_up().keys for _ in range(4)] == [("z",), ("x", "y"), ("b",), ()]
        assert bench.keys(one.partitions()) == ["a"]

    def test_what_the_source_knows_no_more_goes_at_once(self, coordinators: Coordinators, bench: Workbench) -> None:
        one = coordinators()
        one.create_partitions(["held", "open", "p", child("c", "p"), child("late", "open", "p")])
        one.complete(acquired(one.acquire_partition("p")))
        acquired(one.acquire_partition("held"))
        gone = ["held", "open", "p", "never"]
        assert one.cleaning.clean_up(gone=gone).keys == ("p",)
        assert bench.get("late").waits_for == ("open",)
        assert "knows it no more" in one.looking.actions("p")[0]["why"]

    def test_one_that_was_reset_between_the_look_and_the_removal_stays(
        self, coordinators: Coordinators, store: PartitionStore, bench: Workbench
    ) -> None:
        steady = coordinators()
        begun(steady)
        bench.clock.advance(_LATER)

        class Late(ForwardingStore):
            def forward(self, name: str, call: Callable[[], Any]) -> Any:
                if name == "act":
                    bench.act(Action.RESET, "p")
                return call()

        found = coordinators(store=Late(store)).cleaning.clean_up()
        assert (found.keys, found.changed) == ((), ("p",))
        assert bench.get("p").status is S.UNASSIGNED

    def test_it_goes_on_from_portion_to_portion(self, coordinators: Coordinators, bench: Workbench) -> None:
        one = coordinators()
        keys = [f"p{number}" for number in range(5)]
        one.create_partitions([*keys, child("c", *keys)])
        while (lease := one.get_next_partition()) is not None:
            one.complete(lease)
        bench.clock.advance(_LATER)
        done = one.cleaning.clean_up(limit=2)
        assert done.keys == ("p0",)
        while done.after is not None:
            done += one.cleaning.clean_up(limit=2, after=done.after)
        assert done.keys == tuple(keys)

    @pytest.mark.parametrize("fault", LOST)
    def test_s6_a_lost_answer_is_settled(
        self, coordinators: Coordinators, store: PartitionStore, bench: Workbench, fault: Fault
    ) -> None:
        begun(coordinators())
        bench.clock.advance(_LATER)
        faulty = FaultyStore(store, {1: fault}, only=("act",))
        assert coordinators(store=faulty).cleaning.clean_up().keys == ("p",)
        faulty.deliver()
        assert bench.get("p").cleaned_up
        assert len(store.audit(bench.source, "p")) == 1

    def test_the_supplier_cleans_up_when_it_is_done(self, coordinators: Coordinators, bench: Workbench) -> None:
        """A supplier that names children of what was cleaned up, as a planner of shards does."""
        one = coordinators()
        begun(one)
        bench.clock.advance(_LATER)
        assert one.run_supplier(lambda state: []).cleaned_up == 0
        assert one.run_supplier(lambda state: ["p"], clean_after=CLEAN_AFTER).cleaned_up == 0  # it names it again
        run = one.run_supplier(lambda state: [child("d", "p")], clean_after=CLEAN_AFTER)
        assert (run.created.created, run.cleaned_up) == (1, 0)  # d has not begun
        while (lease := one.get_next_partition()) is not None:
            one.complete(lease)
        assert one.run_supplier(lambda state: [], clean_after=CLEAN_AFTER).cleaned_up == 1
        assert one.run_supplier(lambda state: [child("e", "p")], clean_after=CLEAN_AFTER).created.created == 1
        assert one.get_next_partition() is not None

    def test_while_a_rival_runs_the_supplier_nothing_is_cleaned_up(
        self, coordinators: Coordinators, bench: Workbench
    ) -> None:
        one, other = coordinators(), coordinators(by=owner("other").text)
        begun(one)
        bench.clock.advance(_LATER)
        runs = []

        def supplier(state: dict[str, Any]) -> list[str]:
            runs.append(other.run_supplier(lambda state: [], clean_after=CLEAN_AFTER))
            return []

        assert one.run_supplier(supplier).cleaned_up == 0
        assert (runs[0].ran, runs[0].cleaned_up) == (False, 0)
        assert not bench.get("p").deleted

    @pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER])
    def test_s11_killed_at_any_call_the_next_run_goes_on(
        self, coordinators: Coordinators, store: PartitionStore, bench: Workbench, fault: Fault
    ) -> None:
        number = 0
        while self._clean_up_killed_at(number := number + 1, store, bench, fault):
            pass
        assert number > 6

    @staticmethod
    def _clean_up_killed_at(number: int, store: PartitionStore, bench: Workbench, fault: Fault) -> bool:
        """Clean a family up with one call that kills, then once more; return whether it came to that call."""
        source = f"cleaning-{number}"
        steady = SourceCoordinator(store, source, owner("steady").text, clock=bench.clock)
        begun(steady)
        bench.clock.advance(_LATER)
        faulty = FaultyStore(store, {number: fault})
        try:
            SourceCoordinator(faulty, source, owner().text, clock=bench.clock).run_supplier(
                lambda state: ["late"], clean_after=CLEAN_AFTER
            )
        except Crash:
            bench.clock.advance(TIMEOUT)
        steady.run_supplier(lambda state: ["late"], clean_after=CLEAN_AFTER)
        assert steady.partition("p") is None
        steady.create_partitions([child("d", "p")])
        assert sorted(bench.keys(steady.partitions())) == ["c", "d", "late"]
        return faulty.crashed
