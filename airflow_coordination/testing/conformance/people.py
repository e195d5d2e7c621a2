"""People's actions: release, reopen, park, reset, delete, retract."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.results import Answer
from airflow_coordination.protocol.transitions import TRANSITIONS, Event
from airflow_coordination.protocol.writes import Action
from airflow_coordination.testing.conformance.fixtures import MINUTE, SOURCE, Workbench, block, fence, head, owner
from airflow_coordination.values.blocks import Block
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.input_errors import InvalidInputError
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

    def test_a_line_of_the_audit_says_of_which_action_on_many_it_is(self, bench: Workbench) -> None:
        bench.create("a", "b", "c")
        for key in ("a", "b"):
            assert bench.store.act(replace(bench.acting(Action.PARK, bench.get(key)), batch="of two")).applied
        bench.act(Action.PARK, "c")
        entries = bench.store.audit(bench.source, None)
        assert {entry["key"]: entry.get("batch") for entry in entries} == {"a": "of two", "b": "of two", "c": None}

    def test_the_newest_of_a_source_come_in_pages(self, bench: Workbench) -> None:
        keys = ["b", "a", "c", "e", "d"]
        bench.create(*keys)
        for key in keys:
            bench.clock.advance(MINUTE)
            bench.act(Action.PARK, key)
        other = bench.store.audit("other|PARTITION", None, 2)
        assert list(other) == []
        found: list[str] = []
        before: str | None = None
        while page := bench.store.audit(bench.source, None, 2, before):
            assert len(page) <= 2
            found = [entry["key"] for entry in page] + found
            before = page[0]["place"]
        assert found == keys
        third = bench.store.audit(bench.source, None, 3)[0]
        assert [entry["key"] for entry in bench.store.audit(bench.source, None, 9, third["place"])] == ["b", "a"]

    def test_of_one_moment_each_is_on_one_page(self, bench: Workbench) -> None:
        keys = ["a", "b", "c"]
        bench.create(*keys)
        for key in keys:
            bench.act(Action.PARK, key)
        found: list[str] = []
        before: str | None = None
        while page := bench.store.audit(bench.source, None, 1, before):
            found.append(page[0]["key"])
            before = page[0]["place"]
        assert sorted(found) == keys

    def test_what_is_no_place_is_refused_by_its_name(self, bench: Workbench) -> None:
        with pytest.raises(InvalidInputError, match="before"):
            bench.store.audit(bench.source, None, 1, "\x00")

    def test_a_refused_action_is_not_audited(self, bench: Workbench) -> None:
        bench.create("k")
        seen = bench.get("k")
        assert not bench.store.act(bench.acting(Action.RELEASE, seen)).applied
        assert list(bench.store.audit(bench.source, "k")) == []
        assert bench.store.act(bench.acting(Action.PARK, seen)).applied
        assert not bench.store.act(bench.acting(Action.RESET, seen)).applied, "somebody was faster"
        assert [line["action"] for line in bench.store.audit(bench.source, "k")] == ["park"]


LARGE = 60
"""Blocks that take more room than a partition's item has on DynamoDB."""


def published(bench: Workbench, key: str = "k", status: PartitionStatus = S.COMPLETED) -> Partition:
    """Return a partition that has published to two datasets, and is in ``status`` now."""
    held = bench.new(key)
    records = (head(held, block("b1"), op="op-1"), head(held, block("b2", "rejected"), op="op-1", dataset="rejected"))
    assert bench.complete(held, *records).applied
    if status is not S.COMPLETED:
        bench.act(Action.RESET, key)
    if status is S.CLOSED:
        bench.close(bench.acquire(key))
    return bench.get(key)


def read(bench: Workbench, key: str = "k") -> dict[str, list[str]]:
    """Return the digests that readers follow, by dataset."""
    return {found.dataset: [b.digest for b in found.blocks] for found in bench.store.heads(bench.source, key=key)}


def retract(bench: Workbench, seen: Partition) -> Answer:
    """Retract the partition as it was seen."""
    return bench.store.act(bench.acting(Action.RETRACT, seen))


