"""What single faults of DynamoDB must not do."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from datetime import timedelta
from typing import Any

import pytest

from airflow_coordination.leases import PartitionNotOwnedError, PartitionStatus, SourceCoordinator
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import Crash
from airflow_coordination.values.errors import OutcomeUnknownError, StoreUnavailableError
from airflow_coordination.values.status import Outcome
from tests.faults.dynamodb_client import Fault, FaultyClient, at
from tests.integration.dynamodb.table import SharedTable, acquired, block, found, published

S = PartitionStatus
TIMEOUT = timedelta(minutes=10)
LARGE = "x" * 1000
UNHEARD = [Fault.APPLIED, Fault.NOT_APPLIED, Fault.APPLIED_LATE, Fault.INTERNAL_ERROR]
REFUSED = [Fault.UNREACHABLE, Fault.THROTTLED, Fault.CONFLICT, Fault.IN_PROGRESS, Fault.UNAVAILABLE]


@pytest.mark.parametrize("fault", UNHEARD + REFUSED, ids=lambda fault: fault.name)
def test_s6_every_kind_of_write_is_settled(shared: SharedTable, clock: FakeClock, fault: Fault) -> None:
    """Every second write of an owner fails, so that each is repeated or settled."""
    faulty = FaultyClient(shared.engine.client)
    one, steady = shared.coordinator(client=faulty), shared.coordinator()
    one.create_partitions(["k"])
    faulty.plan = at(dict.fromkeys(range(1, 40, 2), fault), "update_item", "transact_write_items")
    held = acquired(steady.get_next_partition())
    clock.advance(TIMEOUT / 2)
    held = one.renew(held)
    held = one.save_progress_state(held, {"row": 1}, [block("b1")])
    held = one.save_progress_state(held, LARGE, [block("b2")])
    one.close(held, timedelta(0), state=LARGE)
    held = acquired(steady.get_next_partition())
    assert held.partition.progress_state == LARGE
    one.complete(held, [block("b3")])
    faulty.deliver()
    done = found(one.partition("k"))
    endings = [ending.outcome for ending in done.endings if ending.outcome is not Outcome.GIVEN_UP]
    assert (done.status, done.closed_count, endings) == (S.COMPLETED, 1, [Outcome.CLOSED, Outcome.COMPLETED])
    assert published(one) == {"k": ["b1", "b2", "b3"]}
    assert one.refusals == 0


@pytest.mark.parametrize("late_by", range(1, 8))
def test_s6_an_acquisition_that_comes_late_is_not_no_work(shared: SharedTable, late_by: int) -> None:
    """What it takes is all there was, so that nothing is left for the one after it."""
    faulty = FaultyClient(shared.engine.client, at({1: Fault.APPLIED_LATE}, "update_item"), late_by=lambda: late_by)
    one = shared.coordinator(client=faulty)
    one.create_partitions(["k"])
    held = acquired(one.get_next_partition())
    faulty.deliver()
    one.complete(held)
    assert found(one.partition("k")).status is S.COMPLETED


@pytest.mark.parametrize("by_hint", [True, False], ids=["by hint", "by order"])
@pytest.mark.parametrize("fault", UNHEARD + REFUSED, ids=lambda fault: fault.name)
def test_s6_a_read_that_fails_after_an_acquisition_leaves_no_phantom(
    shared: SharedTable, fault: Fault, by_hint: bool
) -> None:
    """What is acquired has large progress, and reading that fails."""
    faulty = FaultyClient(shared.engine.client)
    one = shared.coordinator(client=faulty)
    one.create_partitions(["k", "other"])
    one.give_up(one.save_progress_state(acquired(one.get_next_partition()), LARGE))
    hint = one.claimable()[0] if by_hint else None
    faulty.plan = at({1: fault}, "get_item")
    held = acquired(one.get_next_partition(hint=hint))
    assert [(p.key, p.fence) for p in one.partitions(S.ASSIGNED)] == [(held.key, held.fence)]


@pytest.mark.parametrize("by_hint", [True, False], ids=["by hint", "by order"])
def test_s6_an_acquisition_that_could_not_be_read_is_given_back(shared: SharedTable, by_hint: bool) -> None:
    faulty = FaultyClient(shared.engine.client)
    one = shared.coordinator(client=faulty)
    one.create_partitions(["k"])
    one.give_up(one.save_progress_state(acquired(one.get_next_partition()), LARGE))
    hint = one.claimable()[0] if by_hint else None
    faulty.plan = lambda operation: Fault.THROTTLED if operation == "get_item" else None
    with pytest.raises(OutcomeUnknownError) if by_hint else nullcontext():
        assert one.get_next_partition(hint=hint) is None
    assert found(shared.coordinator().partition("k")).status is S.ASSIGNED
    faulty.plan = lambda operation: None
    held = acquired(one.get_next_partition())
    assert held.partition.progress_state == LARGE
    assert held.partition.failures == held.partition.lost_leases == 0


def test_s1_an_owner_that_slept_in_its_acquisition_has_not_its_successors_fence(
    shared: SharedTable, clock: FakeClock
) -> None:
    """It was stopped between the update and the reading of the large progress, until after its lease."""
    sleeper, successor = FaultyClient(shared.engine.client), shared.coordinator("successor")
    one = shared.coordinator(client=sleeper)
    one.create_partitions(["k"])
    one.give_up(one.save_progress_state(acquired(one.get_next_partition()), LARGE))
    taken: list[Any] = []

    def sleep(operation: str) -> None:
        if operation == "get_item" and not taken:
            clock.advance(TIMEOUT)
            taken.append(acquired(successor.get_next_partition()))
            taken.append(successor.save_progress_state(taken[0], LARGE + "y"))

    sleeper.plan = sleep
    with pytest.raises(OutcomeUnknownError, match="not held any more"):
        one.get_next_partition()
    successor.complete(taken[1])


def test_an_owner_learns_that_it_slept_in_its_own_save(shared: SharedTable, clock: FakeClock) -> None:
    late, successor = FaultyClient(shared.engine.client), shared.coordinator("successor")
    one = shared.coordinator(client=late)
    one.create_partitions(["k"])
    held = acquired(one.get_next_partition())

    def sleep(operation: str) -> None:
        if operation == "transact_write_items":
            late.plan = lambda operation: None
            clock.advance(TIMEOUT)
            acquired(successor.get_next_partition())

    late.plan = sleep
    with pytest.raises(PartitionNotOwnedError):
        one.save_progress_state(held, LARGE)
    assert found(successor.partition("k")).progress_text is None


def work(one: SourceCoordinator) -> None:
    """Create two partitions and process each in three steps, going on where an earlier tenure was."""
    one.create_partitions(["a", "b"])
    while (lease := one.get_next_partition()) is not None:
        begun = (lease.partition.progress_state or {"step": 0})["step"]
        for step in range(begun, 3):
            progress = {"step": step + 1, "more": LARGE * (step % 2)}
            lease = one.save_progress_state(lease, progress, [block(f"{lease.key}{step}")])
        one.complete(lease)


@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER], ids=lambda fault: fault.name)
def test_l1_a_process_killed_at_any_request_loses_and_doubles_nothing(
    shared: SharedTable, clock: FakeClock, fault: Fault
) -> None:
    """One source for each request at which the process can end, all in one table."""
    number, crashed = 0, True
    while crashed:
        number += 1
        source = f"killed-{number}"
        faulty = FaultyClient(shared.engine.client, at({number: fault}))
        with suppress(Crash):
            work(shared.coordinator(client=faulty, source=source))
        crashed = faulty.crashed
        clock.advance(TIMEOUT)
        steady = shared.coordinator("steady", source=source)
        work(steady)
        assert {partition.status for partition in steady.partitions()} == {S.COMPLETED}
        assert published(steady) == {key: [f"{key}{step}" for step in range(3)] for key in "ab"}
    assert number > 20


@pytest.mark.parametrize("fault", [Fault.THROTTLED, Fault.UNREACHABLE, Fault.UNAVAILABLE], ids=lambda fault: fault.name)
def test_l6_an_outage_is_an_error_and_never_no_work(shared: SharedTable, clock: FakeClock, fault: Fault) -> None:
    faulty = FaultyClient(shared.engine.client)
    one = shared.coordinator(client=faulty)
    one.create_partitions(["k"])
    faulty.plan = lambda operation: fault
    began = clock.now()
    with pytest.raises(StoreUnavailableError if fault is not Fault.UNAVAILABLE else Exception):
        one.get_next_partition()
    assert timedelta(seconds=20) < clock.now() - began <= timedelta(seconds=30)
    faulty.plan = lambda operation: None
    one.complete(acquired(one.get_next_partition()))
