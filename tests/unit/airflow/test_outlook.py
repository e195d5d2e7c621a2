"""One look of the sensor at a source."""

from datetime import timedelta

import pytest

from airflow_coordination.leases import SettingsError, SourceCoordinator
from airflow_coordination.sensors.outlook import Look, Sight, Until, Verdict, look


@pytest.fixture
def flights(store):
    coordinator = SourceCoordinator(store, "flights", "test", max_failures=1)
    coordinator.register(dag_id="flights")
    return coordinator


def test_hints_come_in_the_acquisition_order(flights):
    flights.create_partitions(["b", "a", "c"])
    found = look(flights, Until.CLAIMABLE, 2)
    assert found.verdict is Verdict.READY
    assert [flights.get_next_partition(hint=hint).key for hint in found.hints] == ["b", "a"]


def test_it_waits_while_an_owner_may_still_give_something_back(flights):
    flights.create_partitions(["a"])
    flights.get_next_partition()
    assert look(flights, Until.CLAIMABLE, 10).verdict is Verdict.WAIT
    assert 590 < Sight(flights, 10).seconds <= 600


def test_it_reopens_what_is_due(flights):
    flights.create_partitions(["a"])
    flights.close(flights.get_next_partition(), reopen_after=timedelta(0))
    found = look(flights, Until.CLAIMABLE, 10)
    assert found.verdict is Verdict.READY
    assert "swept: 1 reopened" in found.message


def test_nothing_can_become_claimable_names_what_is_parked(flights):
    flights.create_partitions(["a", "b"])
    flights.complete(flights.acquire_partition("a"))
    flights.fail(flights.acquire_partition("b"), "no memory")
    found = look(flights, Until.CLAIMABLE, 10)
    assert found.verdict is Verdict.NOTHING
    assert "Parked: 'b'" in found.message


def test_only_some_of_many_parked_partitions_are_named(flights):
    keys = [f"{number:02}" for number in range(30)]
    flights.create_partitions(keys)
    for key in keys:
        flights.fail(flights.acquire_partition(key), "no memory")
    found = look(flights, Until.COMPLETED, 10)
    assert found.verdict is Verdict.PARKED
    assert "'09', …" in found.message
    assert "'10'" not in found.message


def test_until_completed(flights):
    flights.create_partitions(["a"])
    assert look(flights, Until.COMPLETED, 10).verdict is Verdict.WAIT
    flights.complete(flights.get_next_partition())
    assert look(flights, Until.COMPLETED, 10).verdict is Verdict.READY


def test_a_known_source_without_partitions_is_nothing_to_do(flights):
    assert look(flights, Until.CLAIMABLE, 10).verdict is Verdict.NOTHING


def test_an_unknown_source_is_an_error_that_names_the_known_ones(flights, store):
    with pytest.raises(SettingsError, match=r"source='fligths': is unknown .* Did you mean 'flights'\?"):
        look(SourceCoordinator(store, "fligths", "test"), Until.CLAIMABLE, 10)


def test_it_travels_as_plain_values():
    import json

    found = Look(Verdict.READY, "said", ["hint"])
    assert Look.from_event(json.loads(json.dumps(found.to_event()))) == found
