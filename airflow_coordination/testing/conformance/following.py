"""Notes of what follows endings: written by their commits, taken away by their operations (promise S27)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

import pytest

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.follow_up import MAX_BYTES, FollowUp, Forget, promised
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.writes import KEEP, AcquireNext, Action, End, OnParked, Place
from airflow_coordination.testing.conformance.fixtures import MINUTE, TIMEOUT, Workbench, block, fence, head, owner
from airflow_coordination.values.errors import PartitionNotOwnedError, PartitionUpdateError
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.status import Outcome, PartitionStatus
from airflow_coordination.values.status import PartitionStatus as S

Coordinators = Callable[..., SourceCoordinator]


def noted(bench: Workbench, key: str | None = None) -> list[FollowUp]:
    """Return all notes."""
    return list(bench.follow_ups.follow_ups(bench.source, key, None, 1000))


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
        bench.follow_ups.clear_follow_up(noted(bench)[0])
        assert not bench.store.write(end).applied
        assert noted(bench) == []

    def test_s27_a_fused_ending_notes_it_too(self, bench: Workbench) -> None:
        held = bench.new("k")
        bench.create("next")
        following = AcquireNext(source=bench.source, tenancy=bench.tenancy())
        answer = bench.fused.complete_and_acquire(completing(bench, held), following)
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
            bench.follow_ups.clear_follow_up(second)
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
            page = bench.follow_ups.follow_ups(bench.source, None, found[-1] if found else None, 2)
            assert len(page) <= 2
            found += page
        assert found == noted(bench)
        assert [noted(bench, key) for key in keys] == [[one] for one in found]
        assert bench.follow_ups.follow_ups(bench.source, "a", found[0], 10) == []

    def test_s27_a_source_has_its_own(self, bench: Workbench) -> None:
        completed(bench, "k")
        assert list(bench.follow_ups.follow_ups("others|PARTITION", None, None, 10)) == []

    def test_s27_who_forgets_a_note_is_audited_in_the_same_step(
        self, bench: Workbench, coordinators: Coordinators
    ) -> None:
        end = completed(bench, "k")
        completed(bench, "other")
        [note] = noted(bench, "k")
        one = coordinators()
        for _ in range(2):  # the answer to the first was lost
            one.follow_ups.forget_follow_up(note, by="ana", why="the bucket is gone")
        assert [each.key for each in noted(bench)] == ["other"]
        [line] = bench.store.audit(bench.source, "k")
        at = bench.clock.now()
        said = {"key": "k", "at": at, "action": "forget", "by": "ana", "why": "the bucket is gone"}
        assert {**line, "batch": None} == {**said, "batch": None}
        assert bench.get("k").last_op == end.op
        for by, why in (("", "why"), ("ana", " ")):
            with pytest.raises(InvalidInputError):
                one.follow_ups.forget_follow_up(noted(bench)[0], by, why)
        assert len(noted(bench)) == 1

    def test_s27_what_was_done_meanwhile_is_not_forgotten(self, bench: Workbench, coordinators: Coordinators) -> None:
        completed(bench, "k")
        [note] = noted(bench)
        bench.follow_ups.clear_follow_up(note)
        coordinators().follow_ups.forget_follow_up(note, by="ana", why="late")
        assert list(bench.store.audit(bench.source, "k")) == []

    @pytest.mark.parametrize("action", [Action.RESET, Action.DELETE])
    def test_f3_what_a_note_still_has_in_hand_is_not_begun_anew(
        self, bench: Workbench, coordinators: Coordinators, action: Action
    ) -> None:
        completed(bench, "k")
        completed(bench, "other")
        one, before = coordinators(), bench.get("k")
        act = getattr(one.people, action.value)
        for tried in (lambda: one.people.check_action(action, before), lambda: act("k", by="ana", why="again")):
            with pytest.raises(PartitionUpdateError) as raised:
                tried()
            said = str(raised.value)
            assert "1 note(s) of what follows its endings (then=) or its parking (on_parked) are not done yet" in said
            assert "finish-actions" in said
            assert "add --forget --why" in said
        assert bench.get("k") == before
        one.follow_ups.forget_follow_up(noted(bench, "k")[0], by="ana", why="it is done again")
        one.people.check_action(action, before)
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
        found = list(one.follow_ups.follow_ups())
        assert [each.text for each in found] == ['"a"', '"b"']
        assert list(one.follow_ups.follow_ups("b")) == found[1:]
        one.follow_ups.clear_follow_up(found[0])
        one.follow_ups.clear_follow_up(found[0])
        assert list(one.follow_ups.follow_ups()) == found[1:]

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
        assert [each.text for each in one.follow_ups.follow_ups()] == ["1"]


NOTE: Final = '{"call":"é"}'


def saying(bench: Workbench, held: Partition, text: str | None) -> OnParked:
    """Return the saying of what is to follow when a partition is parked, without sending it."""
    where: dict[str, Any] = {"source": bench.source, "key": held.key, "fence": fence(held)}
    return OnParked(**where, op=bench.op(), prev=held.last_op, text=promised(held, text))


def say(bench: Workbench, held: Partition, text: str | None) -> Partition:
    """Say what is to follow when a partition is parked, and return it afterwards."""
    assert bench.store.write(saying(bench, held, text)).applied
    return bench.get(held.key)


def _is_lost(bench: Workbench, held: Partition) -> None:
    bench.expire()
    bench.sweep()


def _closing_afresh(bench: Workbench, held: Partition) -> End:
    afresh: dict[str, Any] = {"progress": None, "generation": bench.op(), "delay": timedelta(0)}
    return bench.ending(held, Outcome.CLOSED, PartitionStatus.CLOSED, **afresh)


def _is_parked_waiting(bench: Workbench, held: Partition) -> None:
    bench.give_up(held)
    bench.act(Action.PARK, held.key)


def _is_parked_closed(bench: Workbench, held: Partition) -> None:
    bench.close(held, progress=KEEP)
    bench.act(Action.PARK, held.key)


WAYS: Final[dict[str, Callable[[Workbench, Partition], object]]] = {
    "its owner fails for the last time": lambda bench, held: bench.fail(held, None),
    "its last lease is lost": _is_lost,
    "a person parks it while it is held": lambda bench, held: bench.act(Action.PARK, held.key),
    "a person parks it while it waits": _is_parked_waiting,
    "a person parks it between two passes": _is_parked_closed,
}
"""All that leads to a parked partition."""
OTHERS: Final[dict[str, Callable[[Workbench, Partition], object]]] = {
    "completed": lambda bench, held: bench.complete(held),
    "closed": lambda bench, held: bench.close(held, progress=KEEP),
    "failed": lambda bench, held: bench.fail(held),
    "given up": lambda bench, held: bench.give_up(held),
    "released": lambda bench, held: bench.act(Action.RELEASE, held.key),
    "finished": lambda bench, held: bench.act(Action.FINISH, held.key),
    "held": lambda bench, held: bench.renew(held),
}
"""What leads elsewhere."""
FRESH: Final[dict[str, Callable[[Workbench, Partition], object]]] = {
    "closed without progress": lambda bench, held: bench.store.write(_closing_afresh(bench, held)),
    "reset": lambda bench, held: bench.act(Action.RESET, held.key),
    "deleted": lambda bench, held: (bench.act(Action.DELETE, held.key), bench.create(held.key)),
}
"""After which a partition begins afresh."""


class Parking:
    """What is still to be done at the source because a partition is parked."""

    @pytest.fixture
    def at(self, bench: Workbench) -> Workbench:
        """Return the bench of a store that keeps what is to follow a parking."""
        assert noted(bench) == []
        return bench

    @staticmethod
    def said(at: Workbench, key: str = "k", text: str = NOTE) -> Partition:
        """Return a new partition for which something was said."""
        return say(at, at.new(key, max_lost_leases=1), text)

    @pytest.mark.parametrize("way", WAYS)
    def test_s27_every_way_of_parking_is_followed(self, at: Workbench, way: str) -> None:
        held = self.said(at)
        assert noted(at) == []
        WAYS[way](at, held)
        parked = at.get("k")
        assert parked.parked
        assert noted(at) == [FollowUp(at.source, "k", parked.token, parked.last_op, NOTE, parked.updated_at)]
        assert noted(at, "k") == noted(at)
        assert noted(at, "other") == []

    @pytest.mark.parametrize("way", OTHERS)
    def test_s27_what_is_not_parked_is_not_followed(self, at: Workbench, way: str) -> None:
        OTHERS[way](at, self.said(at))
        assert noted(at) == []

    def test_s27_what_was_said_is_said_for_later_tenures(self, at: Workbench) -> None:
        at.give_up(self.said(at))
        held = at.acquire("k", max_lost_leases=2)
        at.expire()
        at.sweep()
        assert (at.get("k").lost_leases, at.get("k").on_parked) == (0, NOTE)  # its owner never wrote: nothing is lost
        assert at.acquire("k", max_lost_leases=1).token == held.token + 1
        at.fail(at.get("k"), None)
        assert [note.text for note in noted(at)] == [NOTE]

    def test_s27_what_is_said_last_holds_and_can_be_taken_back(self, at: Workbench) -> None:
        held = say(at, self.said(at), "2")
        assert held.on_parked == "2"
        back = say(at, held, None)
        assert back.on_parked is None
        at.fail(back, None)
        assert noted(at) == []

    def test_s27_a_note_of_an_earlier_parking_takes_nothing_from_a_later_one(self, at: Workbench) -> None:
        """Not even under the same token."""
        at.fail(self.said(at), None)
        [earlier] = noted(at)
        at.act(Action.REOPEN, "k")
        at.act(Action.PARK, "k")
        [later] = noted(at)
        assert (earlier.token, earlier.op != later.op) == (later.token, True)
        at.follow_ups.clear_follow_up(earlier)
        assert noted(at) == [later]

    def test_x12_it_is_done_while_the_source_is_paused(self, at: Workbench) -> None:
        at.fail(say(at, at.new("k"), NOTE), None)
        at.pause()
        [note] = noted(at)
        at.follow_ups.clear_follow_up(note)
        assert at.get("k").on_parked_text is None

    def test_s27_it_is_said_under_the_fence_and_in_the_chain(self, at: Workbench) -> None:
        zombie = self.said(at)
        early = saying(at, zombie, "early")
        held = say(at, zombie, "2")
        assert not at.store.write(early).applied
        at.act(Action.RELEASE, "k")
        at.acquire("k")
        assert not at.store.write(saying(at, held, "late")).applied
        assert at.get("k").on_parked == "2"

    def test_s27_a_repetition_changes_nothing(self, at: Workbench) -> None:
        write = saying(at, at.new("k"), NOTE)
        assert [at.store.write(write).applied for _ in range(2)] == [True, False]
        assert at.get("k").last_op == write.op

    def test_s27_who_has_said_it_is_no_phantom(self, at: Workbench) -> None:
        _is_lost(at, self.said(at))
        assert (at.get("k").lost_leases, at.get("k").parked) == (1, True)

    def test_s27_it_stays_for_who_saves_and_who_renews(self, at: Workbench) -> None:
        held = at.save(self.said(at), {"row": 1})
        at.renew(held)
        assert at.get("k").on_parked == NOTE

    def test_s27_what_is_done_is_gone_also_when_it_is_parked_again(self, at: Workbench) -> None:
        at.fail(self.said(at), None)
        [note] = noted(at)
        for _ in range(2):
            at.follow_ups.clear_follow_up(note)
            assert noted(at) == []
        at.act(Action.REOPEN, "k")
        at.act(Action.PARK, "k")
        assert noted(at) == []

    def test_s27_reopened_before_it_is_done_it_waits_for_the_next_parking(self, at: Workbench) -> None:
        at.fail(self.said(at), None)
        [early] = noted(at)
        reopened = at.act(Action.REOPEN, "k")
        assert (noted(at), reopened.on_parked) == ([], NOTE)
        at.follow_ups.clear_follow_up(early)
        at.fail(at.acquire("k"), None)
        [note] = noted(at)
        assert (note.token, note.text) == (early.token + 1, NOTE)
        at.follow_ups.clear_follow_up(early)
        assert noted(at) == [note]

    @pytest.mark.parametrize("way", FRESH)
    def test_s27_what_begins_afresh_has_nothing_to_follow(self, at: Workbench, way: str) -> None:
        FRESH[way](at, self.said(at))
        at.clock.advance(MINUTE)
        at.fail(at.acquire("k"), None)
        assert at.get("k").parked
        assert noted(at) == []

    def test_s27_notes_of_endings_and_parkings_are_read_in_one_order(self, at: Workbench) -> None:
        for key in ("a", "c", "e"):
            completed(at, key)
        for key in ("b", "d"):
            at.fail(self.said(at, key), None)
        whole = noted(at)
        assert [note.key for note in whole] == ["a", "b", "c", "d", "e"]
        for number, note in enumerate(whole):
            assert at.follow_ups.follow_ups(at.source, None, note, 2) == whole[number + 1 : number + 3]
            assert at.follow_ups.follow_ups(at.source, note.key, note, 2) == []

    def test_s27_a_long_text_is_kept_whole(self, at: Workbench) -> None:
        text = MAX_BYTES * "x"
        at.fail(self.said(at, text=text), None)
        assert [note.text for note in noted(at)] == [text]

    def test_s27_a_clean_up_of_an_ending_leaves_what_was_said(self, at: Workbench) -> None:
        """Reading and taking away its notes takes nothing away of a pass that still has something to follow it."""
        at.close(self.said(at), progress=KEEP)
        closed = at.get("k")
        at.follow_ups.clear_follow_up(FollowUp(at.source, "k", closed.token, closed.last_op, "done"))
        assert at.get("k").on_parked == NOTE

    def test_s27_taken_away_undone_it_is_audited(self, at: Workbench) -> None:
        at.fail(self.said(at), None)
        [note] = noted(at)
        for _ in range(2):
            at.follow_ups.forget_follow_up(Forget(note, "ana", "late"))
        assert noted(at) == []
        assert [(one["action"], one["why"]) for one in at.store.audit(at.source, "k")] == [("forget", "late")]

    def test_s27_it_lies_beside_what_another_generation_has_left(self, at: Workbench) -> None:
        """Older code resets without a word about it: what stands there then is of another generation."""
        held = at.new("k")
        old = replace(held, generation="older")
        assert at.store.write(replace(saying(at, held, None), text=promised(old, NOTE))).applied
        at.fail(at.get("k"), None)
        assert (noted(at), at.get("k").on_parked) == ([], None)

    def test_s27_it_moves_to_another_store_with_its_partition(self, at: Workbench) -> None:
        at.create("k")
        new = at.get("k")
        life = replace(new, token=3, nonce="n", last_op="l", generation="g", on_parked_text="g 1")
        assert at.store.place(Place(source=at.source, key="k", created=new.create_op, life=life)).applied
        at.fail(at.acquire("k"), None)
        assert [(note.token, note.text) for note in noted(at)] == [(4, "1")]

    @pytest.mark.parametrize("action", [Action.RESET, Action.DELETE])
    def test_s27_what_a_parking_has_in_hand_is_not_begun_anew(
        self, at: Workbench, coordinators: Coordinators, action: Action
    ) -> None:
        at.fail(self.said(at), None)
        one = coordinators()
        with pytest.raises(
            PartitionUpdateError, match=r"what follows its endings \(then=\) or its parking \(on_parked"
        ):
            getattr(one.people, action.value)("k", by="ana", why="again")
        one.follow_ups.clear_follow_up(noted(at)[0])
        getattr(one.people, action.value)("k", by="ana", why="again")

    def test_s27_a_dead_driver_has_said_what_follows(self, at: Workbench, coordinators: Coordinators) -> None:
        one = coordinators(max_failures=1)
        one.create_partitions(["k"])
        lease = one.acquire_partition("k")
        assert lease is not None
        one.on_parked(lease, NOTE)
        one.save_progress_state(lease, {"row": 1})
        assert coordinators(max_failures=1).tries.fail_for_dead_owner("k", lease.fence, "its driver is dead")
        assert [each.text for each in one.follow_ups.follow_ups()] == [NOTE]

    def test_s27_a_coordinator_refuses_what_it_cannot_keep(self, at: Workbench, coordinators: Coordinators) -> None:
        one, other = coordinators(), coordinators(by=owner("other").text)
        one.create_partitions(["k"])
        lease = one.acquire_partition("k")
        assert lease is not None
        with pytest.raises(InvalidInputError, match=r"^on_parked='x+.*: is 4,097 bytes of JSON, of which 4,096 fit"):
            one.on_parked(lease, 4097 * "x")
        at.clock.advance(2 * TIMEOUT)
        assert other.acquire_partition("k") is not None
        with pytest.raises(PartitionNotOwnedError):
            one.on_parked(lease, NOTE)
        assert at.get("k").on_parked is None
