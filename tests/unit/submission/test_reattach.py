"""What a retry does about a driver elsewhere that outlived the try before."""

from datetime import timedelta

import pytest

from airflow_coordination.leases import Fence, Outcome, Owner, PartitionStatus, Settings, SourceCoordinator
from airflow_coordination.stores import open_store
from airflow_coordination.submission.cluster_mode import LONGEST_WAIT_FOR_END, Reattachment
from airflow_coordination.submission.lease_choice import Done, LeaseChoice
from airflow_coordination.submission.task_instance import TaskMemory
from airflow_coordination.testing.clock import FakeClock


class TaskStateStore(dict):
    """Airflow's task state store, as far as a task sees it."""

    set = dict.__setitem__


class Cluster:
    """What the cluster says of the driver of an earlier try."""

    def __init__(self):
        self.name, self.status, self.ended, self.forgotten = None, "RUNNING", 0, False

    def recall(self):
        return self.name is not None

    def forget(self):
        self.forgotten = True

    def is_active(self):
        if self.status is None:
            raise RuntimeError("the cluster does not answer")
        return self.status == "RUNNING"

    def has_succeeded(self):
        return self.status == "FINISHED"

    def end(self):
        self.ended += 1


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def as_try(clock):
    """Return the coordinator of one try; all share a store."""
    store = open_store("memory://", clock=clock)

    def make(try_number):
        owner = Owner.of_task("host", "dag", "run", "task", 0, try_number).text
        return SourceCoordinator(store, "flights", owner, settings=Settings(retry_delay=timedelta(0)), clock=clock)

    make(1).create_partitions(["a", "b"])
    return make


@pytest.fixture
def cluster():
    return Cluster()


class Retry:
    """The second try, and what it finds."""

    def __init__(self, as_try, cluster):
        self.first, self.coordinator, self.cluster = as_try(1), as_try(2), cluster
        self.state = TaskStateStore()
        self.memory = TaskMemory({"task_state_store": self.state})
        self.pauses, self.on_pause = 0, lambda: None
        self.lease = self.first.get_next_partition(hint="a")
        self.memory.remember("a", self.lease.fence)

    def begin(self):
        """Let the driver of the first try begin."""
        self.lease = self.first.begin("a", self.lease.fence)

    def forget(self):
        """Lose Airflow's task state store."""
        self.state.clear()

    def pause(self, seconds):
        self.pauses += 1
        self.on_pause()

    def adopt(self, try_number=2):
        return Reattachment(self.coordinator, self.memory, self.cluster, self.pause).adopt(try_number)

    def choose(self):
        return LeaseChoice(self.coordinator, self.memory, "b", "explain").choose(2)


@pytest.fixture
def retry(as_try, cluster):
    return Retry(as_try, cluster)


def test_a_first_try_has_nothing_to_adopt(retry, cluster):
    retry.forget()
    assert retry.adopt(try_number=1) is None
    assert cluster.forgotten, "a name that an earlier run left would be taken for this one's"


def test_nor_has_a_cleared_one_that_had_told_its_end(retry, cluster):
    retry.memory.remember("a", retry.lease.fence, reported=True)
    cluster.name = "driver-1"
    assert retry.adopt() is None
    assert cluster.forgotten


@pytest.mark.parametrize("begun", [True, False], ids=["begun", "waiting in the cluster's queue"])
def test_l2_a_driver_that_runs_is_adopted_with_its_tenure(retry, cluster, begun):
    cluster.name = "driver-1"
    if begun:
        retry.begin()
    lease = retry.adopt()
    assert (lease.key, lease.fence) == ("a", retry.lease.fence)
    assert retry.coordinator.partition("a").owner.endswith("/2")
    assert not cluster.forgotten
    retry.coordinator.renew(lease)


def test_in_a_drain_the_tenure_it_has_come_to_is_adopted(retry, cluster):
    cluster.name = "driver-1"
    retry.begin()
    following = retry.first.complete_and_get_next(retry.lease)
    assert retry.adopt().fence == following.fence
    assert retry.memory.recall()["key"] == "b"


