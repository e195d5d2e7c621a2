"""The store under a SourceCoordinator: what users rely on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.protocol.partition import Checkpoint, PartitionIdentifier
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import Swept
from airflow_coordination.protocol.writes import Action
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.conformance.fixtures import MINUTE, TIMEOUT, Workbench, block, owner
from airflow_coordination.values.errors import (
    PartitionNotFoundError,
    PartitionNotOwnedError,
    PartitionUpdateError,
    StoreMismatchError,
)
from airflow_coordination.values.hints import encode_hint
from airflow_coordination.values.names import GLOBAL_STATE_KEY
from airflow_coordination.values.status import Outcome, PartitionStatus
from airflow_coordination.values.times import Randomness

S = PartitionStatus
Coordinators = Callable[..., SourceCoordinator]


class SeedOrder(Randomness):
    """Never starts at "new", so that a test's order is the seed's."""

    def chance(self, probability: float) -> bool:
        """Return false."""
        return False


def acquired(lease: Lease | None) -> Lease:
    """Return a lease that must be there."""
    assert lease is not None, "nothing was acquired"
    return lease


def rows(coordinator: SourceCoordinator, store: PartitionStore, dataset: str = "clean") -> dict[str, list[str]]:
    """Return the digests a reader of ``dataset`` follows, by key."""
    found = store.heads(f"{coordinator.source}|PARTITION", dataset)
    return {head.key: [published.digest for published in head.blocks] for head in found}


class Coordinating:
    """The protocol as :class:`~airflow_coordination.leases.SourceCoordinator` speaks it."""

    @pytest.fixture
    def one(self, coordinators: Coordinators) -> SourceCoordinator:
        """Return a first worker."""
        return coordinators()

    @pytest.fixture
    def other(self, coordinators: Coordinators) -> SourceCoordinator:
        """Return another worker."""
        return coordinators(by=owner("other").text)

    def test_a_partitions_whole_way(self, one: SourceCoordinator, store: PartitionStore) -> None:
        made = one.create_partitions(["2013-01", PartitionIdentifier("2013-02", payload={"month": 2}, priority=-1)])
        assert (made.created, made.existing) == (2, 0)
        lease = acquired(one.get_next_partition())
        assert (lease.partition.key, lease.partition.payload) == ("2013-02", {"month": 2})
        lease = one.save_progress_state(lease, {"row": 900}, [block("b1")])
        lease = one.renew(lease)
        one.complete(lease, [block("b2")])
        assert rows(one, store) == {"2013-02": ["b1", "b2"]}
        assert one.counts() == {S.UNASSIGNED: 1, S.ASSIGNED: 0, S.CLOSED: 0, S.COMPLETED: 1}

    def test_the_supplier_is_asked_once_when_there_is_nothing(self, one: SourceCoordinator) -> None:
        asked = []

        def supplier(state: dict[str, Any]) -> list[str]:
            asked.append(dict(state))
            state["runs"] = state.get("runs", 0) + 1
            return ["a"] if state["runs"] == 2 else []

        assert one.get_next_partition(supplier=supplier) is None
        assert asked == [{}]
        assert acquired(one.get_next_partition(supplier=supplier)).key == "a"
        assert asked == [{}, {"runs": 1}]
        assert one.supplying.global_state() == {"runs": 2}

    def test_s10_creating_twice_is_harmless_and_changes_are_reported(self, one: SourceCoordinator) -> None:
        one.create_partitions([PartitionIdentifier("k", payload={"n": 1})])
        again = one.create_partitions([PartitionIdentifier("k", payload={"n": 2}), "new"])
        assert (again.created, again.existing, again.changed) == (1, 1, ("k",))

    def test_s10_a_stale_supplier_cannot_save_the_global_state(
        self, one: SourceCoordinator, other: SourceCoordinator, store: PartitionStore, clock: FakeClock
    ) -> None:
        global_state = Workbench(store, clock, source="flights|GLOBAL_STATE")

        def newer(state: dict[str, Any]) -> Iterator[Any]:
            yield "new"
            yield Checkpoint({"by": "other"})

        def stale(state: dict[str, Any]) -> Iterator[Any]:
            yield "old"
            global_state.act(Action.RELEASE, GLOBAL_STATE_KEY)
            assert other.run_supplier(newer).ran
            yield Checkpoint({"by": "one"})

        with pytest.raises(PartitionNotOwnedError):
            one.run_supplier(stale)
        assert one.supplying.global_state() == {"by": "other"}
        assert {partition.key for partition in one.partitions()} == {"new", "old"}

    def test_a_member_is_there_until_it_leaves_and_its_place_is_taken_again(
        self, one: SourceCoordinator, other: SourceCoordinator, store: PartitionStore
    ) -> None:
        for _ in range(2):
            memberships = [one.workers.join(3), other.workers.join(4)]
            found = {member.owner: member.capacity for member in one.workers.members()}
            for each in memberships:
                each.leave()
            assert found == {one.owner.text: 3, other.owner.text: 4}
            assert one.workers.members() == []
        assert [place.key for place in store.page("flights|WORKER", None, None, 10)] == ["worker/1", "worker/2"]

    def test_two_owners_never_hold_one_partition(self, one: SourceCoordinator, other: SourceCoordinator) -> None:
        one.create_partitions(["k"])
        acquired(one.get_next_partition())
        assert other.get_next_partition() is None
        assert other.get_next_partition(hint="k") is None
        assert other.acquire_partition("k") is None

    def test_s2_a_zombie_is_refused_by_name_and_counted_once(
        self, one: SourceCoordinator, other: SourceCoordinator, clock: FakeClock
    ) -> None:
        one.create_partitions(["k"])
        zombie = one.save_progress_state(acquired(one.get_next_partition()), 1)
        clock.advance(TIMEOUT)
        held = acquired(other.get_next_partition())
        with pytest.raises(PartitionNotOwnedError) as refused:
            one.complete(zombie, [block("zombie")])
        error = refused.value
        assert (error.key, error.held, error.current, error.owner) == ("k", zombie.fence, held.fence, other.owner.text)
        assert error.ending is not None
        assert (error.ending.outcome, error.ending.fence) == (Outcome.LOST, zombie.fence)
        assert (one.refusals, other.refusals) == (1, 0)
        other.complete(held)
        assert other.partition("k") == one.partition("k")

    def test_a_hint_falls_back_to_the_order(self, one: SourceCoordinator, other: SourceCoordinator) -> None:
        one.create_partitions(["a", "b"])
        hints = one.claimable()
        assert acquired(one.get_next_partition(hint=hints[1])).key == "b"
        one.people.release("b", by="ana", why="a test")
        assert acquired(other.get_next_partition(hint=hints[1])).key == "a"

    def test_s18_a_hint_of_another_store_is_refused(self, one: SourceCoordinator) -> None:
        with pytest.raises(StoreMismatchError, match="another-store"):
            one.get_next_partition(hint=encode_hint("another-store", "k", 1))

    def test_s7_closing_completes_at_the_maximum(self, coordinators: Coordinators, clock: FakeClock) -> None:
        one = coordinators(max_closed_count=2)
        one.create_partitions(["k"])
        one.close(acquired(one.get_next_partition()), reopen_after=timedelta(hours=8))
        closed = one.partition("k")
        assert closed is not None
        assert (closed.status, closed.closed_count) == (S.CLOSED, 1)
        assert closed.reopen_at == clock.now() + timedelta(hours=8)
        clock.advance(timedelta(hours=8))
        one.close(acquired(one.get_next_partition()), reopen_after=timedelta(hours=8))
        done = one.partition("k")
        assert done is not None
        assert (done.status, done.closed_count, done.reopen_at) == (S.COMPLETED, 2, None)

    def test_failures_wait_longer_each_time_and_park(self, coordinators: Coordinators, clock: FakeClock) -> None:
        one = coordinators(max_failures=4)
        one.create_partitions(["k"])
        for seconds in (30, 60, 120):
            one.fail(acquired(one.get_next_partition()), "OutOfMemory")
            assert one.get_next_partition() is None
            clock.advance(seconds - 1)
            assert one.get_next_partition() is None
            clock.advance(1)
        one.fail(acquired(one.get_next_partition()), "the last straw")
        parked = one.partition("k")
        assert parked is not None
        assert (parked.parked, parked.failures, parked.last_error) == (True, 4, "the last straw")
        one.people.reopen("k", by="ana", why="fixed")
        assert acquired(one.get_next_partition()).partition.failures == 0

    def test_s12_a_resumed_tenure_publishes_the_saved_blocks_once(
        self, one: SourceCoordinator, other: SourceCoordinator, store: PartitionStore, clock: FakeClock
    ) -> None:
        one.create_partitions(["k"])
        first = one.save_progress_state(acquired(one.get_next_partition()), {"row": 1}, [block("b1")])
        clock.advance(TIMEOUT)
        second = acquired(other.get_next_partition())
        assert second.partition.progress_state == {"row": 1}
        with pytest.raises(PartitionNotOwnedError):
            one.save_progress_state(first, {"row": 2}, [block("lost")])
        other.complete(second, [block("b1"), block("b2")])
        assert rows(one, store) == {"k": ["b1", "b2"]}

    def test_s12_a_new_generation_replaces_and_a_carried_over_one_adds(
        self, one: SourceCoordinator, store: PartitionStore, clock: FakeClock
    ) -> None:
        one.create_partitions(["fresh", "carried"])
        for key, state in (("fresh", None), ("carried", {"row": 1})):
            one.close(acquired(one.acquire_partition(key)), MINUTE, state=state, blocks=[block("first")])
        clock.advance(MINUTE)
        for key in ("fresh", "carried"):
            one.complete(acquired(one.acquire_partition(key)), [block("second")])
        assert rows(one, store) == {"carried": ["first", "second"], "fresh": ["second"]}

    def test_s12_appending_adds_and_reset_replaces(self, one: SourceCoordinator, store: PartitionStore) -> None:
        one.create_partitions(["appends", "replaces"])
        for mode in ("replace", "append"):
            for key in ("appends", "replaces"):
                published = block(f"{mode}-block", mode=mode if key == "appends" else "replace")
                one.complete(acquired(one.acquire_partition(key)), [published, block(mode, "rejected")])
                one.people.reset(key, by="ana", why="again")
        assert rows(one, store) == {"appends": ["replace-block", "append-block"], "replaces": ["append-block"]}
        assert rows(one, store, "rejected") == {"appends": ["append"], "replaces": ["append"]}

    def test_completing_and_getting_the_next(self, one: SourceCoordinator, store: PartitionStore) -> None:
        one.create_partitions(["a", "b", "c"])
        lease = acquired(one.complete_and_get_next(acquired(one.get_next_partition()), [block("b1")]))
        assert lease.key == "b"
        lease = acquired(one.complete_and_get_next(lease, hint=one.claimable()[0]))
        assert lease.key == "c"
        assert one.complete_and_get_next(lease) is None
        assert one.counts()[S.COMPLETED] == 3
        assert rows(one, store) == {"a": ["b1"]}

    def test_a_zombies_completing_acquires_nothing(
        self, one: SourceCoordinator, other: SourceCoordinator, clock: FakeClock
    ) -> None:
        one.create_partitions(["a", "b"])
        zombie = acquired(one.get_next_partition())
        clock.advance(TIMEOUT)
        acquired(other.acquire_partition("a"))
        with pytest.raises(PartitionNotOwnedError):
            one.complete_and_get_next(zombie)
        assert one.counts()[S.UNASSIGNED] == 1

    def test_a_driver_goes_on_and_a_second_one_takes_over(self, coordinators: Coordinators) -> None:
        task = coordinators()
        task.create_partitions(["k"])
        handed = acquired(task.get_next_partition())
        first, second = coordinators(), coordinators()
        one = first.save_progress_state(first.begin("k", handed.fence), {"row": 1})
        two = second.begin("k", handed.fence)
        assert two.fence.token == handed.fence.token + 1
        assert two.partition.progress_state == {"row": 1}
        with pytest.raises(PartitionNotOwnedError) as refused:
            first.complete(one)
        assert refused.value.ending is not None
        assert refused.value.ending.outcome is Outcome.RETAKEN
        second.complete(two)

    def test_s2_a_driver_whose_tenure_is_over_takes_nothing_from_its_successor(
        self, coordinators: Coordinators
    ) -> None:
        task = coordinators()
        task.create_partitions(["k"])
        handed = acquired(task.get_next_partition())
        task.give_up(handed)
        successor = acquired(task.get_next_partition())  # of the same task, and of the same try
        with pytest.raises(PartitionNotOwnedError):
            coordinators().begin("k", handed.fence)
        task.complete(successor)

    def test_a_retry_adopts_or_retakes_its_own_partition(self, coordinators: Coordinators) -> None:
        first, retry = coordinators(), coordinators(by=owner(try_number=2).text)
        first.create_partitions(["a", "b"])
        lease = acquired(first.get_next_partition())
        assert [partition.key for partition in retry.tries.held_by_task()] == ["a"]
        assert retry.tries.adopt("a", lease.fence)
        lease = first.save_progress_state(lease, 1)
        again = acquired(coordinators(by=owner(try_number=3).text).tries.retake("a"))
        assert again.fence.token == 2
        assert not retry.tries.adopt("a", lease.fence)
        assert coordinators(by=owner("other", try_number=9).text).tries.retake("a") is None

    def test_a_task_fails_the_tenure_of_its_dead_driver(self, coordinators: Coordinators) -> None:
        task, driver = coordinators(), coordinators()
        task.create_partitions(["k"])
        handed = acquired(task.get_next_partition())
        driver.save_progress_state(driver.begin("k", handed.fence), {"row": 1})
        assert task.tries.fail_for_dead_owner("k", handed.fence, "the JVM died")
        assert not task.tries.fail_for_dead_owner("k", handed.fence, "the JVM died")
        failed = task.partition("k")
        assert failed is not None
        assert (failed.failures, failed.last_error, failed.progress_state) == (1, "the JVM died", {"row": 1})

    def test_people_act_on_what_they_saw(self, one: SourceCoordinator) -> None:
        one.create_partitions(["k"])
        seen = one.partition("k")
        one.give_up(acquired(one.get_next_partition()))
        with pytest.raises(PartitionUpdateError, match="changed meanwhile"):
            one.people.park("k", by="ana", why="a test", seen=seen)
        assert one.people.park("k", by="ana", why="a test").parked
        with pytest.raises(PartitionUpdateError, match="release needs ASSIGNED"):
            one.people.release("k", by="ana", why="a test")
        one.people.delete("k", by="ana", why="a test")
        assert one.partition("k") is None
        with pytest.raises(PartitionNotFoundError):
            one.people.reset("k", by="ana", why="a test")

    def test_an_owner_learns_that_a_person_released_its_partition(self, one: SourceCoordinator) -> None:
        one.create_partitions(["k"])
        lease = acquired(one.get_next_partition())
        one.people.release("k", by="ana", why="a test")
        with pytest.raises(PartitionNotOwnedError) as refused:
            one.renew(lease)
        assert refused.value.ending is not None
        assert refused.value.ending.outcome is Outcome.RELEASED
        assert refused.value.owner is None

    def test_l3_sweeping_frees_what_is_due(self, one: SourceCoordinator, clock: FakeClock) -> None:
        one.create_partitions(["closed", "lost", "poison"])
        one.close(acquired(one.acquire_partition("closed")), MINUTE)
        one.renew(acquired(one.acquire_partition("lost")))
        clock.advance(TIMEOUT)
        assert one.sweep() == Swept(reopened=1, reclaimed=1)
        assert one.looking.outlook().claimable >= 1
        assert one.sweep() == Swept()
