"""Asking for another worker's lease, handing it over, stealing it: what the coordinator makes of what stores say."""

from datetime import timedelta

import pytest

from airflow_coordination.leases import InvalidInputError, PartitionNotOwnedError, SourceCoordinator
from airflow_coordination.protocol.metrics import Metric
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.crash import Fault, FaultyStore
from airflow_coordination.values.status import Outcome

PATIENCE = timedelta(minutes=1)


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def store(clock):
    return FaultyStore(InMemoryStore(clock=clock), only=("write", "acquire"))


@pytest.fixture
def worker(store, clock):
    """Make a coordinator in a worker's name."""
    return lambda name: SourceCoordinator(store, "flights", name, clock=clock)


@pytest.fixture
def one(worker):
    made = worker("one")
    made.create_partitions(["a"])
    return made


@pytest.fixture
def lease(one):
    return one.acquire_partition("a")


@pytest.fixture
def two(worker, lease):
    return worker("two")


def counted(coordinator, metric):
    return sum(count for name, count in coordinator.metrics.counts.items() if name.endswith(f"_{metric}"))


def test_the_owner_hears_of_it_and_hands_over(one, two, lease):
    assert not one.renew(lease).wanted
    assert two.workers.ask(two.partition("a"), PATIENCE)
    lease = one.renew(lease)
    assert lease.wanted
    one.workers.hand_over(lease)
    assert one.partition("a").ending_of(lease.fence).outcome is Outcome.HANDED_OVER
    assert counted(one, Metric.HANDED_OVER) == 1
    assert two.get_next_partition().key == "a"


def test_what_was_heard_once_stays_so(one, two, lease):
    two.workers.ask(two.partition("a"), PATIENCE)
    one.renew(lease)
    lease = one.save_progress_state(lease, {"n": 1})
    assert lease.wanted


def test_z2_a_question_that_does_not_count_is_not_heard_until_it_does(one, two, lease):
    asked, counts = [], []
    lease.chain.heeds = lambda asker, key: bool(asked.append((asker, key)) or counts)
    two.workers.ask(two.partition("a"), PATIENCE)
    assert not one.renew(lease).wanted
    counts.append("now")
    assert lease.wanted
    counts.clear()
    assert lease.wanted, "its function may be leaving"
    assert set(asked) == {(two.owner.text, "a")}


def test_who_is_stolen_from_hands_nothing_over(one, two, lease, clock):
    seen = two.partition("a")
    assert two.workers.ask(seen, PATIENCE)
    assert two.workers.steal(seen) is None
    clock.advance(PATIENCE)
    taken = two.workers.steal(seen)
    assert (taken.key, taken.wanted) == ("a", False)
    assert (counted(two, Metric.STOLEN), counted(two, Metric.ACQUIRED)) == (1, 1)
    with pytest.raises(PartitionNotOwnedError, match="stolen"):
        one.workers.hand_over(lease)
    assert counted(one, Metric.HANDED_OVER) == 0


@pytest.mark.parametrize("fault", [Fault.APPLIED, Fault.NOT_APPLIED])
def test_s6_a_question_whose_answer_was_lost_is_asked_again(two, store, fault):
    """S6: repeated, it is refused by its own mark, and stands all the same."""
    seen = two.partition("a")
    store.faults = {len(store.calls) + 1: fault}
    assert two.workers.ask(seen, PATIENCE)
    assert two.partition("a").wanted == "two"


def test_while_one_may_still_get_it_another_is_told_no(two, worker):
    seen = two.partition("a")
    assert two.workers.ask(seen, PATIENCE)
    assert not worker("three").workers.ask(seen, PATIENCE)


def test_what_nobody_holds_is_neither_asked_for_nor_stolen(one, worker, lease, store):
    seen = one.partition("a")
    one.complete(lease)
    two = worker("two")
    assert not two.workers.ask(seen, PATIENCE)
    assert two.workers.steal(seen) is None
    one.create_partitions(["b"])
    free, made = one.partition("b"), len(store.calls)
    assert (two.workers.ask(free, PATIENCE), two.workers.steal(free), len(store.calls)) == (False, None, made)


@pytest.mark.parametrize("patience", [timedelta(0), -PATIENCE])
def test_a_time_that_is_none_is_refused(two, patience):
    with pytest.raises(InvalidInputError, match="patience"):
        two.workers.ask(two.partition("a"), patience)


def test_a_copy_of_a_refused_theft_that_arrives_late_is_given_back(one, two, lease, store, clock, monkeypatch):
    """Whoever has sent it does not know that it holds the partition."""
    sent = []
    acquire = store.acquire
    monkeypatch.setattr(store, "acquire", lambda write: sent.append(write) or acquire(write))
    seen = two.partition("a")
    assert two.workers.ask(seen, PATIENCE)
    assert two.workers.steal(seen) is None, "its time has not come"
    clock.advance(PATIENCE.total_seconds())
    monkeypatch.undo()
    [theft] = sent
    assert store.acquire(theft).applied
    clock.advance(1)
    lease = two.get_next_partition()
    assert lease is not None
    assert lease.fence.token == seen.token + 2, "the phantom's tenure is over"
    assert lease.partition.endings[-1].outcome is Outcome.GIVEN_UP
