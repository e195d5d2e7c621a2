"""People's actions: release, reopen, park, reset, delete; what retract takes back is shown in :mod:`.retracting`."""

# ruff: noqa: D102  a test's name says what it shows

from __future__ import annotations

from collections.abc import Callable

import pytest

from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.transitions import TRANSITIONS, Event
from airflow_coordination.protocol.writes import Action
from airflow_coordination.testing.conformance.workbench import MINUTE, Workbench, block, fence
from airflow_coordination.values.status import Outcome, PartitionStatus, Rank

S = PartitionStatus
AFTER = {
    Action.FINISH: S.COMPLETED,
    Action.RELEASE: S.UNASSIGNED,
    Action.REOPEN: S.UNASSIGNED,
    Action.PARK: S.CLOSED,
    Action.RESET: S.UNASSIGNED,
}


class People:
    """Row *people* of the table."""

    @pytest.mark.parametrize("status", list(S))
    @pytest.mark.parametrize("action", list(Action))
    def test_the_state_table_decides_which_action_is_possible(
        self, bench: Workbench, action: Action, status: PartitionStatus
    ) -> None:
        before = bench.bring("k", status)
        answer = bench.store.act(bench.acting(action, before))
        assert answer.applied is (status in TRANSITIONS[Event[action.name]])
        after = bench.get("k")
        if not answer.applied:
            assert (answer.partition, after) == (before, before)
        elif action in (Action.DELETE, Action.CLEAN_UP):
            assert after.deleted
        else:
            assert after.status is AFTER.get(action, status)

    @pytest.mark.parametrize("status", list(S))
    @pytest.mark.parametrize("action", list(Action))
    def test_a_stale_view_is_refused(self, bench: Workbench, action: Action, status: PartitionStatus) -> None:
        seen = bench.bring("k", status)
        bench.act(Action.RESET, "k")
        bench.give_up(bench.acquire("k"))
        bench.acquire("k")
        before = bench.get("k")
        answer = bench.store.act(bench.acting(action, seen))
        assert (answer.applied, answer.partition) == (False, before)
        assert list(bench.store.audit(bench.source, "k"))[1:] == []

    def test_seeing_it_assigned_means_seeing_its_fence_not_its_last_write(self, bench: Workbench) -> None:
        seen = bench.new("k")
        bench.save(seen, 1)
        assert bench.store.act(bench.acting(Action.RELEASE, seen)).applied

    def test_seeing_it_free_means_seeing_its_last_write(self, bench: Workbench) -> None:
        bench.close(bench.new("k"))
        seen = bench.get("k")
        bench.act(Action.PARK, "k")
        assert not bench.store.act(bench.acting(Action.REOPEN, seen)).applied

    def test_a_repeated_action_is_refused(self, bench: Workbench) -> None:
        bench.new("k")
        write = bench.acting(Action.RELEASE, bench.get("k"))
        assert bench.store.act(write).applied
        again = bench.store.act(write)
        assert (again.applied, again.partition) == (False, bench.get("k"))
        assert bench.get("k").last_op == write.op

    @pytest.mark.parametrize("action", list(Action))
    def test_e17_nobody_acts_on_a_tombstone(self, bench: Workbench, action: Action) -> None:
        """E17: though its status, token and last write are as seen."""
        bench.create("k")
        tombstone = bench.act(Action.DELETE, "k")
        assert not bench.store.act(bench.acting(action, tombstone)).applied
        assert bench.get("k") == tombstone

    def test_an_action_on_nothing_is_refused(self, bench: Workbench) -> None:
        seen = bench.new("k")
        gone = bench.act(Action.DELETE, "k")
        for action in Action:
            assert not bench.store.act(bench.acting(action, seen)).applied
            assert not bench.store.act(bench.acting(action, gone)).applied
        assert bench.get("k") == gone

    @pytest.mark.parametrize("action", [Action.RELEASE, Action.PARK, Action.RESET, Action.DELETE])
    def test_s1_ending_a_tenure_by_hand_uses_up_a_token(self, bench: Workbench, action: Action) -> None:
        held = bench.save(bench.new("k"), {"row": 1})
        after = bench.act(action, "k")
        assert (after.token, after.nonce) == (held.token + 1, after.last_op)
        ending = after.ending_of(fence(held))
        assert ending is not None
        assert (ending.outcome, ending.op, ending.last) == (Outcome.RELEASED, after.last_op, held.last_op)
        assert (after.owner, after.ownership_timeout) == (None, None)

    def test_release_keeps_progress_and_counts(self, bench: Workbench) -> None:
        bench.fail(bench.new("k"))
        bench.save(bench.acquire(), {"row": 1}, block("b1"))
        free = bench.act(Action.RELEASE, "k")
        assert (free.status, free.rank, free.failures) == (S.UNASSIGNED, Rank.NEW, 1)
        assert (free.progress_state, [b.digest for b in free.staged]) == ({"row": 1}, ["b1"])
        assert bench.acquire().key == "k"

    def test_reopen_frees_at_once_and_forgets_failures(self, bench: Workbench) -> None:
        held = bench.save(bench.new("k"), {"row": 1})
        bench.fail(held, delay=None)
        opened = bench.act(Action.REOPEN, "k")
        assert (opened.status, opened.rank) == (S.UNASSIGNED, Rank.REOPENED)
        assert (opened.failures, opened.lost_leases, opened.progress_state) == (0, 0, {"row": 1})
        assert opened.available_at == bench.clock.now()
        assert bench.acquire().key == "k"

    def test_reopen_forgets_lost_leases(self, bench: Workbench) -> None:
        bench.save(bench.new("k", max_lost_leases=1), {"row": 1})
        bench.expire()
        assert bench.sweep().parked == 1
        assert bench.get("k").lost_leases == 1
        assert bench.act(Action.REOPEN, "k").lost_leases == 0
        assert bench.acquire(max_lost_leases=1).key == "k"

    def test_reopen_ends_a_retry_delay(self, bench: Workbench) -> None:
        bench.fail(bench.new("k"), delay=60 * MINUTE)
        bench.act(Action.REOPEN, "k")
        assert bench.acquire().key == "k"

    @pytest.mark.parametrize("status", [S.UNASSIGNED, S.ASSIGNED, S.CLOSED])
    def test_park_keeps_everything_until_a_person_reopens(self, bench: Workbench, status: PartitionStatus) -> None:
        before = bench.bring("k", status)
        parked = bench.act(Action.PARK, "k")
        assert parked.parked
        assert (parked.closed_count, parked.payload_text) == (before.closed_count, before.payload_text)
        bench.clock.advance(10_000 * MINUTE)
        bench.sweep()
        assert bench.next() is bench.next("k") is None
        bench.act(Action.REOPEN, "k")
        assert bench.acquire().key == "k"

    @pytest.mark.parametrize("status", list(S))
    def test_reset_starts_afresh_in_a_new_generation(self, bench: Workbench, status: PartitionStatus) -> None:
        bench.create("k")
        bench.fail(bench.save(bench.acquire(), {"row": 1}, block("b1")))
        bench.close(bench.acquire(), progress='{"row":2}')
        bench.expire()
        held = bench.acquire()
        if status is not S.ASSIGNED:
            ends: dict[PartitionStatus, Callable[[Partition], object]] = {
                S.UNASSIGNED: bench.give_up,
                S.CLOSED: bench.close,
                S.COMPLETED: bench.complete,
            }
            ends[status](held)
        before = bench.get("k")
        assert before.status is status
        fresh = bench.act(Action.RESET, "k")
        assert (fresh.status, fresh.rank) == (S.UNASSIGNED, Rank.NEW)
        assert (fresh.closed_count, fresh.failures, fresh.lost_leases, fresh.last_error) == (0, 0, 0, None)
        assert (fresh.progress_state, fresh.staged, fresh.reopen_at) == (None, (), None)
        assert fresh.generation == fresh.last_op != before.generation
        assert len(fresh.endings) >= 3
        assert bench.acquire().token > before.token

    @pytest.mark.parametrize("status", list(S))
    def test_delete_leaves_a_tombstone_that_nothing_finds(self, bench: Workbench, status: PartitionStatus) -> None:
        before = bench.bring("k", status)
        gone = bench.act(Action.DELETE, "k")
        assert gone.deleted
        assert gone.token == before.token + 1
        assert (gone.payload_text, gone.progress_text, gone.staged) == (None, None, ())
        bench.clock.advance(10_000 * MINUTE)
        bench.sweep()
        assert bench.next() is bench.next("k") is None
        assert not bench.hinted("k", gone.token).applied
        assert list(bench.store.page(bench.source, None, None, 9)) == []
        assert list(bench.store.claimable(bench.source, 9)) == []
        assert set(bench.store.counts(bench.source).values()) == {0}

    def test_actions_are_audited_oldest_first(self, bench: Workbench) -> None:
        bench.create("k", "other")
        bench.act(Action.PARK, "k")
        bench.act(Action.PARK, "other")
        bench.clock.advance(MINUTE)
        bench.act(Action.REOPEN, "k")
        entries = bench.store.audit(bench.source, "k")
        assert [(entry["action"], entry["by"], entry["why"]) for entry in entries] == [
            ("park", "ana", "a test"),
            ("reopen", "ana", "a test"),
        ]
        assert entries[1]["at"] - entries[0]["at"] == MINUTE

    def test_a_refused_action_is_not_audited(self, bench: Workbench) -> None:
        bench.create("k")
        seen = bench.get("k")
        assert not bench.store.act(bench.acting(Action.RELEASE, seen)).applied
        assert list(bench.store.audit(bench.source, "k")) == []
        assert bench.store.act(bench.acting(Action.PARK, seen)).applied
        assert not bench.store.act(bench.acting(Action.RESET, seen)).applied, "somebody was faster"
        assert [line["action"] for line in bench.store.audit(bench.source, "k")] == ["park"]
