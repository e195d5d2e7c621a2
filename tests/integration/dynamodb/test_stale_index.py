"""An index that knows nothing of what happened since: every row it gives is old, and some are not there yet."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest

from airflow_coordination.leases import PartitionNotOwnedError, PartitionStatus, SourceCoordinator
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.status import Outcome
from tests.faults.dynamodb_client import FaultyClient
from tests.faults.dynamodb_lag import LaggingIndex
from tests.integration.dynamodb.table import SharedTable, acquired, found

S = PartitionStatus
TIMEOUT = timedelta(minutes=10)


class Latest(random.Random):
    """Draws the longest lag each time."""

    def random(self) -> float:
        return 1.0


@pytest.fixture
def index(shared: SharedTable, clock: FakeClock) -> LaggingIndex:
    """Learns of things only when it is told to catch up."""
    return LaggingIndex(shared.engine.client, shared.table, clock, Latest(), longest=timedelta(days=999))


@pytest.fixture
def owner(shared: SharedTable, index: LaggingIndex) -> SourceCoordinator:
    return shared.coordinator("owner", client=FaultyClient(shared.engine.client, index=index), seed=1)


@pytest.fixture
def other(shared: SharedTable, index: LaggingIndex) -> SourceCoordinator:
    return shared.coordinator("other", client=FaultyClient(shared.engine.client, index=index), seed=2)


def test_a_partition_the_index_does_not_know_yet_is_had_by_its_key(
    owner: SourceCoordinator, other: SourceCoordinator, index: LaggingIndex
) -> None:
    owner.create_partitions(["k"])
    assert other.get_next_partition() is None
    held = acquired(other.acquire_partition("k"))
    other.give_up(held)
    index.catch_up()
    assert acquired(other.get_next_partition()).fence.token == 2


def test_s2_what_was_taken_since_is_not_taken_again(
    owner: SourceCoordinator, other: SourceCoordinator, index: LaggingIndex
) -> None:
    owner.create_partitions(["a", "b", "c", "d"])
    index.catch_up()
    held = acquired(owner.acquire_partition("a"))
    owner.complete(acquired(owner.acquire_partition("b")))
    owner.close(acquired(owner.acquire_partition("c")), TIMEOUT)
    assert acquired(other.get_next_partition()).key == "d"
    assert other.get_next_partition() is None
    owner.complete(held)


def test_s8_a_lease_that_was_renewed_or_saved_since_is_not_taken(
    owner: SourceCoordinator, other: SourceCoordinator, index: LaggingIndex, clock: FakeClock
) -> None:
    owner.create_partitions(["renewed", "saved"])
    renewed, saved = acquired(owner.acquire_partition("renewed")), acquired(owner.acquire_partition("saved"))
    index.catch_up()
    clock.advance(TIMEOUT / 2)
    renewed, saved = owner.renew(renewed), owner.save_progress_state(saved, {"row": 1})
    clock.advance(TIMEOUT / 2)
    assert other.get_next_partition() is None
    assert other.sweep().total == 0
    owner.complete(renewed)
    owner.complete(saved)


@pytest.mark.parametrize("by", ["order", "sweep"])
def test_a_lost_lease_ends_as_its_owner_left_it_and_not_as_the_index_saw_it(
    owner: SourceCoordinator, other: SourceCoordinator, index: LaggingIndex, clock: FakeClock, by: str
) -> None:
    """The row knows no save, so by it the tenure would count no lost lease, and a save whose answer was lost none."""
    owner.create_partitions(["k"])
    held = acquired(owner.acquire_partition("k"))
    index.catch_up()
    saved = owner.save_progress_state(held, {"row": 1})
    clock.advance(TIMEOUT)
    if by == "sweep":
        assert other.sweep().reclaimed == 1
    else:
        assert acquired(other.get_next_partition()).partition.progress_state == {"row": 1}
    lost = found(other.partition("k"))
    assert lost.lost_leases == 1
    ending = lost.ending_of(held.fence)
    assert ending is not None
    assert (ending.outcome, ending.last) == (Outcome.LOST, saved.chain.last_op)
    with pytest.raises(PartitionNotOwnedError):
        owner.complete(saved)


def test_s8_what_was_closed_again_since_is_not_reopened_early(
    owner: SourceCoordinator, other: SourceCoordinator, index: LaggingIndex, clock: FakeClock
) -> None:
    owner.create_partitions(["k"])
    owner.close(acquired(owner.acquire_partition("k")), TIMEOUT / 10)
    index.catch_up()
    clock.advance(TIMEOUT / 10)
    owner.close(acquired(owner.acquire_partition("k")), TIMEOUT)
    assert other.sweep().total == 0
    assert other.get_next_partition() is None
    assert found(other.partition("k")).status is S.CLOSED
    clock.advance(TIMEOUT)
    index.catch_up()
    assert acquired(other.get_next_partition()).partition.closed_count == 2


def test_what_a_person_parked_since_is_not_taken(
    owner: SourceCoordinator, other: SourceCoordinator, index: LaggingIndex, clock: FakeClock
) -> None:
    owner.create_partitions(["closed", "new"])
    owner.close(acquired(owner.acquire_partition("closed")), TIMEOUT / 10)
    index.catch_up()
    clock.advance(TIMEOUT)
    for key in ("closed", "new"):
        owner.people.park(key, by="ana", why="wait")
    assert other.get_next_partition() is None
    assert other.sweep().total == 0
    assert all(partition.parked for partition in other.partitions())
