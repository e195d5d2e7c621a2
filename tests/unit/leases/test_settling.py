"""Promise S6: a lost answer is settled. Every write, with every way of losing it, on the real in-memory store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

import pytest

from airflow_coordination.leases import (
    Block,
    Lease,
    Outcome,
    OutcomeUnknownError,
    PartitionNotFoundError,
    PartitionNotOwnedError,
    PartitionStatus,
    SourceCoordinator,
    StoreUnavailableError,
)
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import Fault, FaultyStore

T = TypeVar("T")
Write = Callable[[SourceCoordinator, Lease], object]
WRITES: dict[str, Write] = {
    "renew": lambda c, lease: c.renew(lease),
    "save": lambda c, lease: c.save_progress_state(lease, {"row": 1}, [Block("clean", "a", "saved", 1, 1)]),
    "complete": lambda c, lease: c.complete(lease, [Block("clean", "b", "new", 2, 2)]),
    "close": lambda c, lease: c.close(lease, timedelta(hours=1)),
    "fail": lambda c, lease: c.fail(lease, "boom"),
    "give up": lambda c, lease: c.give_up(lease),
    "complete and get next": lambda c, lease: c.complete_and_get_next(lease),
}
LOST = [Fault.UNAVAILABLE, Fault.NOT_APPLIED, Fault.APPLIED, Fault.APPLIED_LATE]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


class EventfulStore(FaultyStore):
    """A faulty store in which something else happens before a given call."""

    def __init__(self, store: PartitionStore) -> None:
        super().__init__(store, only=("write", "acquire_next", "acquire", "complete_and_acquire", "create"))
        self.before: dict[int, Callable[[], object]] = {}

    def forward(self, name: str, call: Callable[[], T]) -> T:
        happening = self.before.pop(len(self.calls) + 1, None)
        if happening:
            happening()
        return super().forward(name, call)


@pytest.fixture
def store(clock: FakeClock) -> EventfulStore:
    return EventfulStore(InMemoryStore(clock=clock))


def coordinator(store: PartitionStore, clock: FakeClock, owner: str = "host/dag/run/task/0/1") -> SourceCoordinator:
    return SourceCoordinator(store, "flights", owner, clock=clock)


@pytest.fixture
def leased(store: FaultyStore, clock: FakeClock) -> tuple[SourceCoordinator, Lease]:
    c = coordinator(store, clock)
    c.create_partitions(["a", "b"])
    lease = c.acquire_partition("a")
    assert lease is not None
    store.calls.clear()
    return c, lease


@pytest.mark.parametrize("fault", LOST, ids=lambda fault: fault.name.lower())
@pytest.mark.parametrize("name", WRITES)
def test_s6_a_lost_answer_is_settled(
    name: str, fault: Fault, leased: tuple[SourceCoordinator, Lease], store: FaultyStore
) -> None:
    c, lease = leased
    store.faults[1] = fault
    WRITES[name](c, lease)
    store.deliver()
    now = c.partition("a")
    assert now is not None
    assert len(store.calls) > 1, "the fault was met"
    assert c.refusals == 0
    expected = {
        "renew": PartitionStatus.ASSIGNED,
        "save": PartitionStatus.ASSIGNED,
        "complete": PartitionStatus.COMPLETED,
        "close": PartitionStatus.CLOSED,
        "fail": PartitionStatus.UNASSIGNED,
        "give up": PartitionStatus.UNASSIGNED,
        "complete and get next": PartitionStatus.COMPLETED,
    }
    assert now.status is expected[name]
    assert (now.closed_count, now.failures) == (int(name == "close"), int(name == "fail"))
    if name == "complete and get next":
        following = c.partition("b")
        assert following is not None
        assert following.status is PartitionStatus.ASSIGNED


@pytest.mark.parametrize("fault", LOST, ids=lambda fault: fault.name.lower())
def test_s6_the_chain_goes_on_after_a_settled_save(
    fault: Fault, leased: tuple[SourceCoordinator, Lease], store: FaultyStore
) -> None:
    c, lease = leased
    store.faults[1] = fault
    lease = c.save_progress_state(lease, 1, [Block("clean", "a", "one", 1, 1)])
    lease = c.save_progress_state(lease, 2, [Block("clean", "b", "two", 2, 2)])
    c.complete(lease, [Block("clean", "c", "three", 3, 3)])
    (head,) = store.heads(lease.partition.source)
    assert [block.digest for block in head.blocks] == ["one", "two", "three"]
    assert head.rows == 6


def test_s6_unknown_only_while_the_store_stays_unreachable(
    leased: tuple[SourceCoordinator, Lease], store: FaultyStore
) -> None:
    c, lease = leased
    store.faults.update({1: Fault.APPLIED} | dict.fromkeys(range(2, 10_000), Fault.UNAVAILABLE))
    with pytest.raises(OutcomeUnknownError, match="not known whether"):
        c.complete(lease)
    store.faults.clear()
    c.complete(lease)  # the same call again settles the first
    now = c.partition("a")
    assert now is not None
    assert now.status is PartitionStatus.COMPLETED
    assert c.refusals == 0


def test_s6_unavailable_when_no_attempt_can_have_reached_the_store(
    leased: tuple[SourceCoordinator, Lease], store: FaultyStore
) -> None:
    c, lease = leased
    store.faults.update(dict.fromkeys(range(1, 10_000), Fault.UNAVAILABLE))
    with pytest.raises(StoreUnavailableError, match="Nothing was written"):
        c.save_progress_state(lease, {"row": 1})
    store.faults.clear()
    assert c.save_progress_state(lease, {"row": 2}).partition.progress_state == {"row": 2}


def test_s6_an_unknown_save_is_settled_before_the_next_write(
    leased: tuple[SourceCoordinator, Lease], store: FaultyStore
) -> None:
    c, lease = leased
    store.faults.update({1: Fault.APPLIED} | dict.fromkeys(range(2, 10_000), Fault.UNAVAILABLE))
    with pytest.raises(OutcomeUnknownError):
        c.save_progress_state(lease, 1, [Block("clean", "a", "one", 1, 1)])
    store.faults.clear()
    c.complete(lease, [Block("clean", "b", "two", 2, 2)])
    (head,) = store.heads(lease.partition.source)
    assert [block.digest for block in head.blocks] == ["one", "two"]


def test_s6_a_save_applied_before_the_lease_was_lost_is_reported_as_applied(
    leased: tuple[SourceCoordinator, Lease], store: EventfulStore, clock: FakeClock
) -> None:
    c, lease = leased
    thief = coordinator(store.store, clock, "other")

    def steal() -> None:
        clock.advance(601)
        assert thief.acquire_partition("a") is not None

    store.faults[1] = Fault.APPLIED
    store.before[2] = steal
    c.save_progress_state(lease, {"row": 5})
    assert lease.ending is not None
    assert lease.ending.outcome is Outcome.LOST
    now = thief.partition("a")
    assert now is not None
    assert now.progress_state == {"row": 5}


def test_s2_overtaken_when_somebody_else_writes_under_the_same_fence(
    leased: tuple[SourceCoordinator, Lease], store: FaultyStore, clock: FakeClock
) -> None:
    c, lease = leased
    driver = coordinator(store, clock)
    other = driver.begin("a", lease.fence)
    with pytest.raises(PartitionNotOwnedError) as refused:
        c.save_progress_state(lease, {"row": 1})
    assert refused.value.ending is not None
    assert refused.value.ending.outcome is Outcome.OVERTAKEN
    driver.complete(other)


def test_z6_a_write_on_a_deleted_partition_names_who_deleted_it(
    leased: tuple[SourceCoordinator, Lease], store: FaultyStore, clock: FakeClock
) -> None:
    c, lease = leased
    coordinator(store, clock, "ana").people.delete("a", by="ana", why="test")
    with pytest.raises(PartitionNotFoundError, match=r"was deleted by 'ana' \('test'\)"):
        c.complete(lease)
    assert lease.ending is not None
    assert lease.ending.outcome is Outcome.RELEASED
    assert c.refusals == 1


def test_a_write_on_an_absent_partition_is_not_found(leased: tuple[SourceCoordinator, Lease], clock: FakeClock) -> None:
    _, lease = leased
    elsewhere = coordinator(InMemoryStore(clock=clock), clock)
    with pytest.raises(PartitionNotFoundError, match="does not exist"):
        elsewhere.complete(lease)


@pytest.mark.parametrize("fault", LOST, ids=lambda fault: fault.name.lower())
def test_s6_an_acquisition_with_a_lost_answer_leaves_no_phantom(
    fault: Fault, store: FaultyStore, clock: FakeClock
) -> None:
    c = coordinator(store, clock)
    c.create_partitions(["a", "b"])
    store.calls.clear()
    store.faults[1] = fault
    lease = c.get_next_partition()
    assert lease is not None
    store.deliver()
    other = c.get_next_partition()  # gives the phantom, if there is one, back first
    assert other is not None
    assert {lease.key, other.key} == {"a", "b"}
    assert c.partition("a").failures == c.partition("b").lost_leases == 0  # type: ignore[union-attr]


@pytest.mark.parametrize("fault", LOST, ids=lambda fault: fault.name.lower())
def test_s6_a_hinted_acquisition_with_a_lost_answer_is_found(
    fault: Fault, store: FaultyStore, clock: FakeClock
) -> None:
    c = coordinator(store, clock)
    c.create_partitions(["a", "b"])
    hint = c.claimable()[1]
    store.calls.clear()
    store.faults[1] = fault
    lease = c.get_next_partition(hint=hint)
    assert lease is not None
    assert (lease.key, lease.fence.token) == ("b", 1)


@pytest.mark.parametrize("fault", LOST, ids=lambda fault: fault.name.lower())
def test_s6_creation_counts_the_same_after_a_lost_answer(fault: Fault, store: FaultyStore, clock: FakeClock) -> None:
    c = coordinator(store, clock)
    c.create_partitions(["a"])
    store.calls.clear()
    store.faults[1] = fault
    created = c.create_partitions(["a", "b", "c"])
    assert (created.created, created.existing) == (2, 1)


def test_a_completion_is_counted_although_the_next_acquisition_is_not_known(
    leased: tuple[SourceCoordinator, Lease], store: FaultyStore, clock: FakeClock
) -> None:
    c, lease = leased
    silent = FaultyStore(store, only=("find_nonce",))
    silent.faults.update(dict.fromkeys(range(1, 1_000), Fault.UNAVAILABLE))
    c._acquisition._store = silent
    store.faults[1] = Fault.APPLIED
    with pytest.raises(OutcomeUnknownError, match="the partition before is completed"):
        c.complete_and_get_next(lease)
    assert lease.ending is not None
    assert lease.ending.outcome is Outcome.COMPLETED
    assert c.metrics.counts["flights_source_coordinator_partitionsCompleted"] == 1  # type: ignore[attr-defined]
    silent.faults.clear()
    following = c.get_next_partition()  # gives back what the lost answer had acquired
    assert following is not None
    assert (following.key, following.fence.token) == ("b", 2)