class Retracting:
    """Row *retract* of the table; promise S12."""

    @pytest.mark.parametrize("status", [S.UNASSIGNED, S.CLOSED, S.COMPLETED])
    def test_e16_retract_empties_the_head_records_and_changes_nothing_else(
        self, bench: Workbench, status: PartitionStatus
    ) -> None:
        """E16: there was no way to take published rows back."""
        other = published(bench, "other")
        before = published(bench, "k", status)
        heads = bench.store.heads(bench.source, key="k")
        now = bench.clock.advance(timedelta(seconds=30))
        after = bench.act(Action.RETRACT, "k")
        assert after == replace(before, last_op=after.last_op, updated_at=now)
        emptied = [replace(found, blocks=(), rows=0, bytes=0, published_at=now) for found in heads]
        assert list(bench.store.heads(bench.source, key="k")) == emptied
        assert read(bench, "other") == {"clean": ["b1"], "rejected": ["b2"]}
        assert bench.get("other") == other
        [entry] = [entry for entry in bench.store.audit(bench.source, "k") if entry["action"] == "retract"]
        assert (entry["by"], entry["why"], entry["at"]) == ("ana", "a test", now)

    def test_e16_retract_is_refused_while_somebody_holds_it(self, bench: Workbench) -> None:
        """E16: an owner that adds has read what is published, and would bring it back."""
        seen = published(bench, "k", S.UNASSIGNED)
        held = bench.acquire("k")
        for view in (seen, held):
            assert not retract(bench, view).applied
        assert bench.get("k") == held
        assert read(bench) == {"clean": ["b1"], "rejected": ["b2"]}
        assert [entry["action"] for entry in bench.store.audit(bench.source, "k")] == ["reset"]

    @pytest.mark.parametrize("blocks", [1, LARGE])
    def test_e16_retract_is_refused_while_blocks_are_staged(self, bench: Workbench, blocks: int) -> None:
        """E16: a staged block may follow a published one, so that its publication would bring that back."""
        published(bench, "k", S.UNASSIGNED)
        bench.fail(bench.save(bench.acquire("k"), 1, *(block(f"s{number}", follows="b1") for number in range(blocks))))
        staged = bench.get("k")
        assert len(staged.staged) == blocks
        assert not retract(bench, staged).applied
        assert (bench.get("k"), read(bench)["clean"]) == (staged, ["b1"])
        bench.act(Action.RESET, "k")
        bench.act(Action.RETRACT, "k")
        assert read(bench) == {"clean": [], "rejected": []}

    def test_e16_a_retract_of_what_was_never_seen_takes_nothing_back(self, bench: Workbench) -> None:
        """E16: what was published since the person looked stays, also when the message comes again."""
        seen = published(bench)
        write = bench.acting(Action.RETRACT, seen)
        assert bench.store.act(write).applied
        for name in ("b3", "b4"):
            bench.clock.advance(MINUTE)
            bench.act(Action.RESET, "k")
            held = bench.acquire("k")
            assert bench.complete(held, head(held, block(name))).applied
            for late in (write, bench.acting(Action.RETRACT, seen)):
                assert not bench.store.act(late).applied
            assert read(bench)["clean"] == [name]
        assert [entry["action"] for entry in bench.store.audit(bench.source, "k")] == ["retract", "reset", "reset"]

    def test_e16_what_another_source_published_under_the_same_key_stays(self, bench: Workbench) -> None:
        """E16: and what the same source published under another key."""
        places = [("other|PARTITION", "k"), (SOURCE, "k2"), (SOURCE, "k")]
        for bench.source, key in places:
            published(bench, key)
        bench.act(Action.RETRACT, "k")
        found = []
        for bench.source, key in places:
            found.append(read(bench, key))
        kept = {"clean": ["b1"], "rejected": ["b2"]}
        assert found == [kept, kept, {"clean": [], "rejected": []}]

    def test_e16_retract_keeps_place_and_times(self, bench: Workbench) -> None:
        """E16: what was due is due as before, what was not is not, and nobody goes before anybody."""
        bench.create("first", "second", "delayed")
        bench.fail(bench.acquire("delayed"), delay=5 * MINUTE)
        published(bench, "closed", S.CLOSED)
        for key in ("second", "first", "delayed", "closed"):
            bench.act(Action.RETRACT, key)
        assert [key for key, _ in bench.store.claimable(bench.source, 9)] == ["first", "second"]
        bench.clock.advance(MINUTE)
        assert bench.sweep().reopened == 1
        bench.clock.advance(5 * MINUTE)
        assert bench.drained() == ["closed", "first", "second", "delayed"]

    def test_e16_a_partition_that_published_nothing_can_be_retracted(self, bench: Workbench) -> None:
        """E16: no head record comes of it."""
        bench.create("k")
        bench.act(Action.RETRACT, "k")
        assert list(bench.store.heads(bench.source)) == []

    @pytest.mark.parametrize("mode", ["append", "replace"])
    def test_e16_what_is_published_afterwards_starts_from_nothing(self, bench: Workbench, mode: str) -> None:
        """E16: also what says that it adds, and the next pass of the same generation."""
        one = SourceCoordinator(bench.store, "flights", owner().text, clock=bench.clock)
        assert bench.source == SOURCE
        one.create_partitions(["k"])

        def publishes(name: str) -> None:
            lease = one.acquire_partition("k")
            assert lease is not None
            new = Block("clean", f"/out/{name}", name, 1, 1, mode=mode)  # type: ignore[arg-type]
            one.close(lease, timedelta(0), state={"after": name}, blocks=[new])
            bench.clock.advance(MINUTE)

        publishes("b1")
        publishes("b2")
        assert read(bench) == {"clean": ["b1", "b2"]}
        after = one.people.retract("k", by="ana", why="wrong tariff")
        assert (after.status, after.progress_state) == (S.CLOSED, {"after": "b2"})
        assert read(bench) == {"clean": []}
        publishes("b3")
        publishes("b4")
        assert read(bench) == {"clean": ["b3", "b4"]}

    def test_e16_a_late_sender_still_learns_what_became_of_its_ending(self, bench: Workbench) -> None:
        """E16, S6: the head record goes on to name it, when the partition has forgotten it."""
        held = bench.new("k")
        ending = bench.completing(held, head(held, block("b1"), op="op-1"))
        assert bench.store.write(ending).applied
        bench.act(Action.RETRACT, "k")
        [found] = bench.store.heads(bench.source, key="k")
        assert (found.op, found.token, found.generation) == ("op-1", held.token, held.generation)
        ended = bench.get("k").ending_of(held.fence) if held.fence else None
        assert ended is not None
        assert ended.outcome is Outcome.COMPLETED

    def test_e16_refusals_say_what_to_do(self, bench: Workbench) -> None:
        """E16: the field, the value and the remedy; nothing is changed."""
        one = SourceCoordinator(bench.store, "flights", owner().text, clock=bench.clock)
        held = bench.new("k")
        with pytest.raises(PartitionUpdateError) as caught:
            one.people.retract("k", by="ana", why="wrong")
        assert str(caught.value) == (
            "Cannot retract partition 'k': it is ASSIGNED; retract needs CLOSED or COMPLETED or UNASSIGNED. "
            "Use release to take it from its owner, or wait for the lease to end."
        )
        bench.fail(bench.save(held, 1, block("s1"), block("s2")))
        with pytest.raises(PartitionUpdateError) as caught:
            one.people.retract("k", by="ana", why="wrong")
        assert str(caught.value) == (
            "Cannot retract partition 'k': 2 block(s) are saved with its progress and not published yet. "
            "Let the next pass end, or use reset first, which drops them."
        )

    def test_e16_what_a_deleted_partition_published_is_retracted_when_it_is_there_again(self, bench: Workbench) -> None:
        """E16: nobody acts on a tombstone; created anew, it is seen, guarded and audited as ever."""
        gone = bench.act(Action.DELETE, published(bench).key)
        assert not retract(bench, gone).applied
        bench.create("k")
        bench.act(Action.RETRACT, "k")
        assert read(bench) == {"clean": [], "rejected": []}
