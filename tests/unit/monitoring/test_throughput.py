"""What ended lately."""

from dataclasses import replace
from datetime import timedelta

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.monitoring.throughput import DAY, lately, of_rows
from airflow_coordination.stores import open_store
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.forwarding import ForwardingStore
from airflow_coordination.values.status import Outcome
from tests.unit.monitoring.past import MINUTE, NOW, ended

HOUR = timedelta(hours=1)


def test_the_rate_is_that_of_the_last_hour():
    rows = [ended(place * MINUTE) for place in range(120)]
    assert of_rows(rows, NOW, 1000).rate().per_minute == pytest.approx(1)


def test_the_rate_begins_with_the_work():
    rows = [ended(place * MINUTE, 2 * MINUTE) for place in range(8)]  # the first one was acquired 9 minutes ago
    assert of_rows(rows, NOW, 1000).rate().per_minute == pytest.approx(8 / 9)


def test_only_what_completes_is_counted():
    rows = [ended(MINUTE), ended(2 * MINUTE, outcome=Outcome.FAILED), ended(9 * MINUTE, outcome=Outcome.LOST)]
    assert of_rows(rows, NOW, 1000).rate().per_minute == pytest.approx(1 / 10)


def test_more_than_may_be_read_shortens_the_time():
    rows = [ended(place * MINUTE / 10) for place in range(100)]
    known = of_rows(rows, NOW, 100)
    assert (known.since, known.whole, len(known.past)) == (rows[-1].ended_at, False, 99)
    assert known.rate().per_minute == pytest.approx(10)
    assert of_rows(rows, NOW, 101).whole


def test_what_is_a_day_old_is_not_lately():
    assert of_rows([ended(DAY), ended(DAY - MINUTE)][::-1], NOW, 9).past == (ended(DAY - MINUTE),)


def test_nothing_ended():
    known = of_rows([], NOW, 9)
    assert (known.rate().per_minute, known.whole) == (0, True)


def test_as_many_as_may_be_read_at_one_moment_tell_no_rate():
    assert of_rows([ended(timedelta(0))] * 5, NOW, 5).rate() is None


class Forgetful(ForwardingStore):
    def parts(self):
        return replace(super().parts(), history=None)


def test_where_nobody_knows_nothing_is_made_up():
    clock = FakeClock()
    store = open_store("memory://", clock=clock)
    flights = SourceCoordinator(store, "flights", "test", clock=clock)
    flights.create_partitions(["a"])
    flights.complete(flights.get_next_partition())
    assert [each.key for each in lately(flights, clock.now()).past] == ["a"]
    assert lately(SourceCoordinator(Forgetful(store), "flights", "test", clock=clock), clock.now()) is None
