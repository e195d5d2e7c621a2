"""Notes of what follows endings: written by their commits, taken away by their operations (promise S27)."""

# ruff: noqa: D102  a test's name says what it shows

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.follow_up import MAX_BYTES, FollowUp
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.writes import AcquireNext, Action, End
from airflow_coordination.testing.conformance.workbench import MINUTE, Workbench, block, fence, head
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.status import Outcome
from airflow_coordination.values.status import PartitionStatus as S

Coordinators = Callable[..., SourceCoordinator]


def noted(bench: Workbench, key: str | None = None) -> list[FollowUp]:
    """Return all notes."""
    return list(bench.store.follow_ups(bench.source, key, None, 1000))


def completing(bench: Workbench, held: Partition, then: str = '{"do":1}') -> End:
    """Return a completion with a note, without sending it."""
    return replace(bench.completing(held), then=then)


def completed(bench: Workbench, key: str, then: str = '{"do":1}') -> End:
    """Complete a new partition with a note, and return the ending."""
    end = completing(bench, bench.new(key), then)
    assert bench.store.write(end).applied
    return end


class Following:
    """What is still to be done at the source."""

    def test_s27_an_ending_notes_what_follows_in_its_own_step(self, bench: Workbench) -> None:
        held = bench.new("k")
        end = completing(bench, held, '{"do":"é"}')
        assert bench.store.write(end).applied
        at = bench.clock.now()
        assert noted(bench) == [FollowUp(bench.source, "k", held.token, end.op, '{"do":"é"}', at)]

    def test_s27_with_blocks_and_a_long_text(self, bench: Workbench) -> None:
        held, text = bench.new("k"), '{"do":"' + (MAX_BYTES - 9) * "x" + '"}'
        end = replace(bench.completing(held, head(held, block("b1"))), then=text)
        assert bench.store.write(end).applied
        assert [one.text for one in noted(bench)] == [text]
        assert len(bench.store.heads(bench.source)) == 1

    def test_s27_an_ending_without_one_notes_nothing(self, bench: Workbench) -> None:
        assert bench.complete(bench.new("k")).applied
        assert noted(bench) == []

    def test_s27_a_refused_ending_notes_nothing(self, bench: Workbench) -> None:
        zombie = bench.new("k")
        bench.expire()
        held = bench.acquire()
        assert not bench.store.write(completing(bench, zombie, "late")).applied
        end = completing(bench, held, "first")
        assert [bench.store.write(end).applied for _ in range(2)] == [True, False]
        assert not bench.store.write(completing(bench, zombie, "late")).applied
        assert [one.text for one in noted(bench)] == ["first"]

    def test_s27_a_repeated_ending_does_not_bring_a_note_back(self, bench: Workbench) -> None:
        end = completed(bench, "k")
        bench.store.clear_follow_up(noted(bench)[0])
        assert not bench.store.write(end).applied
        assert noted(bench) == []

    def test_s27_a_fused_ending_notes_it_too(self, bench: Workbench) -> None:
        if not bench.store.has_fused_step:
            return
        held = bench.new("k")
        bench.create("next")
        following = AcquireNext(source=bench.source, tenancy=bench.tenancy())
        answer = bench.store.complete_and_acquire(completing(bench, held), following)
        assert (answer.ended.applied, answer.next is not None) == (True, True)
        assert [one.key for one in noted(bench)] == ["k"]

    def test_s27_each_pass_has_its_own_note_and_only_the_named_one_goes(self, bench: Workbench) -> None:
        held = bench.new("k")
        for number in (1, 2, 3):
            end = bench.ending(
                held, Outcome.CLOSED, S.CLOSED, closed_count=number, delay=MINUTE, progress=None, then=str(number)
            )
            assert bench.store.write(end).applied
            bench.clock.advance(2 * MINUTE)
            held = bench.acquire()
        first, second, third = noted(bench, "k")
        assert [one.text for one in (first, second, third)] == ["1", "2", "3"]
        for _ in range(2):
            bench.store.clear_follow_up(second)
            assert noted(bench) == [first, third]

    @pytest.mark.parametrize("action", [Action.RESET, Action.DELETE])
    def test_s27_a_note_outlives_what_becomes_of_its_partition(self, bench: Workbench, action: Action) -> None:
        completed(bench, "k")
        bench.act(action, "k")
        bench.create("k")
        assert [one.key for one in noted(bench)] == ["k"]

    def test_s27_notes_are_listed_by_key_and_tenure_in_pages(self, bench: Workbench) -> None:
        keys = sorted(["a", "ab", "b", "a|b", "é", "z" * 1500, "a\x01"])
        for key in keys:
            completed(bench, key, key)
        assert [one.key for one in noted(bench)] == keys
        found: list[FollowUp] = []
        for _ in range(4):
            page = bench.store.follow_ups(bench.source, None, found[-1] if found else None, 2)
            assert len(page) <= 2
            found += page
        assert found == noted(bench)
        assert [noted(bench, key) for key in keys] == [[one] for one in found]
        assert bench.store.follow_ups(bench.source, "a", found[0], 10) == []

    def test_s27_a_source_has_its_own(self, bench: Workbench) -> None:
        completed(bench, "k")
        assert list(bench.store.follow_ups("others|PARTITION", None, None, 10)) == []

    def test_s27_who_forgets_a_note_is_audited_in_the_same_step(
        self, bench: Workbench, coordinators: Coordinators
    ) -> None:
        end = completed(bench, "k")
        completed(bench, "other")
        [note] = noted(bench, "k")
        one = coordinators()
        for _ in range(2):  # the answer to the first was lost
            one.forget_follow_up(note, by="ana", why="the bucket is gone")
        assert [each.key for each in noted(bench)] == ["other"]
        [line] = bench.store.audit(bench.source, "k")
        at = bench.clock.now()
        assert line == {"key": "k", "at": at, "action": "forget", "by": "ana", "why": "the bucket is gone"}
        assert bench.get("k").last_op == end.op
        for by, why in (("", "why"), ("ana", " ")):
            with pytest.raises(InvalidInputError):
                one.forget_follow_up(noted(bench)[0], by, why)
        assert len(noted(bench)) == 1

    def test_s27_what_was_done_meanwhile_is_not_forgotten(self, bench: Workbench, coordinators: Coordinators) -> None:
        completed(bench, "k")
        [note] = noted(bench)
        bench.store.clear_follow_up(note)
        coordinators().forget_follow_up(note, by="ana", why="late")
        assert list(bench.store.audit(bench.source, "k")) == []

    @pytest.mark.parametrize("action", [Action.RESET, Action.DELETE])
    def test_f3_what_a_note_still_has_in_hand_is_not_begun_anew(
        self, bench: Workbench, coordinators: Coordinators, action: Action
    ) -> None:
        completed(bench, "k")
        completed(bench, "other")
        one, before = coordinators(), bench.get("k")
        act = getattr(one, action.value)
        for tried in (lambda: one.check_action(action, before), lambda: act("k", by="ana", why="again")):
            with pytest.raises(PartitionUpdateError) as raised:
                tried()
            said = str(raised.value)
            assert "1 note(s) of what follows its endings (then=) or its parking (on_parked) are not done yet" in said
            assert "finish-actions k --source" in said
            assert "add --forget --why" in said
        assert bench.get("k") == before
        one.forget_follow_up(noted(bench, "k")[0], by="ana", why="it is done again")
        one.check_action(action, before)
        assert act("k", by="ana", why="again").last_op != before.last_op
        assert [each.key for each in noted(bench)] == ["other"]

    def test_s27_a_coordinator_hands_the_note_on_and_takes_it_away(
        self, bench: Workbench, coordinators: Coordinators
    ) -> None:
        one = coordinators()
        one.create_partitions(["a", "b"])
        for key, ends in (("a", one.complete), ("b", one.complete_and_get_next)):
            lease = one.acquire_partition(key)
            assert lease is not None
            ends(lease, then=f'"{key}"')
        found = list(one.follow_ups())
        assert [each.text for each in found] == ['"a"', '"b"']
        assert list(one.follow_ups("b")) == found[1:]
        one.clear_follow_up(found[0])
        one.clear_follow_up(found[0])
        assert list(one.follow_ups()) == found[1:]

    def test_s27_a_close_may_have_one_and_a_note_that_is_too_long_ends_nothing(
        self, bench: Workbench, coordinators: Coordinators
    ) -> None:
        one = coordinators()
        one.create_partitions(["k"])
        lease = one.acquire_partition("k")
        assert lease is not None
        with pytest.raises(InvalidInputError, match=r"^then='x+.*: is 4,097 bytes of JSON, of which 4,096 fit"):
            one.close(lease, MINUTE, then=4097 * "x")
        assert bench.get("k").held_under(fence(bench.get("k")))
        one.close(lease, MINUTE, then="1")
        assert [each.text for each in one.follow_ups()] == ["1"]
