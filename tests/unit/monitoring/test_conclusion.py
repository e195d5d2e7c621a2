"""One look of the sensor at a source."""

from dataclasses import replace
from datetime import timedelta

import pytest

from airflow_coordination.duties.standing import observe
from airflow_coordination.leases import PartitionIdentifier, SettingsError, SourceCoordinator
from airflow_coordination.monitoring.waiting.conclusion import (
    Conclusion,
    OnParked,
    Until,
    Waiting,
    WaitTerms,
    WaitVerdict,
)


def look(coordinator, until, max_hints):
    """Sweep, and conclude from this look alone."""
    return Waiting(WaitTerms(until, max_hints)).conclude(observe(coordinator, max_hints))


@pytest.fixture
def flights(store):
    coordinator = SourceCoordinator(store, "flights", "test", max_failures=1)
    coordinator.supplying.register(dag_id="flights")
    return coordinator


def test_hints_come_in_the_acquisition_order(flights):
    flights.create_partitions(["b", "a", "c"])
    found = look(flights, Until.CLAIMABLE, 2)
    assert found.verdict is WaitVerdict.READY
    assert [flights.get_next_partition(hint=hint).key for hint in found.hints] == ["b", "a"]


def test_it_waits_while_an_owner_may_still_give_something_back(flights):
    flights.create_partitions(["a"])
    flights.get_next_partition()
    assert look(flights, Until.CLAIMABLE, 10).verdict is WaitVerdict.WAIT
    assert 590 < observe(flights, 10).seconds <= 600


RESUME = "nothing is acquired until `airflow coordination resume flights --why '…'`"


@pytest.mark.parametrize("until", Until)
def test_x12_it_waits_while_the_source_is_paused(flights, until):
    flights.create_partitions(["a"])
    flights.pausing.pause(by="ana", why="Spark is ill")
    waiting = Waiting(WaitTerms(until, 10))
    for _ in range(10):  # nobody takes anything, and that is no idleness
        found = waiting.conclude(observe(flights, 10))
        assert (found.verdict, found.hints) == (WaitVerdict.WAIT, [])
        assert f"by 'ana', who said 'Spark is ill': {RESUME}" in found.message
    flights.pausing.resume(by="ana", why="it is well")
    found = look(flights, Until.CLAIMABLE, 10)
    assert (found.verdict, len(found.hints)) == (WaitVerdict.READY, 1)
    assert "paused" not in found.message


@pytest.mark.parametrize("until", Until)
def test_x12_one_that_does_not_wait_says_that_the_source_is_paused(flights, until):
    flights.create_partitions(["a"])
    flights.pausing.pause(by="ana", why="Spark is ill")
    found = Waiting(WaitTerms(until, 10, wait=False)).conclude(observe(flights, 10))
    assert found.verdict is WaitVerdict.NOTHING
    assert RESUME in found.message


@pytest.mark.parametrize(
    ("until", "verdict"), [(Until.CLAIMABLE, WaitVerdict.NOTHING), (Until.COMPLETED, WaitVerdict.READY)]
)
def test_x12_a_pause_holds_nothing_up_where_nothing_is_left(flights, until, verdict):
    flights.create_partitions(["a"])
    flights.complete(flights.get_next_partition())
    flights.pausing.pause(by="ana", why="Spark is ill")
    assert look(flights, until, 10).verdict is verdict


def test_x12_the_last_looks_before_a_pause_are_no_part_of_the_idleness_after_it(flights):
    flights.create_partitions(["a"])
    waiting = Waiting(WaitTerms(Until.COMPLETED, 10))
    for _ in range(3):
        assert waiting.conclude(observe(flights, 10)).verdict is WaitVerdict.WAIT
    flights.pausing.pause(by="ana", why="why")
    waiting.conclude(observe(flights, 10))
    flights.pausing.resume(by="ana", why="why")
    verdicts = [waiting.conclude(observe(flights, 10)).verdict for _ in range(4)]
    assert verdicts == [WaitVerdict.WAIT] * 3 + [WaitVerdict.IDLE]


