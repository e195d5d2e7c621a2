"""Work that waits and that nobody takes: what several looks see, and what the sensor concludes."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from airflow_coordination.duties.standing import observe
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.monitoring.waiting import observation
from airflow_coordination.monitoring.waiting.conclusion import OnIdle, Until, Waiting, WaitTerms, WaitVerdict
from airflow_coordination.monitoring.waiting.idleness import FRONT, IDLE_LOOKS, Idleness
from airflow_coordination.stores.dynamodb import DynamoDBOptions, DynamoDBStore
from airflow_coordination.testing.clock import FakeClock
from tests.simulation.dynamodb.engine import Engine

ENOUGH = IDLE_LOOKS + 1


@pytest.fixture
def flights(store):
    return SourceCoordinator(store, "flights", "test")


@pytest.fixture
def look(flights):
    """One look after the other, by one sensor until ``completed``."""
    waiting = Waiting(WaitTerms(Until.COMPLETED, 10))
    return lambda: waiting.conclude(observe(flights, 1024))


def verdicts(look, count, between=lambda: None):
    """Return what ``count`` looks say."""
    found = []
    for _ in range(count):
        found.append(look().verdict)
        between()
    return found


def test_e4_what_nobody_takes_ends_the_waiting_after_a_few_looks(flights, look):
    """E4: 1,500 partitions, 1,024 hints, one lease for each of the tasks that were mapped over them."""
    flights.create_partitions([f"k{number}" for number in range(1500)])
    for hint in observe(flights, 1024).hints():
        flights.complete(flights.get_next_partition(hint=hint))
    assert verdicts(look, ENOUGH) == [WaitVerdict.WAIT] * IDLE_LOOKS + [WaitVerdict.IDLE]
    message = look().message
    assert "476 can be acquired, but nobody takes them; 5 looks saw no acquisition" in message
    assert "max_leases=None" in message
    assert "on_idle='succeed'" in message


def test_b6_after_a_pause_it_says_that_the_tasks_ended_by_it(flights, look, monkeypatch):
    """The advice to drain the source (max_leases=None) was given where that was set."""
    flights.create_partitions(["a", "b"])
    flights.pausing.pause(by="ana", why="Spark is ill")
    assert verdicts(look, ENOUGH) == [WaitVerdict.WAIT] * ENOUGH
    flights.pausing.resume(by="bo", why="it is well")
    assert verdicts(look, ENOUGH) == [WaitVerdict.WAIT] * IDLE_LOOKS + [WaitVerdict.IDLE]
    message = look().message
    assert "resumed at" in message
    assert "by 'bo', who said 'it is well': tasks that found it paused have ended, and resuming it starts" in message
    assert "max_leases" not in message
    monkeypatch.setattr(observation, "LATELY", -timedelta(seconds=1))  # it was resumed long ago
    assert "max_leases=None" in look().message


def test_e4_what_was_given_up_last_is_nobodys_either(flights, look):
    """E4: a given-up partition is free, and the run's tasks are over."""
    flights.create_partitions(["a", "b"])
    flights.give_up(flights.acquire_partition("a"))
    flights.complete(flights.acquire_partition("b"))
    assert verdicts(look, ENOUGH)[-1] is WaitVerdict.IDLE


def test_e4_what_closed_itself_is_nobodys_once_it_is_due(store, flights, look):
    """E4: until it is due, the sensor waits."""
    flights.create_partitions(["a"])
    flights.close(flights.get_next_partition(), reopen_after=timedelta(hours=1))
    assert set(verdicts(look, 2 * ENOUGH)) == {WaitVerdict.WAIT}
    flights.people.reopen("a", by="test", why="test")
    assert verdicts(look, ENOUGH)[-1] is WaitVerdict.IDLE


def test_e4_it_may_succeed_or_wait_instead(flights):
    """E4: ``on_idle``; both say what was seen."""
    flights.create_partitions(["a"])
    succeed = Waiting(WaitTerms(Until.COMPLETED, 10, on_idle=OnIdle.SUCCEED))
    assert verdicts(lambda: succeed.conclude(observe(flights, 10)), ENOUGH)[-1] is WaitVerdict.READY
    assert "1 can be acquired, but nobody takes them" in succeed.conclude(observe(flights, 10)).message
    patient = Waiting(WaitTerms(Until.COMPLETED, 10, on_idle=OnIdle.WAIT))
    assert set(verdicts(lambda: patient.conclude(observe(flights, 10)), 3 * ENOUGH)) == {WaitVerdict.WAIT}


def test_e4_slow_workers_are_at_work(flights, look):
    """E4: one lease, held for ever, and everything else waits for its owner."""
    flights.create_partitions(["a", "b", "c"])
    lease = flights.get_next_partition()
    assert set(verdicts(look, 5 * ENOUGH, lambda: flights.renew(lease))) == {WaitVerdict.WAIT}


@pytest.mark.parametrize("ending", ["complete", "close", "fail", "give_up"])
def test_e4_who_starts_and_ends_between_two_looks_is_at_work(flights, look, ending):
    """E4: nobody holds a lease whenever the sensor looks, and yet the source is worked on."""
    flights.create_partitions([f"k{number:03}" for number in range(2 * FRONT)])
    ends = {
        "complete": flights.complete,
        "close": lambda lease: flights.close(lease, reopen_after=timedelta(0)),
        "fail": lambda lease: flights.fail(lease, "no memory", retry_after=timedelta(0)),
        "give_up": flights.give_up,
    }

    def work():
        ends[ending](flights.get_next_partition())

    assert WaitVerdict.IDLE not in verdicts(look, 2 * ENOUGH, work)


