"""Which partition a task instance works on, try by try."""

from datetime import timedelta

import pytest

from airflow_coordination.hooks.task_errors import PartitionFailedError
from airflow_coordination.leases import Owner, PartitionStatus, Place, Settings, SourceCoordinator
from airflow_coordination.submission.lease_choice import Done, LeaseChoice
from airflow_coordination.submission.task_instance import TaskMemory
from airflow_coordination.values.program import TYPED


class TaskStateStore(dict):
    """Airflow's task state store, as far as a task sees it."""

    set = dict.__setitem__


@pytest.fixture
def state():
    return TaskStateStore()


@pytest.fixture
def attempt(store, state):
    """Make the choice of one try; return its coordinator, its memory and what it chose."""

    def make(try_number, hint=None, on_clear="explain", map_index=0, places=1, further=None, airflow=None):
        owner = Owner.of_task("host", "dag", "run", "task", map_index, try_number, Place(airflow)).text
        coordinator = SourceCoordinator(store, "flights", owner, settings=Settings(max_failures=2))
        memory = TaskMemory({"task_state_store": state})
        choice = LeaseChoice(coordinator, memory, hint, on_clear, places)
        chosen = choice.choose(try_number)
        if further is not None:
            further.extend(choice.further)
        return coordinator, memory, chosen

    return make


@pytest.fixture(autouse=True)
def flights(store):
    coordinator = SourceCoordinator(store, "flights", "test")
    coordinator.create_partitions(["a", "b", "c"])
    return coordinator


def test_the_hint_is_tried_first_then_the_order(attempt):
    _, _, lease = attempt(1, hint="b")
    assert lease.key == "b"
    _, _, lease = attempt(1, hint="b", map_index=1)
    assert lease.key in ("a", "c")


def test_nothing_to_acquire_is_none(attempt, flights):
    for key in "abc":
        flights.complete(flights.acquire_partition(key))
    assert attempt(1)[2] is None


def test_a_retry_retakes_its_own_partition_at_once(attempt):
    _, memory, lease = attempt(1, hint="b")
    memory.remember(lease.key, lease.fence)
    _, _, again = attempt(2, hint="b")
    assert again.key == "b"
    assert again.fence.token == lease.fence.token + 1


def test_a_retry_finds_its_own_partition_even_if_nothing_was_remembered(attempt):
    _, _, lease = attempt(1, hint="b")
    assert attempt(2, hint="a")[2].key == lease.key


def test_a_retry_takes_all_that_the_try_before_held_whichever_was_remembered(attempt, flights):
    coordinator, memory, lease = attempt(1, hint="b", places=3)
    others = [coordinator.get_next_partition(), coordinator.get_next_partition()]
    memory.remember(lease.key, lease.fence)
    further = []
    _, _, first = attempt(2, hint="a", places=3, further=further)
    held = {each.key: each.fence.token for each in (first, *further)}
    assert held == {each.key: each.fence.token + 1 for each in (lease, *others)}


def test_what_a_retry_has_no_place_for_is_free_for_others(attempt, flights):
    coordinator, memory, lease = attempt(1, hint="b", places=3)
    coordinator.get_next_partition(), coordinator.get_next_partition()
    memory.remember(lease.key, lease.fence)
    further = []
    attempt(2, places=2, further=further)
    assert len(further) == 1
    assert (flights.counts()[PartitionStatus.ASSIGNED], flights.counts()[PartitionStatus.UNASSIGNED]) == (2, 1)


def test_a_first_try_takes_one_and_its_driver_the_others(attempt, flights):
    further = []
    attempt(1, hint="b", places=3, further=further)
    assert (further, flights.counts()[PartitionStatus.ASSIGNED]) == ([], 1)


def test_a_retry_learns_that_its_partition_is_done(attempt):
    coordinator, memory, lease = attempt(1, hint="b")
    memory.remember(lease.key, lease.fence)
    coordinator.complete(lease)
    _, _, done = attempt(2, hint="b")
    assert isinstance(done, Done)
    assert done.message.startswith("Partition 'b' is done: completed")


def test_a_retry_never_takes_other_work(attempt, flights):
    coordinator, memory, lease = attempt(1, hint="b")
    memory.remember(lease.key, lease.fence)
    coordinator.fail(lease, "no memory")
    with pytest.raises(PartitionFailedError) as refused:
        attempt(2, hint="b")
    assert refused.value.available_at == flights.partition("b").available_at
    assert "it cannot be acquired (no memory)" in str(refused.value)
    assert flights.counts()[PartitionStatus.ASSIGNED] == 0


