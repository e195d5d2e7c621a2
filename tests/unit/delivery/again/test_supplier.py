"""``dead_letters_again``: a partition for each set of dead letters that stands, and no more."""

from __future__ import annotations

import pytest

from airflow_coordination.delivery.again.letters import AgainWork
from airflow_coordination.leases import InvalidInputError, SourceCoordinator
from airflow_coordination.sources import dead_letters_again
from tests.unit.delivery.again.test_letters import letters, publish, store

__all__ = ["publish", "store"]


@pytest.fixture
def again(store):
    return SourceCoordinator(store, source="flights-again", owner="me")


def keys(again) -> list[str]:
    return [each.key for each in again.partitions()]


def test_each_original_with_dead_letters_gets_one_and_gets_it_once(again, publish) -> None:
    publish("flights", "2013-01", letters("a"))
    publish("flights", "2013-02", letters("b", rows=0))
    publish("flights", "2013-03", letters("c", dataset="other"))
    publish("flights", "2013-04", letters("d"))
    run = again.run_supplier(dead_letters_again("flights", "dead"))
    assert (run.created.created, keys(again)) == (2, ["2013-01@a", "2013-04@d"])
    assert AgainWork.of_payload(again.partition("2013-04@d").payload) == AgainWork(
        source="flights", partition="2013-04", dataset="dead", letters="d", round=1
    )
    publish("flights", "2013-01", letters("e"))
    run = again.run_supplier(dead_letters_again("flights", "dead"))
    assert (run.created.created, run.created.existing) == (1, 1)
    assert keys(again) == ["2013-01@a", "2013-01@e", "2013-04@d"]


def test_what_a_round_sets_aside_is_tried_as_often_as_was_asked_for(again, publish) -> None:
    publish("flights", "2013-01", letters("a"))
    again.run_supplier(dead_letters_again("flights", "dead"))
    again.complete(again.get_next_partition(), [letters("b", 1)])
    assert again.run_supplier(dead_letters_again("flights", "dead")).created.created == 0
    assert again.run_supplier(dead_letters_again("flights", "dead", rounds=2)).created.created == 1
    assert AgainWork.of_payload(again.partition("2013-01@b").payload).round == 2


def test_they_are_of_the_time_that_the_original_is_of(store, again) -> None:
    flights = SourceCoordinator(store, source="flights", owner="me")
    flights.create_partitions(["2013-01"])
    flights.complete(flights.get_next_partition(), [letters("a")], interval="2013-01/P1M")
    again.run_supplier(dead_letters_again("flights", "dead"))
    assert again.partitions()[0].payload["interval"] == "2013-01-01/2013-02-01"


def test_one_whose_key_becomes_too_long_keeps_no_other_waiting(again, publish) -> None:
    publish("flights", "k" * 2048, letters("a"))
    publish("flights", "z", letters("b"))
    with pytest.raises(InvalidInputError, match="the limit is 2048"):
        again.run_supplier(dead_letters_again("flights", "dead"))
    assert keys(again) == ["z@b"]


def test_another_source_is_refused_by_name(store, publish) -> None:
    wrong = SourceCoordinator(store, source="letters", owner="me")
    with pytest.raises(InvalidInputError, match=r"source='letters': is not where .* Name it 'flights-again'"):
        wrong.run_supplier(dead_letters_again("flights", "dead"))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"source": ""}, "source=.*is empty"),
        ({"source": "~merged/flights"}, "begins with ~"),
        ({"source": "flights", "dataset": ""}, "dataset=.*is empty"),
        ({"source": "flights", "rounds": 0}, "rounds=0: is no whole number from 1 to 20. Give 1, or more"),
        ({"source": "flights", "rounds": True}, "rounds=True: is no whole number"),
        ({"source": "flights", "rounds": 21}, "rounds=21: is no whole number"),
    ],
)
def test_bad_input_is_refused_when_the_dag_is_read(given, told) -> None:
    with pytest.raises(InvalidInputError, match=told):
        dead_letters_again(**given)
