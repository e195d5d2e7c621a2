"""Lost, late and repeated messages at every call, and crashes at every call."""

# ruff: noqa: D102  a test's name says what it shows

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.protocol.partition import Checkpoint
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.conformance.coordinating import Coordinators, acquired, rows
from airflow_coordination.testing.conformance.workbench import MINUTE, TIMEOUT, block, owner
from airflow_coordination.testing.crash import Crash, Fault, FaultyStore
from airflow_coordination.values.status import PartitionStatus

S = PartitionStatus
LOST = [Fault.UNAVAILABLE, Fault.NOT_APPLIED, Fault.APPLIED, Fault.APPLIED_LATE]
ENDS: dict[str, tuple[Callable[[SourceCoordinator, Lease], object], dict[str, object]]] = {
    "complete": (lambda c, lease: c.complete(lease, [block("b1")]), {"status": S.COMPLETED, "closed_count": 0}),
    "close": (lambda c, lease: c.close(lease, MINUTE, blocks=[block("b1")]), {"status": S.CLOSED, "closed_count": 1}),
    "fail": (lambda c, lease: c.fail(lease, "boom"), {"status": S.UNASSIGNED, "failures": 1, "closed_count": 0}),
    "give up": (lambda c, lease: c.give_up(lease), {"status": S.UNASSIGNED, "failures": 0, "closed_count": 0}),
}


