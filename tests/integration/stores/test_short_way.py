"""Acquiring by the short statement, as a coordinator sees it: nothing that goes before the new ones is passed over."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.protocol.results import FusedAnswer
from airflow_coordination.protocol.writes import AcquireNext, End
from airflow_coordination.stores import open_store
from airflow_coordination.stores.sql.postgres_store import PostgresStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.forwarding import ForwardingStore
from airflow_coordination.values.errors import OutcomeUnknownError

pytestmark = pytest.mark.postgres


class Silent(ForwardingStore):
    """A store whose first fused step is applied, and not answered."""

    answers = False

    def complete_and_acquire(self, end: End, following: AcquireNext) -> FusedAnswer:
        answer = super().complete_and_acquire(end, following)
        if not self.answers:
            self.answers = True
            raise OutcomeUnknownError("complete and acquire next", "no answer")
        return answer


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(postgres_store_url: str, clock: FakeClock) -> Iterator[PostgresStore]:
    store = open_store(postgres_store_url, clock=clock)
    assert isinstance(store, PostgresStore)
    store._short_way.clock = clock.monotonic
    yield store
    store.close()


def got(lease: Lease | None) -> Lease:
    assert lease is not None
    return lease


def at_work(one: SourceCoordinator, clock: FakeClock) -> Lease:
    """Return a lease beside which a crashed partition waits, and nothing new."""
    one.create_partitions(["crashed", "held"])
    one.renew(got(one.get_next_partition()))
    clock.advance(timedelta(hours=1))
    return got(one.acquire_partition("held"))


def test_a_fused_step_that_missed_is_followed_by_a_query(store: PostgresStore, clock: FakeClock) -> None:
    one = SourceCoordinator(store, "s", "h/d/r/t/0/1", clock=clock)
    held = at_work(one, clock)
    assert got(one.complete_and_get_next(held)).key == "crashed"


def test_so_is_one_whose_answer_was_lost(store: PostgresStore, clock: FakeClock) -> None:
    one = SourceCoordinator(store, "s", "h/d/r/t/0/1", clock=clock)
    held = at_work(one, clock)
    deaf = SourceCoordinator(Silent(store), "s", "h/d/r/t/0/1", clock=clock)
    assert got(deaf.complete_and_get_next(held)).key == "crashed"


def test_after_a_fused_step_that_missed_nothing_may_be_left(store: PostgresStore, clock: FakeClock) -> None:
    one = SourceCoordinator(store, "s", "h/d/r/t/0/1", clock=clock)
    one.create_partitions(["a"])
    assert one.complete_and_get_next(got(one.get_next_partition())) is None
    assert one.looking.outlook().completed == 1


def test_a_hint_at_an_expired_lease_takes_it_over(store: PostgresStore, clock: FakeClock) -> None:
    one = SourceCoordinator(store, "s", "h/d/r/t/0/1", clock=clock)
    one.create_partitions(["a"])
    one.renew(got(one.get_next_partition()))
    clock.advance(timedelta(hours=1))
    [hint] = one.claimable()
    assert got(one.get_next_partition(hint=hint)).fence.token == 2
