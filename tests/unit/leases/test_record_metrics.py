"""Counters of records: of accepted steps, each record once."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_coordination.leases import (
    InvalidInputError,
    Lease,
    OutcomeUnknownError,
    PartitionNotOwnedError,
    SourceCoordinator,
)
from airflow_coordination.protocol.metrics import Metric, full_name
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import Fault, FaultyStore
from airflow_coordination.values.accounting import Accounting

READ = (
    Metric.RECORDS_IN,
    Metric.RECORDS_OUT,
    Metric.RECORDS_DROPPED,
    Metric.RECORDS_UNROUTED,
    Metric.RECORDS_DEAD_LETTERED,
)


def counted(times: int = 1) -> Accounting:
    """Counts in which each kind has its own number."""
    dropped = {"a": 2 * times, "b": 2 * times}
    kinds = {"delivered_everywhere": 8 * times, "unrouted": 2 * times, "dead_lettered": times}
    return Accounting(read=15 * times, dropped=dropped, **kinds)


def told(times: int) -> tuple[int, ...]:
    """What the counters say of these counts."""
    return 15 * times, 8 * times, 4 * times, 2 * times, times


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(clock: FakeClock) -> FaultyStore:
    return FaultyStore(InMemoryStore(clock=clock), only=("write", "complete_and_acquire"))


@pytest.fixture
def flights(store: FaultyStore, clock: FakeClock) -> SourceCoordinator:
    coordinator = SourceCoordinator(store, "flights", "test", clock=clock)
    coordinator.create_partitions(["a", "b"])
    return coordinator


@pytest.fixture
def lease(flights: SourceCoordinator) -> Lease:
    lease = flights.acquire_partition("a")
    assert lease is not None
    return lease


def said(coordinator: SourceCoordinator, *metrics: Metric) -> tuple[int, ...]:
    assert hasattr(coordinator.metrics, "counts")
    return tuple(coordinator.metrics.counts.get(full_name("flights", metric), 0) for metric in metrics)


def test_each_accepted_step_adds_what_is_new(flights: SourceCoordinator, lease: Lease) -> None:
    lease = flights.save_progress_state(lease, 1, counted=counted(1))
    assert said(flights, *READ) == told(1)
    lease = flights.save_progress_state(lease, 2)  # nothing was delivered since
    lease = flights.save_progress_state(lease, 3, counted=counted(3))
    assert said(flights, *READ) == told(3)
    flights.complete(lease, counted=counted(4))
    assert said(flights, *READ) == told(4)


def test_a_close_and_a_completion_with_the_next_one_count_too(flights: SourceCoordinator, lease: Lease) -> None:
    following = flights.complete_and_get_next(lease, counted=counted(1))
    assert following is not None
    flights.close(following, timedelta(hours=1), counted=counted(2))
    assert said(flights, *READ) == told(3)


def test_what_a_failed_tenure_has_not_saved_is_not_counted(flights: SourceCoordinator, lease: Lease) -> None:
    lease = flights.save_progress_state(lease, 1, counted=counted(1))
    flights.fail(lease, "boom")
    assert said(flights, *READ) == told(1)


def test_nothing_of_a_refused_step_is_counted(flights: SourceCoordinator, lease: Lease, clock: FakeClock) -> None:
    with pytest.raises(InvalidInputError):
        flights.save_progress_state(lease, 1, counted=Accounting(read=5))
    clock.advance(2 * flights.settings.ownership_timeout)
    again = flights.acquire_partition("a")
    assert again is not None
    for late in (
        lambda: flights.save_progress_state(lease, 1, counted=counted(7)),
        lambda: flights.complete(lease, counted=counted(7)),
    ):
        with pytest.raises(PartitionNotOwnedError):
            late()
    assert said(flights, *READ) == told(0)
    flights.complete(again, counted=counted(1))
    assert said(flights, *READ) == told(1)


@pytest.mark.parametrize("fault", [Fault.UNAVAILABLE, Fault.NOT_APPLIED, Fault.APPLIED, Fault.APPLIED_LATE])
def test_a_lost_answer_counts_once(flights: SourceCoordinator, lease: Lease, store: FaultyStore, fault: Fault) -> None:
    store.faults[len(store.calls) + 1] = fault
    lease = flights.save_progress_state(lease, 1, counted=counted(1))
    assert said(flights, *READ) == told(1)
    store.faults[len(store.calls) + 1] = fault
    flights.complete(lease, counted=counted(2))
    assert said(flights, *READ) == told(2)


def test_what_is_settled_later_is_counted_by_the_step_that_settles_it(
    flights: SourceCoordinator, lease: Lease, store: FaultyStore
) -> None:
    calls = len(store.calls)
    store.faults.update({calls + number: Fault.UNAVAILABLE for number in range(2, 400)})
    store.faults[calls + 1] = Fault.APPLIED
    with pytest.raises(OutcomeUnknownError):
        flights.complete(lease, counted=counted(1))
    assert said(flights, *READ) == told(0)
    store.faults.clear()
    flights.complete(lease, counted=counted(1))  # the same ending, not a second one
    with pytest.raises(PartitionNotOwnedError):
        flights.complete(lease, counted=counted(1))
    assert said(flights, *READ) == told(1)


def test_the_results_of_acknowledgment_sets(flights: SourceCoordinator) -> None:
    for positive, expired, failed in ((True, False, 0), (False, False, 3), (False, True, 5)):
        flights.counting.count_acknowledgment_set()
        flights.counting.count_acknowledgment(positive=positive, expired=expired, failed=failed)
    flights.counting.count_acknowledgment_set()  # ended by an exception
    sets = (Metric.SETS_CREATED, Metric.SETS_COMPLETED, Metric.SETS_EXPIRED, Metric.SETS_POSITIVE, Metric.SETS_NEGATIVE)
    assert said(flights, *sets) == (4, 2, 1, 1, 2)
    assert said(flights, Metric.RECORDS_FAILED) == (8,)
