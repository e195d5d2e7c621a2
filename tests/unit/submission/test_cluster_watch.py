"""What a task learns from the store of a driver elsewhere, and when it has the cluster end it."""

import os
import subprocess
import sys
import textwrap
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_coordination.leases import Outcome, Owner, Settings, SourceCoordinator
from airflow_coordination.stores import open_store
from airflow_coordination.submission.cluster_watch import ClusterWatch


@pytest.fixture
def as_try(store):
    def make(try_number=1, task="task"):
        owner = Owner.of_task("host", "dag", "run", task, 0, try_number).text
        return SourceCoordinator(store, "flights", owner, settings=Settings(retry_delay=timedelta(0)))

    make().create_partitions(["a", "b"])
    return make


@pytest.fixture
def ended():
    return []


@pytest.fixture
def watching(as_try, ended):
    """Return a coordinator, the lease that its task acquired, and the watch over it."""

    def make(several=False, **more):
        coordinator = as_try()
        lease = coordinator.get_next_partition(hint="a")
        return coordinator, lease, ClusterWatch(coordinator, lease, lambda: ended.append(True), several=several, **more)

    return make


def test_the_task_renews_until_the_store_shows_that_the_driver_began(watching, ended):
    coordinator, lease, watch = watching()
    watch.look()
    assert not watch.began
    coordinator.renew(lease)
    watch.look()
    assert not watch.began, "a renewal is the task's own"
    coordinator.begin("a", lease.fence)
    watch.look()
    assert (watch.began, watch.lost, ended) == (True, None, [])


def test_an_adopted_tenure_whose_driver_began_is_not_renewed(as_try, watching):
    coordinator, lease, _ = watching()
    coordinator.begin("a", lease.fence)
    adopted = as_try(2).tries.adopt("a", lease.fence)
    with ClusterWatch(as_try(2), adopted, lambda: None, several=False) as watch:
        assert watch.began
        assert not watch._heartbeat._beats.is_alive()


@pytest.mark.parametrize("end", ["complete", "close", "fail", "give_up"])
def test_what_the_driver_ended_is_no_loss(watching, ended, end):
    coordinator, lease, watch = watching()
    lease = coordinator.begin("a", lease.fence)
    arguments = {"close": [timedelta(hours=1)], "fail": ["out of luck"]}.get(end, [])
    getattr(coordinator, end)(lease, *arguments)
    watch.look()
    assert (watch.lost, ended) == (None, [])


def test_what_somebody_else_ended_is_lost_and_ends_the_driver(watching, ended, as_try):
    coordinator, lease, watch = watching()
    coordinator.begin("a", lease.fence)
    coordinator.people.release("a", by="ana", why="moved")
    watch.look()
    assert watch.lost.ending.outcome is Outcome.RELEASED
    assert ended == [True]


def test_a_later_try_that_retakes_ends_the_driver_of_the_one_before(watching, ended, as_try):
    coordinator, lease, watch = watching()
    coordinator.begin("a", lease.fence)
    as_try(2).tries.retake("a")
    watch.look()
    assert watch.lost.ending.outcome is Outcome.RETAKEN
    assert ended == [True]


@pytest.mark.parametrize("done", [False, True], ids=["working", "done"])
def test_a_second_driver_of_the_same_submission_is_followed(watching, ended, as_try, done):
    coordinator, lease, watch = watching()
    coordinator.begin("a", lease.fence)
    watch.look()
    second = as_try().begin("a", lease.fence)
    if done:
        as_try().complete(second)
    watch.look()
    assert (watch.lost, ended, watch.tenures.current) == (None, [], ("a", second.fence))


def test_further_tenures_of_a_drain_are_seen(watching, ended):
    coordinator, lease, watch = watching(several=True)
    lease = coordinator.begin("a", lease.fence)
    following = coordinator.complete_and_get_next(lease)
    watch.look()
    assert watch.tenures.current == ("b", following.fence)
    assert watch.tenures.done == ("a",)
    coordinator.complete(following)
    watch.look()
    assert (watch.lost, ended) == (None, [])


@pytest.fixture
def three(as_try, watching):
    """A driver at work on three partitions at a time."""
    as_try().create_partitions(["c"])
    coordinator, lease, watch = watching(several=True, places=3)
    leases = [coordinator.begin("a", lease.fence), coordinator.get_next_partition(), coordinator.get_next_partition()]
    watch.look()
    return coordinator, {each.key: each for each in leases}, watch


def test_all_tenures_at_a_time_are_seen(three):
    coordinator, leases, watch = three
    assert watch.began
    assert watch.tenures.open == {key: lease.fence for key, lease in leases.items()}
    coordinator.complete(leases["c"])
    coordinator.fail(leases["a"], "out of luck")
    watch.look()
    assert watch.tenures.open == {"b": leases["b"].fence}
    assert watch.tenures.summary() == {"completed": 1, "failed": 1, "partitions": ["c"], "more": 0}


def test_one_that_somebody_else_ended_does_not_end_the_driver_of_the_others(three, ended):
    coordinator, leases, watch = three
    coordinator.people.release("a", by="ana", why="moved")
    watch.look()
    assert (watch.lost, ended) == (None, [])
    coordinator.complete(leases["b"])
    coordinator.complete(leases["c"])
    watch.look()
    assert watch.lost.ending.outcome is Outcome.RELEASED
    assert ended == [True]


def test_a_driver_between_its_tenures_has_lost_nothing(three, ended):
    coordinator, leases, watch = three
    for lease in leases.values():
        coordinator.complete(lease)
    watch.look()
    assert (watch.lost, ended, sorted(watch.tenures.done)) == (None, [], ["a", "b", "c"])


ORPHAN = """
import os, sys, time
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.submission.cluster_watch import ClusterWatch
from airflow_coordination.stores import open_store

if os.fork():
    sys.stdin.read(1)  # until the watch is there
    os._exit(0)  # the supervisor dies
store = open_store(sys.argv[1])
coordinator = SourceCoordinator(store, "flights", "host/dag/run/task/0/1")
lease = coordinator.get_next_partition()
with ClusterWatch(coordinator, lease, lambda: print("the driver was ended", flush=True), several=False):
    print("watching", flush=True)
    time.sleep(60)
print("it went on", flush=True)
"""


def test_a_task_whose_supervisor_died_leaves_its_driver_alone(tmp_path):
    store = open_store(f"sqlite:///{tmp_path}/c.db")
    store.setup()
    coordinator = SourceCoordinator(store, "flights", "test")
    coordinator.create_partitions(["a"])
    task = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(ORPHAN), f"sqlite:///{tmp_path}/c.db"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
    )
    assert task.stdout.readline() == "watching\n"
    task.stdin.write("x")
    task.stdin.flush()
    assert task.stdout.read() == "", "its output ends when the process has left"
    task.wait()
    assert coordinator.partition("a").owner == "host/dag/run/task/0/1"
    store.close()
