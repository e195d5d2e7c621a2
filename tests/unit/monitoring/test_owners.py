"""Who holds what."""

from dataclasses import replace
from datetime import timedelta

import pytest

from airflow_coordination.leases import InvalidInputError, InvalidKeyError, Owner, PartitionStatus, SourceCoordinator
from airflow_coordination.monitoring.owners import owners
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.testing.clock import START
from airflow_coordination.testing.forwarding import ForwardingStore
from airflow_coordination.values.fence import TaskInstance
from airflow_coordination.values.names import compose_source

MINUTE = timedelta(minutes=1)
TASK = Owner.of_task("node 7", "flights/eu", "manual__2026", "process", 3, 2).text
SOURCE = compose_source("flights", None, "PARTITION")


@pytest.fixture
def store(clocked):
    return clocked


@pytest.fixture
def join(store, clock):
    """Return a coordinator by its owner."""

    def join(owner):
        return SourceCoordinator(store, "flights", owner, ownership_timeout=10 * MINUTE, clock=clock)

    return join


@pytest.fixture
def task(join):
    coordinator = join(TASK)
    coordinator.create_partitions([f"k{number}" for number in range(5)])
    return coordinator


def test_nobody_holds_anything(task, store):
    found = owners(store, SOURCE)
    assert (found.source, found.now, found.held, found.after) == (SOURCE, START, (), None)


def test_a_task_instance_by_its_parts(task, store):
    lease = task.acquire_partition("k2")
    [held] = owners(store, SOURCE).held
    assert (held.key, held.owner, held.fence) == ("k2", TASK, lease.fence)
    assert held.task == TaskInstance("node 7", "flights/eu", "manual__2026", "process", "3", "2")


def test_an_owner_that_is_no_task(task, join, store):
    join("ana's notebook").acquire_partition("k0")
    [held] = owners(store, SOURCE).held
    assert (held.owner, held.task) == ("ana's notebook", None)


def test_the_lease_and_what_is_left_of_it(task, store, clock):
    lease = task.acquire_partition("k0")
    clock.advance(4 * MINUTE)
    [held] = owners(store, SOURCE).held
    assert (held.since, held.wrote_at, held.heard) == (START, START, False)
    assert (held.expires_at, held.left, held.expired) == (START + 10 * MINUTE, 6 * MINUTE, False)
    task.renew(lease)
    [held] = owners(store, SOURCE).held
    assert (held.since, held.wrote_at, held.heard) == (START, START, True)
    assert held.left == 10 * MINUTE


class OlderCode(ForwardingStore):
    """A store as code of before leaves it, which does not write when it acquires: nothing, or what was there."""

    acquired_at = None

    def page(self, *place, **named):
        return [replace(each, acquired_at=self.acquired_at) for each in super().page(*place, **named)]


def test_since_when(task, store, clock):
    lease = task.acquire_partition("k0")
    clock.advance(MINUTE)
    task.save_progress_state(lease, {"row": 1})
    [held] = owners(store, SOURCE).held
    assert (held.since, held.wrote_at, held.heard) == (START, START + MINUTE, True)


def test_what_the_driver_says_of_itself(task, store):
    task.describe_owner(application="app-1")
    task.acquire_partition("k0")
    assert owners(store, SOURCE).held[0].facts["application"] == "app-1"


def test_a_beginning_that_writes_have_hidden_is_not_made_up(task, store, clock):
    lease = task.acquire_partition("k0")
    clock.advance(MINUTE)
    task.save_progress_state(lease, {"row": 1})
    [held] = owners(OlderCode(store), SOURCE).held
    assert (held.since, held.wrote_at, held.heard) == (None, START + MINUTE, True)


def test_who_took_it_over_has_held_it_since_the_end_of_the_tenure_before(task, join, store, clock):
    task.renew(task.acquire_partition("k0"))
    clock.advance(11 * MINUTE)
    other = join("other")
    lease = other.acquire_partition("k0")
    clock.advance(MINUTE)
    other.save_progress_state(lease, {"row": 1})
    assert owners(store, SOURCE).held[0].since == START + 11 * MINUTE
    [held] = owners(OlderCode(store), SOURCE).held
    assert (held.owner, held.since, held.wrote_at) == ("other", START + 11 * MINUTE, START + 12 * MINUTE)


def test_an_ending_before_does_not_tell_when_this_tenure_began(task, store, clock):
    task.give_up(task.acquire_partition("k0"))
    clock.advance(MINUTE)
    task.save_progress_state(task.acquire_partition("k0"), {"row": 1})
    older = OlderCode(store)
    assert owners(older, SOURCE).held[0].since is None
    older.acquired_at = START - MINUTE
    assert owners(older, SOURCE).held[0].since is None


def test_what_older_code_has_left_is_not_the_next_owners(task, store, clock):
    """A person ended the tenure, and took a token for that: the last ending is not at the token before."""
    task.describe_owner(application="app-1")
    task.acquire_partition("k0")
    clock.advance(MINUTE)
    task.people.release("k0", by="ana", why="test")
    task.save_progress_state(task.acquire_partition("k0"), {"row": 1})
    older = OlderCode(store)
    older.acquired_at = START
    [held] = owners(older, SOURCE).held
    assert (held.since, held.facts) == (None, {})


def test_a_lease_that_has_ended_is_shown_until_somebody_takes_it(task, store, clock):
    task.acquire_partition("k0")
    clock.advance(10 * MINUTE)
    [held] = owners(store, SOURCE).held
    assert (held.left, held.expired) == (timedelta(0), True)
    task.sweep()
    assert owners(store, SOURCE).held == ()


def test_page_by_page(task, store):
    for key in ("k0", "k2", "k3"):
        task.acquire_partition(key)
    first = owners(store, SOURCE, limit=2)
    assert ([held.key for held in first.held], first.after) == (["k0", "k2"], "k2")
    last = owners(store, SOURCE, limit=2, after=first.after)
    assert ([held.key for held in last.held], last.after) == (["k3"], None)
    assert owners(store, SOURCE, limit=3).after is None


def test_who_runs_the_supplier(task, store):
    seen = []

    def supplier(state):
        seen.append(owners(store, compose_source("flights", None, "GLOBAL_STATE")))
        return ["new"]

    task.run_supplier(supplier)
    assert [held.owner for held in seen[0].held] == [TASK]


@pytest.mark.parametrize("limit", [0, -1, True])
def test_a_limit_that_is_none(store, limit):
    with pytest.raises(InvalidInputError, match="is not a number of partitions"):
        owners(store, SOURCE, limit)


def test_a_key_that_cannot_be(store):
    with pytest.raises(InvalidKeyError, match="after="):
        owners(store, SOURCE, after="a\x00")


def test_what_other_software_has_written_may_lack_almost_all(store, monkeypatch):
    bare = Partition(source=SOURCE, key="k0", status=PartitionStatus.ASSIGNED)
    monkeypatch.setattr(store, "page", lambda *_: [bare])
    [held] = owners(store, SOURCE).held
    assert (held.owner, held.task, held.fence, held.since, held.expires_at) == ("", None, None, None, None)
    assert (held.left, held.expired) == (None, False)
