"""Refreshing: what was reset gets the payload that is offered now, unless somebody has acquired it first (S29)."""

# ruff: noqa: D102  a test's name says what it shows

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.partition import PartitionIdentifier
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.refreshing import Outdated, Refresh
from airflow_coordination.protocol.results import Answer
from airflow_coordination.protocol.writes import Action
from airflow_coordination.testing.conformance.stages import totals
from airflow_coordination.testing.conformance.workbench import MINUTE, Workbench

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
    def reset(self, store: PartitionStore, bench: Workbench) -> Workbench:
        """Return the bench of a store with a partition ``k`` that has completed, and was reset."""
        if not hasattr(store, "refresh"):
            pytest.skip("this store keeps the first payload")
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
