"""Creating partitions, with hostile keys, payloads and progress, too."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.partition import PartitionIdentifier
from airflow_coordination.protocol.refreshing import Outdated, Refresh
from airflow_coordination.protocol.results import Answer, Created
from airflow_coordination.protocol.writes import Action
from airflow_coordination.testing.conformance.exactly import totals
from airflow_coordination.testing.conformance.fixtures import MINUTE, Workbench, block, fence, head, owner
from airflow_coordination.values.fence import RING_SIZE
from airflow_coordination.values.status import PartitionStatus, Rank


class Creation:
    """Row *create* of the table; promise S10."""

    def test_a_new_partition_is_unassigned_and_counts_nothing(self, bench: Workbench) -> None:
        identifier = PartitionIdentifier("k", payload={"month": 2, "a": [1, None]}, priority=-7)
        assert bench.create(identifier, op="op-1") == Created(created=1)
        made = bench.get("k")
        assert (made.status, made.rank, made.priority) == (PartitionStatus.UNASSIGNED, Rank.NEW, -7)
        assert (made.closed_count, made.failures, made.lost_leases, made.token) == (0, 0, 0, 0)
        assert made.payload == {"month": 2, "a": [1, None]}
        assert (made.create_op, made.generation, made.last_op) == ("op-1", "op-1", "op-1")
        absent = (made.progress_state, made.owner, made.ownership_timeout, made.reopen_at, made.fence)
        assert absent == (None,) * 5
        assert made.created_at == made.updated_at == made.available_at == bench.clock.now()
        assert made.ring == (None,) * RING_SIZE
        assert made.source == bench.source

    @pytest.mark.parametrize("status", list(PartitionStatus))
    def test_s10_creating_again_changes_nothing_in_any_status(self, bench: Workbench, status: PartitionStatus) -> None:
        before = bench.bring("k", status)
        bench.clock.advance(MINUTE / 60)
        assert bench.create("k") == Created(existing=1)
        assert bench.get("k") == before

    def test_a_list_of_existing_and_new_creates_the_new_ones(self, bench: Workbench) -> None:
        """Data Prepper: regression #3319 stopped at the first existing one."""
        bench.create("a")
        assert bench.create("a", "b", "c") == Created(created=2, existing=1)
        assert bench.drained() == ["a", "b", "c"]

    def test_a_repeated_creation_counts_the_same_and_changes_nothing(self, bench: Workbench) -> None:
        bench.create("a")
        assert bench.create("a", "b", op="op-1") == Created(created=1, existing=1)
        before = bench.get("b")
        bench.clock.advance(MINUTE)
        assert bench.create("a", "b", op="op-1") == Created(created=1, existing=1)
        assert bench.get("b") == before

    def test_a_key_named_twice_in_a_page_is_created_once(self, bench: Workbench) -> None:
        first, second = PartitionIdentifier("k", payload={"n": 1}), PartitionIdentifier("k", payload={"n": 2})
        made = bench.create(first, second)
        assert (made.created, made.existing) == (1, 1)
        assert bench.get("k").payload == {"n": 1}

    def test_a_changed_payload_or_priority_is_reported_and_not_overwritten(self, bench: Workbench) -> None:
        bench.create(*(PartitionIdentifier(key, payload={"n": 1}) for key in "abc"))
        again = bench.create(
            PartitionIdentifier("a", payload={"n": 2}),
            PartitionIdentifier("b", payload={"n": 1}, priority=3),
            PartitionIdentifier("c", payload={"n": 1}),
            PartitionIdentifier("d", payload={"n": 9}),
        )
        assert (again.created, again.existing, set(again.changed)) == (1, 3, {"a", "b"})
        assert bench.get("a").payload == {"n": 1}
        assert bench.get("b").priority == 0

    def test_an_empty_page_creates_nothing(self, bench: Workbench) -> None:
        assert bench.create() == Created()

    def test_sources_are_apart(self, bench: Workbench) -> None:
        other = Workbench(bench.store, bench.clock, source="prefix|flights|PARTITION")
        bench.create("k", "by key")
        assert other.store.get(other.source, "k") is None
        assert other.next() is None
        assert other.create("k", "by key") == Created(created=2)
        bench.acquire("by key")
        assert (bench.drained(), other.drained()) == (["k"], ["k", "by key"])

    def test_e17_what_other_sources_have_says_nothing(self, bench: Workbench) -> None:
        """E17: neither a tombstone nor another payload under the same key."""
        other = Workbench(bench.store, bench.clock, source="other|PARTITION")
        bench.create("deleted", PartitionIdentifier("different", {"of": "flights"}))
        bench.act(Action.DELETE, "deleted")
        assert other.create("deleted", "different", op=bench.op()) == Created(created=2)
        assert other.create("deleted", "different", op=bench.op()) == Created(existing=2)
        assert bench.get("deleted").deleted

    def test_a_tombstone_is_not_revived_by_a_repeated_old_creation(self, bench: Workbench) -> None:
        bench.create("k", op="op-1")
        bench.act(Action.DELETE, "k")
        bench.create("k", op="op-1")
        assert bench.get("k").deleted
        assert bench.next() is None

    def test_s1_a_partition_made_anew_keeps_token_and_ring(self, bench: Workbench) -> None:
        held = bench.new("k")
        bench.give_up(held)
        tombstone = bench.act(Action.DELETE, "k")
        assert bench.create("k") == Created(created=1)
        made = bench.get("k")
        assert (made.token, made.ring) == (tombstone.token, tombstone.ring)
        assert (made.deleted, made.closed_count, made.status) == (False, 0, PartitionStatus.UNASSIGNED)
        assert made.ending_of(fence(held)) is not None
        assert bench.acquire().token > tombstone.token > held.token

    def test_a_page_of_a_thousand_keeps_its_order(self, bench: Workbench) -> None:
        keys = [f"{number * 7919 % 1000:04}" for number in range(1000)]
        assert bench.create(*keys) == Created(created=1000)
        assert [key for key, _ in bench.store.claimable(bench.source, 1000)] == keys