def test_a_retry_is_told_when_another_owner_has_its_partition(attempt, flights):
    coordinator, memory, lease = attempt(1, hint="b")
    memory.remember(lease.key, lease.fence)
    coordinator.give_up(lease)
    flights.acquire_partition("b")
    with pytest.raises(PartitionFailedError, match="'test' works on it since this task's last try") as refused:
        attempt(2, hint="b")
    assert refused.value.available_at == flights.partition("b").ownership_timeout


def test_a_retry_learns_that_another_owner_has_finished_this_pass(attempt, flights):
    coordinator, memory, lease = attempt(1, hint="b")
    memory.remember(lease.key, lease.fence)
    coordinator.give_up(lease)
    flights.close(flights.acquire_partition("b"), reopen_after=timedelta(hours=8))
    assert isinstance(attempt(2, hint="b")[2], Done)


def test_a_retry_is_told_that_its_partition_is_parked(attempt):
    for try_number in (1, 2):
        coordinator, memory, lease = attempt(try_number, hint="b")
        memory.remember(lease.key, lease.fence)
        coordinator.fail(lease, "no memory", retry_after=timedelta(0))
    with pytest.raises(PartitionFailedError, match=f"parked until a person acts: {TYPED} reopen flights b --"):
        attempt(3, hint="b")


def test_clearing_a_finished_instance_says_how_to_reset_its_partition(attempt):
    coordinator, memory, lease = attempt(1, hint="b")
    coordinator.complete(lease)
    memory.remember(lease.key, lease.fence, reported=True)
    _, _, done = attempt(2, hint="b")
    assert isinstance(done, Done)
    assert f"{TYPED} reset flights b --why" in done.message


def test_clearing_can_reset_its_partition(attempt, store, flights):
    coordinator, memory, lease = attempt(1, hint="b")
    coordinator.complete(lease)
    memory.remember(lease.key, lease.fence, reported=True)
    _, _, again = attempt(2, hint="b", on_clear="reset")
    assert (again.key, again.partition.failures) == ("b", 0)
    [action] = store.audit(again.partition.source, "b")
    assert "cleared" in str(action)


def test_a_task_that_gave_its_partition_up_takes_it_again(attempt):
    coordinator, memory, lease = attempt(1, hint="b")
    memory.remember(lease.key, lease.fence)
    coordinator.give_up(lease)
    assert attempt(2, hint="a")[2].key == "b"


def test_e6_a_retry_leaves_the_lease_of_its_namesake_in_another_airflow_alone(attempt, state, flights):
    theirs = attempt(1, hint="b", airflow="production")[2]
    coordinator, _, mine = attempt(2, hint="b", airflow="staging")
    assert mine.key != "b"
    assert [each.key for each in coordinator.tries.held_by_task()] == [mine.key]
    assert coordinator.tries.retake("b") is None
    assert flights.partition("b").held_under(theirs.fence)
    assert attempt(2, airflow="production")[2].key == "b"  # its own


def test_e6_a_retry_takes_over_from_older_code_as_before(attempt):
    lease = attempt(1, hint="b")[2]  # an owner without the name of an Airflow
    _, _, again = attempt(2, hint="a", airflow="production")
    assert (again.key, again.fence.token) == ("b", lease.fence.token + 1)


def test_e6_clearing_resets_no_partition_that_somebody_else_works_on(attempt, flights):
    coordinator, memory, lease = attempt(1, hint="b", airflow="production")
    coordinator.close(lease, timedelta(0))
    memory.remember(lease.key, lease.fence, reported=True)
    flights.sweep()
    owner = Owner.of_task("host", "dag", "run", "task", 0, 1, Place("staging")).text
    theirs = SourceCoordinator(flights.store, "flights", owner).acquire_partition("b")
    with pytest.raises(PartitionFailedError, match="of Airflow 'staging' works on it since this task's last try"):
        attempt(2, on_clear="reset", airflow="production")
    assert flights.partition("b").held_under(theirs.fence)
    flights.people.release("b", by="ana", why="it is dead")
    assert attempt(2, on_clear="reset", airflow="production")[2].key == "b"
