"""D14: a drain says why it ended, and does not end on the word of one look."""

import logging
from datetime import timedelta

import pytest

from airflow_coordination.leases import PartitionIdentifier, SourceCoordinator
from airflow_coordination.spark import draining
from airflow_coordination.spark.draining import run_to_the_end
from airflow_coordination.spark.tenure import Ended
from airflow_coordination.spark.why_ended import Why
from airflow_coordination.stores import open_store
from airflow_coordination.values.status import Outcome


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(draining, "LOOK_PAUSE", 0.0)


@pytest.fixture
def flights():
    return SourceCoordinator(open_store("memory://"), "flights", "mine")


class Course:
    """Finds nothing so many times; then completes what there is."""

    def __init__(self, coordinator, blind=0, why=Why.NOTHING):
        self.coordinator, self.blind, self.why = coordinator, blind, why
        self.looks = 0

    def run(self):
        self.looks += 1
        while self.looks > self.blind and (lease := self.coordinator.get_next_partition()) is not None:
            self.coordinator.complete(lease)
            yield Ended(key=lease.key, outcome=Outcome.COMPLETED)


def test_d14_what_one_look_does_not_find_the_next_one_does(flights):
    flights.create_partitions(["a", "b"])
    course = Course(flights, blind=2)
    endings, why, left = run_to_the_end(course, flights)
    assert ([each.key for each in endings], why, left.completed, course.looks) == (["a", "b"], Why.NOTHING, 2, 3)


def test_d14_what_is_never_found_is_said_and_ends(flights, caplog):
    flights.create_partitions(["a"])
    course = Course(flights, blind=99)
    endings, why, left = run_to_the_end(course, flights)
    assert (endings, why, left.claimable, course.looks) == ([], Why.UNREACHED, 1, draining.MOST_IN_VAIN + 1)
    [said] = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert "ends because what can be acquired was not to be had, look after look (1 can be acquired)" in said.message


@pytest.mark.parametrize("why", [Why.LIMIT, Why.STOPPED, Why.SESSION])
def test_d14_another_reason_is_said_and_nothing_is_looked_for(flights, why, caplog):
    flights.create_partitions(["a"])
    caplog.set_level(logging.INFO)
    course = Course(flights, blind=1, why=why)
    assert run_to_the_end(course, flights) == ([], why, None)
    assert f"Source 'flights': this drain ends because {why}" in caplog.text


def test_d14_what_is_left_is_told(flights, caplog):
    caplog.set_level(logging.INFO)
    flights.create_partitions(["a", "b", "c"])
    SourceCoordinator(flights.store, "flights", "other").acquire_partition("a")
    flights.people.park("b", by="ana", why="waits")
    flights.give_up(flights.acquire_partition("c"), timedelta(hours=1))
    _, why, left = run_to_the_end(Course(flights), flights)
    assert (why, left.assigned, left.waiting, left.parked) == (Why.NOTHING, 1, 1, 1)
    assert "(1 are held, 1 wait for their time, 1 parked; the next is due at " in caplog.text


def test_d14_only_blocked_partitions_and_a_pause_have_names_of_their_own(flights):
    flights.create_partitions(["a", PartitionIdentifier("b", parents=["a"])])
    flights.people.park("a", by="ana", why="waits")
    assert run_to_the_end(Course(flights), flights)[1] is Why.BLOCKED
    flights.pausing.pause(by="ana", why="an upgrade")
    assert run_to_the_end(Course(flights), flights)[1] is Why.PAUSED
