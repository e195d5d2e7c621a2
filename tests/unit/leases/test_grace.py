"""``reassign_grace``: an owner that is late goes on, its task's next try takes over at once, others wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from airflow_coordination.leases import (
    CoordinationError,
    InvalidInputError,
    PartitionNotOwnedError,
    PartitionStatus,
    Reason,
    Settings,
    SourceCoordinator,
    StoreUnavailableError,
)
from airflow_coordination.leases.handover import HandOver
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.names import GLOBAL_STATE_KEY

MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)
WITH_GRACE = Settings(ownership_timeout=10 * MINUTE, reassign_grace=5 * MINUTE)
Join = Callable[[str], SourceCoordinator]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, clock: FakeClock, tmp_path: object) -> Iterator[PartitionStore]:
    store = open_store({"memory": "memory://", "sqlite": f"sqlite:///{tmp_path}/c.db"}[request.param], clock=clock)
    store.setup()
    yield store
    store.close()


@pytest.fixture
def join(store: PartitionStore, clock: FakeClock) -> Join:
    return lambda owner: SourceCoordinator(store, "flights", owner, settings=WITH_GRACE, clock=clock)


@pytest.fixture
def first(join: Join) -> SourceCoordinator:
    first = join("node-1/dag/run/task/0/1")
    first.create_partitions(["a"])
    return first


def test_an_owner_that_comes_back_late_goes_on_by_renewing(
    first: SourceCoordinator, join: Join, clock: FakeClock
) -> None:
    lease = first.get_next_partition()
    assert lease is not None
    clock.advance(15 * MINUTE - SECOND)
    assert join("other").get_next_partition() is None
    renewed = first.renew(lease)
    assert renewed.expires_at == clock.now() + 15 * MINUTE
    first.complete(first.save_progress_state(renewed, {"done": 1}))


def test_its_heartbeat_does_not_give_up_before_the_grace_is_over(first: SourceCoordinator, clock: FakeClock) -> None:
    """L7, L6: the store is away for longer than the ownership timeout, and back within the grace."""
    lease = first.get_next_partition()
    assert lease is not None
    away = [True]
    renew = first.renew

    def renewal(held: object) -> object:
        if away[0]:
            raise StoreUnavailableError("renew the lease", "it is away")
        return renew(held)  # type: ignore[arg-type]

    first.renew = renewal  # type: ignore[method-assign, assignment]
    lost: list[CoordinationError] = []
    heartbeat = first.heartbeat(lease, lost.append)
    clock.advance(14 * MINUTE)
    assert heartbeat.beat()
    away[0] = False
    assert heartbeat.beat()
    clock.advance(14 * MINUTE)
    assert heartbeat.beat()
    away[0] = True
    clock.advance(15 * MINUTE)
    assert not heartbeat.beat()
    assert len(lost) == 1


def test_it_is_renewed_as_often_as_without_a_grace() -> None:
    assert WITH_GRACE.renewal_interval == MINUTE
    assert (WITH_GRACE.lease_time, Settings().lease_time) == (15 * MINUTE, 10 * MINUTE)


def test_the_next_try_of_its_task_takes_over_at_once_and_others_after_the_grace(
    first: SourceCoordinator, join: Join, clock: FakeClock
) -> None:
    assert first.get_next_partition() is not None
    clock.advance(11 * MINUTE)
    other, again = join("node-2/dag/run/task/7/1"), join("node-2/dag/run/task/0/2")
    assert other.acquire_partition("a") is None
    assert (other.sweep().reclaimed, other.get_next_partition()) == (0, None)
    [held] = again.tries.held_by_task()
    taken = again.tries.retake(held.key)
    assert taken is not None
    clock.advance(15 * MINUTE - SECOND)
    assert other.get_next_partition() is None
    clock.advance(SECOND)
    assert other.get_next_partition() is not None
    with pytest.raises(PartitionNotOwnedError):
        again.complete(taken)


def test_who_comes_back_after_the_grace_is_refused(first: SourceCoordinator, join: Join, clock: FakeClock) -> None:
    lease = first.get_next_partition()
    assert lease is not None
    clock.advance(15 * MINUTE)
    assert join("other").get_next_partition() is not None
    with pytest.raises(PartitionNotOwnedError):
        first.renew(lease)


def test_a_driver_goes_on_with_the_same_grace(first: SourceCoordinator, clock: FakeClock) -> None:
    lease = first.get_next_partition()
    assert lease is not None
    begun = first.begin("a", lease.fence)
    assert begun.expires_at == clock.now() + 15 * MINUTE
    fields = {"source": "flights", "partition_prefix": None, "key": "a", "fence": Fence(1, "n")}
    given = HandOver(**fields, owner="me", store_id="s", settings=WITH_GRACE)
    assert HandOver.from_json(given.to_json()).settings == WITH_GRACE
    usual = HandOver(**fields, owner="me", store_id="s", settings=Settings())
    assert "reassign_grace" not in usual.to_json(), "a driver of before does not know it"


def test_suppliers_and_members_are_followed_without_a_grace(first: SourceCoordinator, clock: FakeClock) -> None:
    """A dead worker's place is no share that others wait for; a dead supplier is followed when its lease is over."""
    member = first.workers.join(1)
    try:
        [seen] = first.workers.members()
        assert seen.expires_at == clock.now() + 10 * MINUTE
    finally:
        member.leave()
    assert first.run_supplier(lambda state: []).ran
    supplier = first._core.acquirer(first._core.global_id).by_query(GLOBAL_STATE_KEY)
    assert supplier is not None
    clock.advance(MINUTE)
    assert first.renew(supplier).expires_at == clock.now() + 10 * MINUTE
    assert supplier.chain.deadline == clock.monotonic() + 600


def test_a_partition_in_grace_says_so(first: SourceCoordinator, clock: FakeClock) -> None:
    assert first.get_next_partition() is not None
    clock.advance(10 * MINUTE - SECOND)
    assert first.explain("a").reason is Reason.HELD
    clock.advance(SECOND)
    said = first.explain("a")
    assert said.reason is Reason.LATE
    assert said.sentence == (
        "Partition 'a' is held by task 'task', map index 0, try 1, of run 'run' of DAG 'dag' on host 'node-1', which "
        "should have renewed the lease by 2026-01-01T00:10:00+00:00 (0 s ago); it is in grace until "
        "2026-01-01T00:15:00+00:00 (in 5 min)."
    )
    assert str(said.next).endswith("others can acquire it from 2026-01-01T00:15:00+00:00 on.")
    assert " release flights a " in str(said.command)
    clock.advance(5 * MINUTE)
    assert first.explain("a").reason is Reason.EXPIRED


def test_only_what_is_held_is_late(first: SourceCoordinator, clock: FakeClock) -> None:
    [waits] = first.partitions(PartitionStatus.UNASSIGNED)
    assert not waits.is_late(5 * MINUTE, clock.now())


def test_a_grace_is_not_below_zero() -> None:
    with pytest.raises(InvalidInputError, match=r"reassign_grace.*-1.*Give"):
        Settings(reassign_grace=-SECOND)