class LostAnswers:
    """Promises S6 and S11: what is lost on the way changes nothing, and is known."""

    @pytest.mark.parametrize("fault", LOST)
    @pytest.mark.parametrize("name", ENDS)
    def test_s6_an_ending_is_applied_once(
        self, coordinators: Coordinators, store: PartitionStore, name: str, fault: Fault
    ) -> None:
        end, expected = ENDS[name]
        one = coordinators(store=FaultyStore(store, {1: fault}, only=("write",)))
        one.create_partitions(["k"])
        end(one, acquired(one.get_next_partition()))
        found = one.partition("k")
        assert found is not None
        assert {field: getattr(found, field) for field in expected} == expected
        assert len(found.endings) == 1
        assert one.refusals == 0

    @pytest.mark.parametrize("fault", LOST)
    def test_s6_the_chain_goes_on_after_a_lost_answer(
        self, coordinators: Coordinators, store: PartitionStore, fault: Fault
    ) -> None:
        faulty = FaultyStore(store, {1: fault, 3: fault, 5: fault}, only=("write",))
        one = coordinators(store=faulty)
        one.create_partitions(["k"])
        lease = acquired(one.get_next_partition())
        for number in range(3):
            lease = one.save_progress_state(lease, number, [block(f"b{number}")])
        one.complete(lease)
        assert len(faulty.calls) >= 6
        assert rows(one, store) == {"k": ["b0", "b1", "b2"]}

    @pytest.mark.parametrize("fault", LOST)
    def test_s6_a_renewal_is_heard_in_the_end(
        self, coordinators: Coordinators, store: PartitionStore, clock: FakeClock, fault: Fault
    ) -> None:
        one = coordinators(store=FaultyStore(store, {1: fault}, only=("write",)))
        one.create_partitions(["k"])
        lease = acquired(one.get_next_partition())
        clock.advance(MINUTE)
        assert one.renew(lease).expires_at >= clock.now() + TIMEOUT - MINUTE / 60

    @pytest.mark.parametrize("fault", LOST)
    @pytest.mark.parametrize("by_hint", [True, False], ids=["by hint", "by order"])
    def test_s6_an_acquisition_leaves_no_phantom(
        self, coordinators: Coordinators, store: PartitionStore, by_hint: bool, fault: Fault
    ) -> None:
        faulty = FaultyStore(store, {1: fault}, only=("acquire", "acquire_next"))
        one = coordinators(store=faulty)
        one.create_partitions(["a", "b", "c"])
        held = acquired(one.get_next_partition(hint=one.claimable()[0] if by_hint else None))
        faulty.deliver()
        one.complete(held)
        while (lease := one.get_next_partition()) is not None:
            one.complete(lease)
        assert one.counts() == {S.UNASSIGNED: 0, S.ASSIGNED: 0, S.CLOSED: 0, S.COMPLETED: 3}

    @pytest.mark.parametrize("fault", LOST)
    def test_s6_creation_is_repeated(self, coordinators: Coordinators, store: PartitionStore, fault: Fault) -> None:
        one = coordinators(store=FaultyStore(store, {1: fault}, only=("create",)))
        one.create_partitions(["existing"])
        made = one.create_partitions(["a", "b"])
        assert (made.created, made.existing) == (2, 0)
        assert one.counts()[S.UNASSIGNED] == 3

    @pytest.mark.parametrize("fault", LOST)
    def test_s6_a_fused_step_completes_once(
        self, coordinators: Coordinators, store: PartitionStore, fault: Fault
    ) -> None:
        if not store.has_fused_step:
            pytest.skip("this store has no fused step")
        faulty = FaultyStore(store, {1: fault}, only=("complete_and_acquire",))
        one = coordinators(store=faulty)
        one.create_partitions(["a", "b", "c"])
        lease: Lease | None = acquired(one.get_next_partition())
        while lease is not None:
            lease = one.complete_and_get_next(lease, [block("b1")])
            faulty.deliver()
        assert one.counts()[S.ASSIGNED] <= 1
        assert one.counts()[S.CLOSED] == 0
        while (lease := one.get_next_partition()) is not None:
            one.complete(lease)
        assert {partition.status for partition in one.partitions()} == {S.COMPLETED}
        assert one.refusals == 0

    @pytest.mark.parametrize("fault", LOST)
    @pytest.mark.parametrize("action", ["release", "park", "reset", "delete"])
    def test_s6_a_persons_action_is_done_and_audited_once(
        self, coordinators: Coordinators, store: PartitionStore, action: str, fault: Fault
    ) -> None:
        one = coordinators(store=FaultyStore(store, {1: fault}, only=("act",)))
        one.create_partitions(["k"])
        acquired(one.get_next_partition())
        getattr(one, action)("k", by="ana", why="a test")
        entries = store.audit("flights|PARTITION", "k")
        assert [entry["action"] for entry in entries] == [action]
        found = store.get("flights|PARTITION", "k")
        assert found is not None
        assert found.token == 2

    @pytest.mark.parametrize("fault", LOST)
    def test_e16_s6_a_retract_is_done_and_audited_once(
        self, coordinators: Coordinators, store: PartitionStore, fault: Fault
    ) -> None:
        """E16: however often its message comes."""
        faulty = FaultyStore(store, {1: fault}, only=("act",))
        one = coordinators(store=faulty)
        one.create_partitions(["k"])
        one.complete(acquired(one.get_next_partition()), [block("b1")])
        one.retract("k", by="ana", why="a test")
        assert rows(one, store) == {"k": []}
        one.reset("k", by="ana", why="again")
        one.complete(acquired(one.get_next_partition()), [block("b2")])
        faulty.deliver()
        assert rows(one, store) == {"k": ["b2"]}
        entries = store.audit("flights|PARTITION", "k")
        assert sorted(entry["action"] for entry in entries) == ["reset", "retract"]

    @pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER])
    def test_s11_a_supplier_killed_at_any_call_is_made_good(
        self, coordinators: Coordinators, store: PartitionStore, clock: FakeClock, fault: Fault
    ) -> None:
        """One source for each call at which the process can end, all in one store."""

        def supplier(state: dict[str, Any]) -> Iterator[Any]:
            for page in range(state.get("page", 0), 3):
                yield from (f"{page}-{number}" for number in range(3))
                yield Checkpoint({"page": page + 1})

        number = 0
        while self._killed_at(number := number + 1, supplier, store, clock, fault):
            pass
        assert number > 8

    @staticmethod
    def _killed_at(
        number: int, supplier: Callable[[dict[str, Any]], Any], store: PartitionStore, clock: FakeClock, fault: Fault
    ) -> bool:
        """Kill the supplier at one call and recover; return whether it came to that call."""
        faulty = FaultyStore(store, {number: fault})
        source, by = f"source-{number}", owner().text
        with suppress(Crash):
            SourceCoordinator(faulty, source, by, clock=clock).run_supplier(supplier)
        clock.advance(TIMEOUT)
        successor = SourceCoordinator(store, source, owner("other").text, clock=clock)
        assert successor.run_supplier(supplier).ran
        keys = [partition.key for partition in successor.partitions()]
        assert keys == [f"{page}-{number}" for page in range(3) for number in range(3)]
        assert successor.global_state() == {"page": 3}
        return faulty.crashed

    @pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER])
    def test_l1_a_worker_killed_at_any_call_loses_and_doubles_nothing(
        self, store: PartitionStore, clock: FakeClock, fault: Fault
    ) -> None:
        number = 0
        while self._worker_killed_at(number := number + 1, store, clock, fault):
            pass
        assert number > 3

    @staticmethod
    def _worker_killed_at(number: int, store: PartitionStore, clock: FakeClock, fault: Fault) -> bool:
        source = f"work-{number}"
        steady = SourceCoordinator(store, source, owner("steady").text, clock=clock)
        steady.create_partitions(["k"])
        faulty = FaultyStore(store, {number: fault})
        with suppress(Crash):
            _work(SourceCoordinator(faulty, source, owner().text, clock=clock))
        clock.advance(TIMEOUT)
        _work(steady)
        assert rows(steady, store) == {"k": ["b0", "b1", "b2"]}
        assert steady.counts()[S.COMPLETED] == 1
        return faulty.crashed


def _work(coordinator: SourceCoordinator) -> None:
    """Process one partition in three steps, saving after each, and going on where an earlier tenure was."""
    lease = coordinator.get_next_partition()
    if lease is None:
        return
    for number in range(lease.partition.progress_state or 0, 3):
        lease = coordinator.save_progress_state(lease, number + 1, [block(f"b{number}")])
    coordinator.complete(lease)