HOSTILE_KEYS: Final = (
    "x" * 2048,
    "\U0001f600" * 512,
    "../../etc/passwd",
    "/",
    ".",
    " ",
    " leading",
    "trailing ",
    "trailing",
    "new\nline",
    "tab\t",
    "\r\n",
    "\u0001",
    "\u007f",
    "'; DROP TABLE partitions; --",
    '"quoted"',
    "`back`",
    "back\\slash",
    "%",
    "%25",
    "%s %(key)s :key ?",
    "_",
    "a|b",
    "a%7Cb",
    "\u202egnp.exe",
    "\u200b",
    "{{ ds }}",
    "{% raw %}",
    "${HOME}",
    "$(reboot)",
    "<script>alert(1)</script>",
    "caf\u00e9",
    "cafe\u0301",
    "KEY",
    "key",
    "Key",
    "stra\u00dfe",
    "strasse",
    "\u0130",
    "i",
    "I",
    "null",
    "None",
    "0",
    "00",
    "0.0",
    "1e0",
    "\ufeff",
    "\uffff",
    "\U0010ffff",
)
"""Keys that are all different and all allowed: also twins by case, by normal form, by trailing space."""

HOSTILE_DOCUMENTS: Final[tuple[object, ...]] = (
    {"nul": "\u0000", "\u0000": 1},
    {"lone surrogates": "\ud800 and \udfff", "\udc00": None},
    ["'", '"', "\\", "{{ x }}", "<script>", "\u202e", "%s", ":key", "?"],
    {"numbers": [0, -0.0, 1e308, 5e-324, 2**63, -(2**200), 0.1], "truth": [True, False, None]},
    "only a text",
    0,
    False,
    "",
    [],
    {},
    {"deep": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]},
    {"big": "x" * 250_000},
)