def test_one_that_has_ended_its_tenure_may_leave_by_itself(retry, cluster):
    cluster.name = "driver-1"
    retry.begin()
    retry.first.complete(retry.lease)
    retry.on_pause = lambda: setattr(cluster, "status", "FINISHED")
    assert retry.adopt() is None
    assert (retry.pauses, cluster.ended, cluster.forgotten) == (1, 0, True)
    assert isinstance(retry.choose(), Done)


def test_one_that_does_not_leave_is_not_waited_for_for_ever(retry, cluster):
    cluster.name = "driver-1"
    retry.begin()
    retry.first.complete(retry.lease)
    assert retry.adopt() is None
    assert retry.pauses * 2 == LONGEST_WAIT_FOR_END


def test_one_whose_lease_was_taken_is_ended_before_the_retry_goes_on(retry, cluster):
    cluster.name = "driver-1"
    retry.begin()
    retry.first.people.release("a", by="ana", why="moved")
    retry.on_pause = lambda: setattr(cluster, "status", "KILLED")
    assert retry.adopt() is None
    assert (cluster.ended, cluster.forgotten) == (1, True)
    assert retry.choose().fence.token == 3  # the release took one


def test_l2_one_that_died_meanwhile_is_retaken_from(retry, cluster):
    cluster.name, cluster.status = "driver-1", "FAILED"
    retry.begin()
    assert retry.adopt() is None
    lease = retry.choose()
    assert (lease.key, lease.fence.token) == ("a", 2)
    assert retry.coordinator.partition("a").endings[-1].outcome is Outcome.RETAKEN


def test_a_foreign_job_that_succeeded_meanwhile_is_adopted_for_its_end(retry, cluster):
    cluster.name, cluster.status = "driver-1", "FINISHED"
    lease = retry.adopt()
    retry.coordinator.complete(lease)
    assert retry.coordinator.partition("a").status is PartitionStatus.COMPLETED


def test_a_program_of_ours_that_succeeded_without_an_ending_is_retaken_from(retry, cluster):
    cluster.name, cluster.status = "driver-1", "FINISHED"
    retry.begin()
    assert retry.adopt() is None
    assert retry.choose().fence.token == 2


def test_a_cluster_that_cannot_be_asked_keeps_the_retry_from_submitting_beside_a_running_lease(retry, cluster):
    cluster.name, cluster.status = "driver-1", None
    with pytest.raises(RuntimeError, match="does not answer"):
        retry.adopt()
    assert retry.coordinator.partition("a").held_under(retry.lease.fence)


@pytest.mark.parametrize("over", ["ended", "run out"])
def test_but_not_once_the_lease_is_over(retry, cluster, clock, over):
    cluster.name, cluster.status = "driver-1", None
    if over == "ended":
        retry.first.give_up(retry.lease)
    else:
        clock.advance(timedelta(hours=1))
    assert retry.adopt() is None
    assert retry.choose().key == "a"


def test_without_its_name_a_driver_that_began_is_waited_for_in_the_store(retry, cluster):
    retry.begin()
    retry.forget()
    retry.on_pause = lambda: retry.first.complete(retry.lease)
    assert retry.adopt() is None
    assert retry.pauses == 1
    assert isinstance(retry.choose(), Done), "and no other work is taken"


def test_without_its_name_one_whose_lease_runs_out_is_retaken_from(retry, cluster, clock):
    retry.begin()
    retry.forget()
    retry.on_pause = lambda: clock.advance(timedelta(minutes=6))  # the adoption has renewed once
    assert retry.adopt() is None
    lease = retry.choose()
    assert (lease.key, lease.fence.token) == ("a", 2)


def test_without_its_name_one_that_has_not_begun_is_retaken_from_at_once(retry, cluster):
    retry.forget()
    assert retry.adopt() is None
    assert retry.pauses == 0
    assert retry.choose().fence == Fence(2, retry.coordinator.partition("a").nonce)
