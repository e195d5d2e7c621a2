"""Tenures: what an owner does under its fence: renew, save, begin, adopt, retake."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.results import Answer
from airflow_coordination.protocol.writes import Action
from airflow_coordination.testing.conformance.fixtures import MINUTE, TIMEOUT, Workbench, block, fence, owner
from airflow_coordination.values.status import Outcome, PartitionStatus

OWNER_WRITES: dict[str, Callable[[Workbench, Partition], Answer]] = {
    "renew": lambda bench, held: bench.renew(held),
    "adopt": lambda bench, held: bench.adopt(held, owner(try_number=9)),
    "begin": lambda bench, held: bench.begin(held),
    "save": lambda bench, held: bench.store.write(bench.saving(held, {"row": 1})),
    "complete": lambda bench, held: bench.complete(held),
    "close": lambda bench, held: bench.close(held),
    "fail": lambda bench, held: bench.fail(held),
    "give up": lambda bench, held: bench.give_up(held),
}
CHAIN_WRITES = [name for name in OWNER_WRITES if name not in ("renew", "adopt")]

OVER: dict[str, Callable[[Workbench, Partition], object]] = {
    "completed": lambda bench, held: bench.complete(held),
    "closed": lambda bench, held: bench.close(held),
    "failed": lambda bench, held: bench.fail(held),
    "given up": lambda bench, held: bench.give_up(held),
    "reclaimed": lambda bench, held: (bench.expire(), bench.sweep()),
    "taken over": lambda bench, held: (bench.expire(), bench.acquire(held.key, by=owner("other"))),
    "retaken": lambda bench, held: bench.retake(held, by=owner(try_number=2)),
    "released": lambda bench, held: bench.act(Action.RELEASE, held.key),
    "parked": lambda bench, held: bench.act(Action.PARK, held.key),
    "reset": lambda bench, held: bench.act(Action.RESET, held.key),
    "deleted": lambda bench, held: bench.act(Action.DELETE, held.key),
}


class Tenure:
    """Rows *retake*, *adopt*, *begin*, *renew* and *save* of the table; promises S2, S14."""

    @pytest.mark.parametrize("name", OWNER_WRITES)
    @pytest.mark.parametrize("how", OVER)
    def test_s2_a_write_under_an_old_fence_is_refused_and_changes_nothing(
        self, bench: Workbench, name: str, how: str
    ) -> None:
        held = bench.new("k")
        OVER[how](bench, held)
        before = bench.get("k")
        answer = OWNER_WRITES[name](bench, held)
        assert (answer.applied, answer.partition) == (False, before)
        assert bench.get("k") == before

    @pytest.mark.parametrize("name", OWNER_WRITES)
    def test_s2_the_token_alone_does_not_own(self, bench: Workbench, name: str) -> None:
        bench.renew(bench.new("k"))
        held = bench.get("k")
        assert not OWNER_WRITES[name](bench, replace(held, nonce="another")).applied
        assert bench.get("k") == held

    @pytest.mark.parametrize("name", OWNER_WRITES)
    def test_a_write_to_an_absent_partition_is_refused_without_one(self, bench: Workbench, name: str) -> None:
        held = bench.new("k")
        assert OWNER_WRITES[name](bench, replace(held, key="absent")) == Answer(False, None)

    @pytest.mark.parametrize("name", CHAIN_WRITES)
    def test_a_write_that_does_not_follow_the_last_one_is_refused(self, bench: Workbench, name: str) -> None:
        held = bench.new("k")
        saved = bench.save(held, 1)
        answer = OWNER_WRITES[name](bench, held)
        assert (answer.applied, answer.partition) == (False, saved)

    @pytest.mark.parametrize("name", [name for name in OWNER_WRITES if name != "adopt"])
    def test_an_expired_lease_nobody_took_is_still_ones_own(self, bench: Workbench, name: str) -> None:
        held = bench.new("k")
        bench.expire()
        assert OWNER_WRITES[name](bench, held).applied

    def test_renewing_moves_the_timeout_and_confirms_and_nothing_else(self, bench: Workbench) -> None:
        held = bench.new("k")
        bench.clock.advance(MINUTE)
        answer = bench.renew(held)
        until = bench.clock.now() + TIMEOUT
        assert answer.applied
        assert bench.get("k") == replace(held, ownership_timeout=until, confirmed=True)
        assert answer.expires_at == until

    def test_a_renewal_never_shortens(self, bench: Workbench) -> None:
        held = bench.new("k")
        assert bench.renew(held, timeout=MINUTE).applied
        assert bench.get("k").ownership_timeout == held.ownership_timeout

    def test_a_renewal_does_not_break_the_chain(self, bench: Workbench) -> None:
        held = bench.new("k")
        bench.renew(held)
        assert bench.store.write(bench.saving(held, 1)).applied

    def test_a_renewal_after_expiry_takes_it_out_of_the_line_again(self, bench: Workbench) -> None:
        held = bench.new("k")
        bench.expire()
        assert bench.store.claimable(bench.source, 9) == [("k", 1)]
        bench.renew(held)
        assert bench.next() is None
        assert list(bench.store.claimable(bench.source, 9)) == []
        bench.expire()
        assert bench.acquire().token == 2

    def test_saving_stores_progress_and_blocks_together_and_renews(self, bench: Workbench) -> None:
        held = bench.new("k")
        bench.clock.advance(MINUTE)
        write = bench.saving(held, {"row": 900}, block("b1"), block("b2", dataset="rejected"))
        answer = bench.store.write(write)
        after = bench.get("k")
        assert (after.progress_state, after.staged) == ({"row": 900}, write.staged)
        assert after.ownership_timeout == bench.clock.now() + TIMEOUT
        assert (after.last_op, after.updated_at) == (write.op, bench.clock.now())
        assert (answer.applied, answer.expires_at) == (True, after.ownership_timeout)

    def test_saving_never_shortens(self, bench: Workbench) -> None:
        held = bench.new("k")
        bench.save(held, 1, timeout=MINUTE)
        assert bench.get("k").ownership_timeout == held.ownership_timeout

    def test_each_save_follows_the_one_before(self, bench: Workbench) -> None:
        held = bench.new("k")
        for row in range(5):
            held = bench.save(held, {"row": row}, block(f"b{row}"))
        assert held.progress_state == {"row": 4}
        assert [staged.digest for staged in held.staged] == ["b0", "b1", "b2", "b3", "b4"]

    def test_s6_a_repeated_save_is_refused_and_shows_that_it_was_applied(self, bench: Workbench) -> None:
        write = bench.saving(bench.new("k"), 1, block("b1"))
        assert bench.store.write(write).applied
        before = bench.get("k")
        again = bench.store.write(write)
        assert (again.applied, again.partition) == (False, before)
        assert before.last_op == write.op

    def test_s14_progress_and_staged_blocks_survive_the_loss_of_a_lease(self, bench: Workbench) -> None:
        saved = bench.save(bench.new("k"), {"row": 1}, block("b1"))
        bench.expire()
        bench.sweep()
        again = bench.acquire()
        assert (again.progress_state, again.staged) == ({"row": 1}, saved.staged)

    def test_a_driver_begins_once(self, bench: Workbench) -> None:
        held = bench.new("k")
        bench.clock.advance(MINUTE)
        first = bench.begin(held, op="driver-1")
        assert first.applied
        begun = bench.get("k")
        assert first.partition == begun
        assert (begun.last_op, begun.ownership_timeout) == ("driver-1", bench.clock.now() + TIMEOUT)
        second = bench.begin(held, op="driver-2")
        assert (second.applied, second.partition) == (False, begun)

    def test_a_later_try_adopts_without_touching_the_chain(self, bench: Workbench) -> None:
        held = bench.new("k", by=owner(try_number=1, host="old"))
        later = owner(try_number=2, host="new")
        assert bench.adopt(held, later).applied
        assert bench.get("k") == replace(held, owner=later.text)
        assert bench.store.write(bench.saving(held, 1)).applied

    def test_an_earlier_try_does_not_adopt(self, bench: Workbench) -> None:
        held = bench.new("k", by=owner(try_number=3))
        assert not bench.adopt(held, owner(try_number=2)).applied
        assert bench.adopt(held, owner(try_number=3)).applied
        assert bench.get("k") == held

    def test_tries_are_numbers_not_texts(self, bench: Workbench) -> None:
        held = bench.new("k", by=owner(try_number=9))
        assert bench.adopt(held, owner(try_number=10)).applied
        assert not bench.retake(bench.get("k"), by=owner(try_number=9)).applied
        assert bench.retake(bench.get("k"), by=owner(try_number=11)).applied

    def test_a_later_try_retakes_without_waiting(self, bench: Workbench) -> None:
        held = bench.save(bench.new("k"), {"row": 1}, block("b1"))
        answer = bench.retake(held, by=owner(try_number=2, host="elsewhere"))
        assert answer.applied
        taken = bench.get("k")
        assert answer.partition == taken
        assert (taken.token, taken.owner) == (2, owner(try_number=2, host="elsewhere").text)
        assert (taken.progress_state, taken.staged, taken.lost_leases) == ({"row": 1}, held.staged, 1)
        ending = taken.ending_of(fence(held))
        assert ending is not None
        assert (ending.outcome, ending.last) == (Outcome.RETAKEN, held.last_op)

    def test_retaking_a_tenure_without_an_owner_write_counts_nothing(self, bench: Workbench) -> None:
        taken = bench.retake(bench.new("k"), by=owner(try_number=2)).partition
        assert taken is not None
        assert taken.lost_leases == 0

    @pytest.mark.parametrize(
        ("by", "same_try"),
        [
            (owner(try_number=1), False),
            (owner(try_number=0), True),
            (owner("another", try_number=2), False),
            (owner("another", try_number=1), True),
        ],
        ids=["same try", "earlier try", "another task", "another task, same try"],
    )
    def test_retaking_is_for_later_tries_of_the_same_task(self, bench: Workbench, by: object, same_try: bool) -> None:
        held = bench.new("k", by=owner(try_number=1))
        answer = bench.retake(held, by=by, same_try=same_try)
        assert (answer.applied, answer.partition) == (False, held)

    def test_a_second_driver_of_the_same_try_retakes(self, bench: Workbench) -> None:
        held = bench.new("k", by=owner(try_number=1))
        assert bench.retake(held, by=owner(try_number=1), same_try=True).applied
        assert bench.get("k").token == 2

    def test_retaking_needs_the_last_write_as_seen(self, bench: Workbench) -> None:
        seen = bench.new("k")
        now = bench.save(seen, 1)
        assert not bench.retake(seen, by=owner(try_number=2)).applied
        assert bench.get("k") == now
        assert bench.retake(now, by=owner(try_number=2)).applied

    def test_retaking_stops_at_the_last_lost_lease(self, bench: Workbench) -> None:
        held = bench.save(bench.new("k", max_lost_leases=1), 1)
        assert not bench.retake(held, by=owner(try_number=2)).applied
        assert bench.get("k") == held

    @pytest.mark.parametrize("status", [s for s in PartitionStatus if s is not PartitionStatus.ASSIGNED])
    def test_only_what_is_held_is_retaken(self, bench: Workbench, status: PartitionStatus) -> None:
        before = bench.bring("k", status)
        assert not bench.retake(before, by=owner(try_number=2)).applied
        assert bench.get("k") == before


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
        rows = bench.history.history(bench.source, "k")
        assert [(row.outcome, row.owner) for row in rows] == [(Outcome.STOLEN, seen.owner)]

    def test_a_deleted_partition_is_made_anew_without_its_mark(self, bench: Workbench) -> None:
        asked(bench)
        bench.act(Action.DELETE, "k")
        bench.create("k")
        assert bench.acquire("k", by=BEN).wanted is None