class Hostile:
    """Promises S14, S15, X5, X6, X9 on the store's side."""

    def test_s15_hostile_keys_are_all_different(self, bench: Workbench) -> None:
        assert bench.create(*HOSTILE_KEYS) == Created(created=len(HOSTILE_KEYS))
        assert bench.create(*HOSTILE_KEYS) == Created(existing=len(HOSTILE_KEYS))
        assert [key for key, _ in bench.store.claimable(bench.source, 100)] == list(HOSTILE_KEYS)
        page = bench.store.page(bench.source, None, None, 100)
        assert bench.keys(page) == sorted(HOSTILE_KEYS, key=str.encode)
        assert bench.drained() == list(HOSTILE_KEYS)

    @pytest.mark.parametrize("key", HOSTILE_KEYS, ids=lambda key: ascii(key)[:40])
    def test_s15_a_hostile_key_goes_the_whole_way(self, bench: Workbench, key: str) -> None:
        bench.create(PartitionIdentifier(key, payload={key: key} if len(key) < 500 else None))
        held = bench.hinted(key, 0).partition
        assert held is not None
        saved = bench.save(held, {"key": key}, block(key))
        assert saved.progress_state == {"key": key}
        assert bench.complete(saved, head(saved, block(key))).applied
        done = bench.get(key)
        assert (done.key, done.status) == (key, PartitionStatus.COMPLETED)
        assert [record.blocks for record in bench.store.heads(bench.source, key=key)] == [(block(key),)]

    @pytest.mark.parametrize("source", ["a'b|PARTITION", "%s|PARTITION", "é|x|PARTITION", "s" * 255])
    def test_hostile_sources(self, bench: Workbench, source: str) -> None:
        other = Workbench(bench.store, bench.clock, source)
        other.create("k")
        assert other.acquire().source == source
        assert bench.next() is None

    def test_a_hostile_owner(self, bench: Workbench) -> None:
        by = owner("a/b|'\"%s\u202e{{ x }}<script>\n", host="h" * 200)
        held = bench.new("k", by=by)
        assert held.owner == by.text
        assert bench.keys(bench.store.find_task(bench.source, by.task)) == ["k"]

    def test_a_hostile_error_text(self, bench: Workbench) -> None:
        text = "'\"\\ %s :x \u202e\U0001f600 {{ x }}" + "x" * 1900
        bench.fail(bench.new("k"), error=text)
        assert bench.get("k").last_error == text

    @pytest.mark.parametrize("document", HOSTILE_DOCUMENTS, ids=lambda document: ascii(document)[:40])
    def test_s14_progress_comes_back_as_it_was_saved(self, bench: Workbench, document: object) -> None:
        saved = bench.save(bench.new("k"), document)
        assert saved.progress_state == document
        assert json.dumps(saved.progress_state) == json.dumps(document)
        bench.give_up(saved)
        assert bench.acquire().progress_state == document

    def test_a_payload_comes_back_as_it_was_given(self, bench: Workbench) -> None:
        payload = {"\u0000": "\ud800", "é": [1, {"deep": None}], "'": '"'}
        bench.create(PartitionIdentifier("k", payload=payload))
        assert bench.get("k").payload == payload
        assert bench.create(PartitionIdentifier("k", payload=payload)).changed == ()

    @pytest.mark.parametrize("priority", [-(2**31) + 1, -1, 0, 2**31 - 1])
    def test_the_whole_range_of_priorities(self, bench: Workbench, priority: int) -> None:
        bench.create("zero", PartitionIdentifier("k", priority=priority))
        assert bench.get("k").priority == priority
        assert bench.acquire().key == ("k" if priority < 0 else "zero")


Payload = dict[str, int] | None
FIRST, SECOND, THIRD = ({"version": version} for version in (1, 2, 3))


def offered(payload: Payload, key: str = "k", priority: int = 0) -> PartitionIdentifier:
    """Return a partition as its supplier offers it."""
    return PartitionIdentifier(key, payload, priority=priority)


def _acquired(there: Workbench) -> None:
    there.acquire()


def _given_up(there: Workbench) -> None:
    there.give_up(there.acquire())


def _lost(there: Workbench) -> None:
    there.acquire()
    there.clock.advance(10 * MINUTE)
    there.sweep()


def _acted(action: Action) -> Callable[[Workbench], None]:
    def act(there: Workbench) -> None:
        there.act(action, "k")

    return act


MEANWHILE: dict[str, Callable[[Workbench], None]] = {
    "acquired": _acquired,
    "acquired and given back": _given_up,
    "acquired and lost": _lost,
    **{action.value: _acted(action) for action in (Action.PARK, Action.FINISH, Action.DELETE, Action.RESET)},
}
"""What comes between the look and the refresh, and wins."""


