"""Asking for another worker's lease, handing it over, stealing it: promise S28, and what a mark must not do."""

# ruff: noqa: D102  a test's name says what it shows

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.writes import Action
from airflow_coordination.testing.conformance.workbench import MINUTE, TIMEOUT, Workbench, block, fence, owner
from airflow_coordination.values.status import Outcome, PartitionStatus

S = PartitionStatus
ANA, BEN = owner("ana"), owner("ben")


def held(bench: Workbench) -> Partition:
    """Return a partition that somebody works on."""
    return bench.save(bench.new("k"), {"row": 1}, block("b1"))


def asked(bench: Workbench) -> Partition:
    """Return one that Ana has asked for, as it was then; her time to steal it has come."""
    seen = held(bench)
    assert bench.ask(seen, ANA).applied
    bench.clock.advance(MINUTE)
    return bench.get("k")


class Wanting:
    """Rows *ask*, *hand over* and *steal* of the table."""

    def test_asking_leaves_a_mark_and_nothing_else(self, bench: Workbench) -> None:
        seen = held(bench)
        assert bench.ask(seen, ANA).applied
        marked = bench.get("k")
        until = bench.clock.now() + MINUTE
        assert marked == replace(seen, wanted_by=ANA.text, wanted_token=seen.token, wanted_until=until)
        assert (seen.wanted, marked.wanted) == (None, ANA.text)

    def test_the_owner_hears_of_it_with_its_next_renewal(self, bench: Workbench) -> None:
        seen = held(bench)
        assert bench.renew(seen).wanted_by is None
        bench.ask(seen, ANA)
        bench.clock.advance(MINUTE / 10)
        assert bench.renew(seen).wanted_by == ANA.text

    def test_the_owner_hears_of_it_with_a_renewal_that_prolongs_nothing(self, bench: Workbench) -> None:
        seen = held(bench)
        bench.ask(seen, ANA)
        assert bench.renew(seen, TIMEOUT / 2).wanted_by == ANA.text

    def test_asking_stands_beside_the_owners_chain(self, bench: Workbench) -> None:
        seen = held(bench)
        bench.ask(seen, ANA)
        saved = bench.save(seen, {"row": 2})
        assert saved.wanted == ANA.text
        assert bench.complete(saved).applied
        assert bench.get("k").wanted is None

    def test_nobody_else_asks_before_the_time_of_who_has_asked_is_over(self, bench: Workbench) -> None:
        seen = held(bench)
        assert bench.ask(seen, ANA).applied
        again, other = bench.ask(seen, ANA), bench.ask(seen, BEN)
        assert (again.applied, other.applied) == (False, False)
        assert other.partition is not None
        assert other.partition.wanted == ANA.text
        bench.clock.advance(MINUTE)
        assert bench.ask(seen, BEN).applied
        assert bench.get("k").wanted == BEN.text

    @pytest.mark.parametrize("status", [s for s in S if s is not S.ASSIGNED])
    def test_only_what_is_held_is_asked_for(self, bench: Workbench, status: PartitionStatus) -> None:
        before = bench.bring("k", status)
        seen = replace(before, nonce=before.nonce or "n", token=before.token)
        assert not bench.ask(seen, ANA).applied
        assert bench.get("k") == before

    def test_asking_names_the_tenure(self, bench: Workbench) -> None:
        seen = held(bench)
        bench.give_up(seen)
        bench.acquire("k", by=BEN)
        assert not bench.ask(seen, ANA).applied

    def test_a_mark_says_nothing_of_the_next_tenure(self, bench: Workbench) -> None:
        seen = held(bench)
        bench.ask(seen, ANA)
        bench.give_up(seen)
        next_one = bench.acquire("k", by=BEN)
        assert (next_one.wanted, bench.renew(next_one).wanted_by) == (None, None)
        bench.clock.advance(MINUTE)
        assert not bench.steal(bench.get("k"), by=ANA).applied
        assert bench.ask(next_one, ANA).applied

    def test_a_mark_of_the_tenure_before_holds_up_nobody_who_asks(self, bench: Workbench) -> None:
        seen = held(bench)
        assert bench.ask(seen, ANA).applied
        bench.give_up(seen)
        assert bench.ask(bench.acquire("k"), BEN).applied

    def test_handing_over_counts_nothing_and_keeps_what_was_saved(self, bench: Workbench) -> None:
        seen = held(bench)
        bench.ask(seen, ANA)
        assert bench.hand_over(seen).applied
        free = bench.get("k")
        ending = free.ending_of(fence(seen))
        assert ending is not None
        assert (ending.outcome, free.status) == (Outcome.HANDED_OVER, S.UNASSIGNED)
        assert (free.closed_count, free.failures, free.lost_leases) == (0, 0, 0)
        assert (free.progress_state, free.staged) == ({"row": 1}, seen.staged)
        assert bench.hinted("k", free.token, by=ANA).applied

    def test_stealing_starts_a_tenure_and_counts_no_lost_lease(self, bench: Workbench) -> None:
        seen = asked(bench)
        answer = bench.steal(seen, by=ANA)
        assert answer.applied
        taken = bench.get("k")
        assert answer.partition == taken
        assert (taken.status, taken.token, taken.owner) == (S.ASSIGNED, seen.token + 1, ANA.text)
        assert (taken.progress_state, taken.staged, taken.lost_leases) == ({"row": 1}, seen.staged, 0)
        assert taken.wanted is None
        ending = taken.ending_of(fence(seen))
        assert ending is not None
        assert (ending.outcome, ending.last) == (Outcome.STOLEN, seen.last_op)

    def test_s2_who_was_stolen_from_writes_nothing_more(self, bench: Workbench) -> None:
        seen = asked(bench)
        bench.steal(seen, by=ANA)
        taken = bench.get("k")
        assert not bench.renew(seen).applied
        assert not bench.store.write(bench.saving(seen, {"row": 9})).applied
        assert not bench.complete(seen).applied
        assert bench.get("k") == taken
        assert bench.complete(taken).applied

    def test_s28_stealing_waits_for_its_time(self, bench: Workbench) -> None:
        seen = held(bench)
        bench.ask(seen, ANA)
        bench.clock.advance(MINUTE * 0.9)
        marked = bench.get("k")
        assert not bench.steal(marked, by=ANA).applied
        assert bench.get("k") == marked

    @pytest.mark.parametrize("by", [BEN, owner("ana", try_number=2)], ids=["another worker", "another try"])
    def test_s28_only_who_has_asked_steals(self, bench: Workbench, by: object) -> None:
        seen = asked(bench)
        assert not bench.steal(seen, by=by).applied
        assert bench.get("k") == seen

    def test_s28_what_nobody_has_asked_for_is_not_stolen(self, bench: Workbench) -> None:
        seen = held(bench)
        assert not bench.steal(seen, by=ANA).applied
        assert bench.get("k") == seen

    def test_s28_who_was_asked_for_by_somebody_else_meanwhile_is_theirs(self, bench: Workbench) -> None:
        seen = asked(bench)
        bench.ask(seen, BEN)
        assert not bench.steal(seen, by=ANA).applied
        bench.clock.advance(MINUTE)
        assert bench.steal(seen, by=BEN).applied

    def test_s28_whoever_holds_it_next_was_not_asked(self, bench: Workbench) -> None:
        seen = asked(bench)
        bench.give_up(seen)
        next_one = bench.acquire("k", by=BEN)
        assert not bench.steal(seen, by=ANA).applied
        assert bench.get("k") == next_one

    def test_a_renewed_lease_is_stolen_all_the_same(self, bench: Workbench) -> None:
        seen = asked(bench)
        bench.renew(seen)
        assert bench.steal(seen, by=ANA).applied

    def test_one_that_has_run_out_is_lost_and_not_stolen(self, bench: Workbench) -> None:
        seen = asked(bench)
        bench.clock.advance(TIMEOUT)
        assert not bench.steal(seen, by=ANA).applied
        taken = bench.acquire("k", by=ANA)
        ending = taken.ending_of(fence(seen))
        assert ending is not None
        assert (ending.outcome, taken.lost_leases) == (Outcome.LOST, 1)

    def test_s6_a_repeated_steal_is_known_by_its_nonce(self, bench: Workbench) -> None:
        seen = asked(bench)
        write = bench.stealing(seen, by=ANA)
        assert bench.store.acquire(write).applied
        again = bench.store.acquire(write)
        assert not again.applied
        assert again.partition is not None
        assert (again.partition.nonce, again.partition.last_op) == (write.tenancy.op, write.tenancy.op)

    def test_x12_nothing_is_stolen_while_the_source_is_paused(self, bench: Workbench) -> None:
        bench.store.register(bench.source, {})
        seen = asked(bench)
        bench.pause()
        assert not bench.steal(seen, by=ANA).applied
        bench.resume()
        assert bench.steal(bench.get("k"), by=ANA).applied

    def test_x11_a_stolen_tenure_is_history(self, bench: Workbench) -> None:
        seen = asked(bench)
        bench.steal(seen, by=ANA)
        rows = bench.store.history(bench.source, "k")
        if bench.store.keeps_history:
            assert [(row.outcome, row.owner) for row in rows] == [(Outcome.STOLEN, seen.owner)]

    def test_a_deleted_partition_is_made_anew_without_its_mark(self, bench: Workbench) -> None:
        asked(bench)
        bench.act(Action.DELETE, "k")
        bench.create("k")
        assert bench.acquire("k", by=BEN).wanted is None
