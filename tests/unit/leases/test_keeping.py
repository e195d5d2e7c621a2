"""What keeps a lease must outlive small mishaps; what waits for a store must not wait for ever (L1, L6, L8, S6)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import pytest

from airflow_coordination.leases import (
    Checkpoint,
    CoordinationError,
    InvalidInputError,
    OutcomeUnknownError,
    PartitionNotOwnedError,
    PartitionStatus,
    SourceCoordinator,
)
from airflow_coordination.leases.heartbeat import Heartbeat
from airflow_coordination.leases.lease import Lease
from airflow_coordination.protocol.results import Answer
from airflow_coordination.protocol.writes import OwnerWrite, Renew
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import Fault, FaultyStore
from airflow_coordination.testing.forwarding import ForwardingStore
from airflow_coordination.values.settings import Settings


def test_a_supplier_that_yields_makes_progress() -> None:
    settings = Settings(no_progress_timeout=timedelta(minutes=4), ownership_timeout=timedelta(minutes=5))
    clock = FakeClock()
    store = InMemoryStore(clock=clock)
    one, two = (SourceCoordinator(store, "flights", name, settings=settings, clock=clock) for name in ("one", "two"))
    make, made = one.heartbeat, list[Heartbeat]()
    rivals = []

    def without_threads(lease: Lease) -> nullcontext[Heartbeat]:
        made.append(make(lease))
        return nullcontext(made[0])

    def slow(state: dict[str, Any]) -> Iterator[str | Checkpoint]:
        for number in range(15):
            clock.advance(timedelta(minutes=1))
            assert made[0].beat()
            yield f"k{number}"
        rivals.append(two.run_supplier(lambda state: ["z"]).ran)
        yield Checkpoint({"last": 15})

    one.supplying._heartbeat = without_threads  # type: ignore[assignment]
    one.run_supplier(slow)
    assert rivals == [False]
    assert one.supplying.global_state() == {"last": 15}


def test_l7_a_progress_that_raises_once_loses_no_lease() -> None:
    clock = FakeClock()
    c = SourceCoordinator(InMemoryStore(clock=clock), "flights", "o", clock=clock)
    c.create_partitions(["a"])
    lease = c.get_next_partition()
    assert lease is not None
    lost: list[CoordinationError] = []
    calls: list[int] = []

    def progress() -> int:
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError("the JVM did not answer")
        return len(calls)

    heartbeat = c.heartbeat(lease, lost.append, progress)
    for number in range(1, 16):
        clock.advance(c.settings.renewal_interval)
        assert heartbeat.beat()
        assert len(calls) == number
    assert lost == []
    c.complete(lease)


def test_l6_phantoms_of_an_outage_do_not_hold_the_next_call_up() -> None:
    clock = FakeClock()
    store = FaultyStore(InMemoryStore(clock=clock), only=("acquire_next", "find_nonce"))
    c = SourceCoordinator(store, "flights", "o", clock=clock)
    c.create_partitions(["a"])
    store.faults = dict.fromkeys(range(1, 500, 2), Fault.NOT_APPLIED)  # each acquisition; the look for it finds none
    with pytest.raises(OutcomeUnknownError):
        c.get_next_partition()
    store.faults = dict.fromkeys(range(1, 5_000), Fault.UNAVAILABLE)
    begun = clock.monotonic()
    with pytest.raises(CoordinationError):
        c.get_next_partition()
    assert clock.monotonic() - begun <= 2 * c.settings.request_deadline.total_seconds()


def test_a_text_is_no_list_of_partitions() -> None:
    c = SourceCoordinator(InMemoryStore(), "flights", "o")
    with pytest.raises(InvalidInputError):
        c.create_partitions("2013-01")
    assert c.counts()[PartitionStatus.UNASSIGNED] == 0


@pytest.mark.parametrize("given", [None, 5, timedelta(days=1), object()])
def test_small_x7_what_cannot_be_gone_through_is_no_list_of_partitions(given: Any) -> None:
    c = SourceCoordinator(InMemoryStore(), "flights", "o")
    with pytest.raises(
        InvalidInputError, match=rf"^partitions=.*: is {type(given).__name__}, not a list. Give a list of"
    ):
        c.create_partitions(given)


def test_the_delay_after_many_failures_is_the_longest_one() -> None:
    settings = Settings(retry_delay=timedelta(days=2), max_retry_delay=timedelta(days=9), max_failures=100)
    assert settings.delay_after(60) == timedelta(days=9)


def test_the_phantoms_of_an_outage_cost_nothing_once_no_statement_can_still_arrive() -> None:
    clock = FakeClock()
    store = FaultyStore(InMemoryStore(clock=clock), only=("acquire_next", "find_nonce"))
    c = SourceCoordinator(store, "flights", "o", clock=clock)
    c.create_partitions(["a"])
    store.faults = dict.fromkeys(range(1, 500, 2), Fault.NOT_APPLIED)
    with pytest.raises(OutcomeUnknownError):
        c.get_next_partition()
    store.faults = {}
    clock.advance(60)
    for expected in (None, 0):  # one last look at each, then none
        store.calls.clear()
        lease = c.get_next_partition()
        assert lease is not None
        c.give_up(lease)
        assert expected is None or store.calls.count("find_nonce") == expected


class Literal(ForwardingStore):
    """A store that refuses a renewal that would not make the lease longer, as the protocol's table allows."""

    def write(self, write: OwnerWrite) -> Answer:
        found = self.get(write.source, write.key)
        until = self.now() + write.timeout if isinstance(write, Renew) else None
        if until and found and found.ownership_timeout and found.ownership_timeout >= until:
            return Answer(False, found)
        return super().write(write)


def test_s6_a_renewal_that_is_refused_because_the_lease_is_longer_loses_nothing() -> None:
    clock = FakeClock()
    one = SourceCoordinator(Literal(InMemoryStore(clock)), "flights", "one", clock=clock)
    one.create_partitions(["a"])
    lease = one.get_next_partition()
    assert lease is not None
    assert one.renew(lease).expires_at == lease.expires_at
    assert one.refusals == 0
    clock.advance(timedelta(hours=1))
    other = SourceCoordinator(one.store, "flights", "two", clock=clock)
    assert other.get_next_partition() is not None
    with pytest.raises(PartitionNotOwnedError):
        one.renew(lease)