def test_e4_work_behind_the_front_is_seen_by_its_end(flights, look):
    """E4: an owner that takes by key, or starts at "new", takes none of the first hints."""
    keys = [f"k{number:03}" for number in range(2 * FRONT)]
    flights.create_partitions(keys)
    assert WaitVerdict.IDLE not in verdicts(
        look, 2 * ENOUGH, lambda: flights.complete(flights.acquire_partition(keys.pop()))
    )


def test_e4_new_partitions_are_no_sign_that_somebody_takes_them(flights, look):
    """E4: also when more urgent ones push the others back."""
    from airflow_coordination.leases import PartitionIdentifier

    flights.create_partitions([f"k{number:03}" for number in range(FRONT)])
    numbers = iter(range(100))

    def arrive():
        flights.create_partitions([PartitionIdentifier(f"urgent{next(numbers)}", priority=-1), f"late{next(numbers)}"])

    assert verdicts(look, ENOUGH, arrive)[-1] is WaitVerdict.IDLE


def test_e4_a_look_that_comes_because_something_is_due_is_no_evidence(flights, look):
    """E4: such looks follow one another within seconds, sooner than another run's first driver can start."""
    keys = [f"k{number}" for number in range(3 * ENOUGH)]
    flights.create_partitions([*keys, "waits"])
    for key in keys:
        flights.close(flights.acquire_partition(key), reopen_after=timedelta(hours=1))
    due = iter(keys)
    assert WaitVerdict.IDLE not in verdicts(
        look, 2 * ENOUGH, lambda: flights.people.reopen(next(due), by="test", why="another sensor reopens it")
    )
    assert verdicts(look, ENOUGH)[-1] is WaitVerdict.IDLE


@pytest.fixture
def dynamodb_clock():
    return FakeClock()


@pytest.fixture
def many_waiting(monkeypatch, dynamodb_clock):
    """A source on a simulated DynamoDB: 20 partitions are due one a minute, and no more than 5 are counted."""
    monkeypatch.setattr("airflow_coordination.stores.dynamodb.requests.PARALLEL", 1)
    monkeypatch.setattr("airflow_coordination.stores.dynamodb.index_reads.LOOK", 5)
    engine = Engine(dynamodb_clock.now)
    store = DynamoDBStore(DynamoDBOptions(table_name="t"), dynamodb_clock, client=lambda _: engine)
    store.setup()
    flights = SourceCoordinator(store, "flights", "test")
    flights.create_partitions(["free", *(f"k{number}" for number in range(20))])
    for number in range(20):
        flights.close(flights.acquire_partition(f"k{number}"), reopen_after=timedelta(minutes=number + 1))
    yield flights
    store.close()


def test_e4_a_number_that_is_not_counted_further_is_no_evidence(many_waiting, dynamodb_clock):
    """E4: each of these looks comes because a partition was due, though the number of those that wait is the same."""
    waiting = Waiting(WaitTerms(Until.COMPLETED, 10))

    def look():
        return waiting.conclude(observe(many_waiting, 1024))

    seen = verdicts(look, 3 * ENOUGH, lambda: dynamodb_clock.advance(timedelta(minutes=1)))
    assert waiting.idleness.waiting == 5
    assert set(seen) == {WaitVerdict.WAIT}
    assert verdicts(look, ENOUGH)[-1] is WaitVerdict.IDLE  # when none is due for a while


def test_e4_a_fleet_on_dynamodb_takes_from_behind_the_first(flights, look):
    """E4: its workers begin at places of their own among the first 300."""
    keys = [f"k{number:03}" for number in range(400)]
    flights.create_partitions(keys)
    behind = iter(keys[290:])
    assert WaitVerdict.IDLE not in verdicts(
        look, 2 * ENOUGH, lambda: flights.give_up(flights.acquire_partition(next(behind)))
    )


def test_e4_an_owner_whose_lease_was_just_reclaimed_was_at_work(store, flights, look):
    """E4: its task may try again; the looks are counted afresh."""
    flights.create_partitions(["a", "b"])
    assert verdicts(look, IDLE_LOOKS)[-1] is WaitVerdict.WAIT
    short = SourceCoordinator(store, "flights", "gone", ownership_timeout=timedelta(microseconds=1))
    short.get_next_partition()
    assert verdicts(look, IDLE_LOOKS + 1) == [WaitVerdict.WAIT] * (IDLE_LOOKS + 1)
    assert look().verdict is WaitVerdict.IDLE


def test_e4_what_the_looks_saw_travels_from_process_to_process(flights):
    """E4: the mode ``reschedule`` starts a process for each look."""
    flights.create_partitions(["a"])
    idleness = None
    for number in range(ENOUGH):
        waiting = Waiting(WaitTerms(Until.COMPLETED, 10), idleness)
        found = waiting.conclude(observe(flights, 10))
        idleness = Idleness.from_json(json.loads(json.dumps(waiting.idleness.to_json())))
        assert found.verdict is (WaitVerdict.WAIT if number < IDLE_LOOKS else WaitVerdict.IDLE)
    assert Idleness.from_json(None) is None
    assert Idleness.from_json({"looks": 3}) is None
