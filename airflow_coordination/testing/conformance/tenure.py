"""What an owner does under its fence: renew, save, begin, adopt, retake."""

# ruff: noqa: D102  a test's name says what it shows

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.results import Answer
from airflow_coordination.protocol.writes import Action
from airflow_coordination.testing.conformance.workbench import MINUTE, TIMEOUT, Workbench, block, fence, owner
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