def test_it_reopens_what_is_due(flights):
    flights.create_partitions(["a"])
    flights.close(flights.get_next_partition(), reopen_after=timedelta(0))
    found = look(flights, Until.CLAIMABLE, 10)
    assert found.verdict is WaitVerdict.READY
    assert "swept: 1 reopened" in found.message


def test_a1_nothing_can_be_acquired_and_some_is_parked(flights):
    """A1: that is no success and no skip, and the parked ones are named with their error and the commands for them."""
    flights.create_partitions(["a", "b"])
    flights.complete(flights.acquire_partition("a"))
    flights.fail(flights.acquire_partition("b"), "no memory\nat line 3")
    found = look(flights, Until.CLAIMABLE, 10)
    assert found.verdict is WaitVerdict.PARKED
    assert "1 partitions are parked and wait for a person" in found.message
    assert "Parked: 'b' (no memory). See why with `airflow coordination show flights b`" in found.message
    assert "then `airflow coordination reopen flights b --why '…'`" in found.message


@pytest.mark.parametrize("until", Until)
def test_a1_the_first_ten_parked_partitions_are_named_by_error(flights, until):
    """A1: those with the same error stand together."""
    settings = replace(flights.settings, brake_after=0)
    flights = SourceCoordinator(flights.store, "flights", "test", settings=settings)
    keys = [f"{number:02}" for number in range(30)]
    flights.create_partitions(keys)
    for key in keys:
        flights.fail(flights.acquire_partition(key), "no file" if key == "03" else "no memory")
    found = look(flights, until, 10)
    assert found.verdict is WaitVerdict.PARKED
    first = ", ".join(f"'{number:02}'" for number in range(10) if number != 3)
    assert f"Parked: {first} (no memory); '03' (no file); and 20 more." in found.message
    assert "'10'" not in found.message


@pytest.mark.parametrize(
    ("until", "verdict"), [(Until.CLAIMABLE, WaitVerdict.NOTHING), (Until.COMPLETED, WaitVerdict.READY)]
)
def test_a1_who_ignores_parked_partitions_is_still_told_of_them(flights, until, verdict):
    """A1: by their names, in a message that is no failure."""
    flights.create_partitions(["a"])
    flights.fail(flights.get_next_partition(), "no memory")
    found = Waiting(WaitTerms(until, 10, OnParked.IGNORE)).conclude(observe(flights, 10))
    assert found.verdict is verdict
    assert "Parked: 'a' (no memory)" in found.message


def test_a1_what_can_be_acquired_is_worked_on_first(flights):
    """A1: a parked partition stops no other; the sensor at the run's end fails then. The message names it already."""
    flights.create_partitions(["a", "b"])
    flights.fail(flights.acquire_partition("a"), "no memory")
    found = look(flights, Until.CLAIMABLE, 10)
    assert found.verdict is WaitVerdict.READY
    assert "Parked: 'a' (no memory)" in found.message


def test_a1_who_does_not_wait_fails_too(flights):
    """A1: something may come later, but this run would end green."""
    flights.create_partitions(["a", "b"])
    flights.fail(flights.acquire_partition("a"), "no memory")
    flights.get_next_partition()
    impatient = Waiting(WaitTerms(Until.CLAIMABLE, 10, wait=False))
    assert impatient.conclude(observe(flights, 10)).verdict is WaitVerdict.PARKED
    flights.people.reopen("a", by="test", why="test")
    flights.complete(flights.acquire_partition("a"))
    assert impatient.conclude(observe(flights, 10)).verdict is WaitVerdict.NOTHING


def blocked(flights, *children):
    flights.create_partitions(["p", *(PartitionIdentifier(key, parents=["p"]) for key in children)])


@pytest.mark.parametrize("until", Until)
def test_what_waits_for_parents_that_are_parked_waits_for_a_person(flights, until):
    blocked(flights, "a", "b")
    flights.fail(flights.acquire_partition("p"), "no memory")
    found = look(flights, until, 10)
    assert found.verdict is WaitVerdict.PARKED
    assert "1 partitions are parked and wait for a person, and 2 wait for their parents." in found.message
    assert "1 parked, 2 blocked, 0 completed" in found.message