class Refreshing:
    """Payloads of what was reset."""

    @pytest.fixture
    def reset(self, bench: Workbench) -> Workbench:
        """Return the bench of a store with a partition ``k`` that has completed, and was reset."""
        bench.create(offered(FIRST))
        held = bench.acquire()
        bench.store.write(replace(bench.completing(held), accounting=totals(held, 3)))
        bench.act(Action.RESET, "k")
        return bench

    def refresh(self, there: Workbench, old: Outdated, payload: Payload) -> Answer:
        """Send what a supplier sends that has found an old payload."""
        text = offered(payload).payload_text
        where = {"source": there.source, "key": old.key, "generation": old.generation}
        return there.store.refresh(Refresh(**where, seen=old.payload_text, payload_text=text))

    def test_e8_what_was_reset_is_found_with_its_old_payload(self, reset: Workbench) -> None:
        found = reset.create(offered(SECOND))
        stored = reset.get("k")
        assert found.outdated == (Outdated("k", stored.generation, offered(FIRST).payload_text),)
        assert (found.existing, found.changed, found.refreshed) == (1, ("k",), 0)
        assert reset.create(offered(FIRST)).outdated == ()
        assert reset.create(offered(FIRST, priority=1)).outdated == ()

    def test_e8_it_gets_the_new_payload_and_nothing_else_of_it_changes(self, reset: Workbench) -> None:
        before, [old] = reset.get("k"), reset.create(offered(SECOND)).outdated
        reset.clock.advance(1)
        answer = self.refresh(reset, old, SECOND)
        after = reset.get("k")
        assert (answer.applied, answer.partition) == (True, after)
        assert after == replace(before, payload_text=offered(SECOND).payload_text, updated_at=reset.clock.now())
        held = reset.acquire()
        assert held.payload == SECOND
        assert reset.complete(held).applied

    def test_e8_a_child_goes_on_waiting_also_in_a_pause(self, reset: Workbench) -> None:
        first, second = (PartitionIdentifier("c", payload, parents=["p"]) for payload in (FIRST, SECOND))
        reset.create("p")
        reset.create(first)
        reset.act(Action.RESET, "c")
        reset.pause()
        [old] = reset.create(second).outdated
        assert self.refresh(reset, old, SECOND).applied
        assert (reset.get("c").payload, reset.get("c").waits_for) == (SECOND, ("p",))

    def test_e8_it_can_be_refreshed_again_and_what_arrives_late_does_nothing(self, reset: Workbench) -> None:
        [old] = reset.create(offered(SECOND)).outdated
        assert self.refresh(reset, old, SECOND).applied
        [newer] = reset.create(offered(THIRD)).outdated
        assert self.refresh(reset, newer, THIRD).applied
        for late, payload in ((old, SECOND), (newer, THIRD)):
            answer = self.refresh(reset, late, payload)
            assert (answer.applied, answer.partition) == (False, reset.get("k"))
        assert reset.get("k").payload == THIRD

    @pytest.mark.parametrize(("first", "second"), [(None, FIRST), (FIRST, None)])
    def test_e8_no_payload_is_one_too(self, reset: Workbench, first: Payload, second: Payload) -> None:
        reset.create(offered(first, "bare"))
        reset.complete(reset.acquire("bare"))
        reset.act(Action.RESET, "bare")
        [old] = reset.create(offered(second, "bare")).outdated
        assert self.refresh(reset, old, second).applied
        assert reset.get("bare").payload_text == offered(second).payload_text
        assert not self.refresh(reset, old, second).applied

    @pytest.mark.parametrize("meanwhile", MEANWHILE)
    def test_s29_e8_who_came_first_keeps_the_payload_it_was_given(self, reset: Workbench, meanwhile: str) -> None:
        [old] = reset.create(offered(SECOND)).outdated
        MEANWHILE[meanwhile](reset)
        before = reset.get("k")
        answer = self.refresh(reset, old, SECOND)
        assert (answer.applied, answer.partition, reset.get("k")) == (False, before, before)

    def test_e8_nothing_else_is_outdated(self, reset: Workbench) -> None:
        for key in ("new", "held", "done", "given back", "parked", "gone"):
            reset.create(offered(FIRST, key))
        reset.acquire("held")
        reset.complete(reset.acquire("done"))
        reset.give_up(reset.acquire("given back"))
        reset.act(Action.PARK, "parked")
        reset.act(Action.DELETE, "gone")
        page = [offered(SECOND, key) for key in ("new", "held", "done", "given back", "parked")]
        found = reset.create(*page, offered(SECOND))
        assert [old.key for old in found.outdated] == ["k"]
        assert len(found.changed) == 6
        assert reset.create(offered(SECOND, "gone")).outdated == ()
        absent = self.refresh(reset, Outdated("absent", "any", None), SECOND)
        assert (absent.applied, absent.partition) == (False, None)

    def test_s29_e8_a_supplier_that_offers_it_again_refreshes_it_there_and_only_there(self, reset: Workbench) -> None:
        reset.create(offered(FIRST, "new"))
        one = SourceCoordinator(reset.store, reset.source.split("|")[0], "supplier", clock=reset.clock)
        run = one.run_supplier(lambda state: [offered(SECOND), offered(SECOND, "new")])
        assert (run.created.existing, run.created.refreshed, run.created.changed) == (2, 1, ("new",))
        assert run.created.outdated == ()
        assert (reset.get("k").payload, reset.get("new").payload) == (SECOND, FIRST)
        assert one.create_partitions([offered(THIRD, priority=3)]).changed == ("k",)
        assert (reset.get("k").payload, reset.get("k").priority) == (THIRD, 0)