def test_who_ignores_parked_ones_hears_of_those_behind_them(flights):
    blocked(flights, "a")
    flights.fail(flights.acquire_partition("p"), "no memory")
    found = Waiting(WaitTerms(Until.COMPLETED, 10, OnParked.IGNORE)).conclude(observe(flights, 10))
    assert found.verdict is WaitVerdict.READY
    assert found.message.startswith("Everything is completed but what is parked, and 1 partitions behind it.")


def test_it_waits_while_a_parent_is_at_work(flights):
    blocked(flights, "a")
    flights.acquire_partition("p")
    assert look(flights, Until.CLAIMABLE, 10).verdict is WaitVerdict.WAIT
    assert look(flights, Until.COMPLETED, 10).verdict is WaitVerdict.WAIT


def test_a8_it_says_what_nobody_had_swept_and_what_is_due_next(flights):
    """A8: what is CLOSED and due stays so until somebody sweeps; the first look tells of it."""
    flights.create_partitions(["a", "b", "c"])
    leases = [flights.get_next_partition() for _ in range(3)]
    for lease, delay in zip(leases, (timedelta(0), timedelta(0), timedelta(hours=1)), strict=True):
        flights.close(lease, reopen_after=delay)
    due = flights.looking.outlook().next_due
    assert due is not None
    message = look(flights, Until.CLAIMABLE, 10).message
    assert f"next due {due.isoformat(timespec='seconds')}; swept: 2 reopened" in message
    assert "2 were overdue until this look" in message
    assert "overdue" not in look(flights, Until.CLAIMABLE, 10).message


def test_a10_the_message_says_how_many_can_be_acquired_not_how_many_hints_there_are(flights):
    """A10."""
    flights.create_partitions([f"{number:02}" for number in range(30)])
    assert "30 partitions can be acquired, 10 of them by the hints" in look(flights, Until.CLAIMABLE, 10).message


def test_until_completed(flights):
    flights.create_partitions(["a"])
    assert look(flights, Until.COMPLETED, 10).verdict is WaitVerdict.WAIT
    flights.complete(flights.get_next_partition())
    assert look(flights, Until.COMPLETED, 10).verdict is WaitVerdict.READY


def test_a_known_source_without_partitions_is_nothing_to_do(flights):
    assert look(flights, Until.CLAIMABLE, 10).verdict is WaitVerdict.NOTHING


def test_an_unknown_source_is_an_error_that_names_the_known_ones(flights, store):
    with pytest.raises(SettingsError, match=r"source='fligths': is unknown .* Did you mean 'flights'\?"):
        look(SourceCoordinator(store, "fligths", "test"), Until.CLAIMABLE, 10)


def test_it_travels_as_plain_values():
    import json

    found = Conclusion(WaitVerdict.READY, "said", ["hint"])
    assert Conclusion.from_event(json.loads(json.dumps(found.to_event()))) == found


@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("until", Until)
def test_b4_a_source_that_has_paused_itself_waits_for_a_person(flights, until, wait):
    """B4: a sensor that does not wait was skipped, and the run was green, run after run."""
    flights = SourceCoordinator(flights.store, "flights", "test", max_failures=5)
    flights.create_partitions([f"{number:02}" for number in range(12)])
    last = flights.get_next_partition()
    for _ in range(10):
        flights.fail(flights.get_next_partition(), "no table", retry_after=timedelta(days=1))
    waiting = Waiting(WaitTerms(until, 10, wait=wait))
    assert waiting.conclude(observe(flights, 10)).verdict is not WaitVerdict.PARKED, "an owner is at work"
    flights.give_up(last)
    found = waiting.conclude(observe(flights, 10))
    assert found.verdict is WaitVerdict.PARKED
    assert "has paused itself" in found.message
    assert "no table" in found.message
    ignores = Waiting(WaitTerms(until, 10, OnParked.IGNORE, wait=wait))
    assert ignores.conclude(observe(flights, 10)).verdict is (WaitVerdict.WAIT if wait else WaitVerdict.NOTHING)
