"""What is counted beside the seed's own metrics (finding A12)."""

from datetime import timedelta

import pytest

from airflow_coordination.leases import PartitionIdentifier, SourceCoordinator
from airflow_coordination.protocol.metrics import Gauge, Metric, WorkGauge, full_name
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def store(clock):
    store = InMemoryStore(clock=clock)
    store.setup()
    return store


@pytest.fixture
def flights(store):
    coordinator = SourceCoordinator(store, "flights", "test", max_failures=2, max_lost_leases=2)
    coordinator.supplying.register()
    coordinator.create_partitions(["a", "b"])
    return coordinator


def counted(coordinator, *metrics):
    return tuple(coordinator.metrics.counts.get(full_name("flights", metric), 0) for metric in metrics)


def expire(coordinator, clock, key):
    lease = coordinator.renew(coordinator.acquire_partition(key))  # an owner that never wrote loses nothing
    clock.advance(coordinator.settings.ownership_timeout + timedelta(seconds=1))
    return lease


@pytest.mark.parametrize("way", ["complete", "complete_and_get_next"])
def test_children_that_a_parent_lets_go_are_counted(flights, way):
    flights.create_partitions([PartitionIdentifier(key, parents=["a"]) for key in ("c", "d")])
    getattr(flights, way)(flights.acquire_partition("a"))
    assert counted(flights, Metric.CHILDREN_RELEASED) == (2,)
    flights.complete(flights.acquire_partition("c"))
    assert counted(flights, Metric.CHILDREN_RELEASED, Metric.HEALED) == (2, 0)


def test_of_several_that_are_behind_the_furthest_is_told(flights):
    gauge = full_name("flights", WorkGauge.BEHIND)
    told = []
    for key, behind in (("a", None), ("a", 500), ("b", 900), ("b", -3), ("a", None), ("b", 7), ("b", None)):
        flights.counting.tell_behind(key, behind)
        told.append(flights.metrics.gauges.get(gauge))
    assert told == [None, 500, 900, 500, 0, 7, 7]


def test_a12_failures_and_what_they_park(flights):
    flights.fail(flights.acquire_partition("a"), "no memory", retry_after=timedelta(0))
    assert counted(flights, Metric.FAILED, Metric.PARKED) == (1, 0)
    flights.fail(flights.acquire_partition("a"), "no memory")
    assert counted(flights, Metric.FAILED, Metric.PARKED) == (2, 1)


def test_a12_a_failure_is_counted_for_a_dead_driver_too(flights):
    lease = flights.acquire_partition("a")
    assert flights.tries.fail_for_dead_owner("a", lease.fence, "its driver is gone")
    assert counted(flights, Metric.FAILED) == (1,)
    assert not flights.tries.fail_for_dead_owner("a", lease.fence, "its driver is gone")
    assert counted(flights, Metric.FAILED) == (1,)


def test_a12_a_lost_lease_is_counted_once_by_a_sweep(flights, clock):
    expire(flights, clock, "a")
    flights.sweep()
    assert counted(flights, Metric.LOST, Metric.PARKED) == (1, 0)
    expire(flights, clock, "a")
    flights.sweep()
    assert counted(flights, Metric.LOST, Metric.PARKED) == (2, 1)


def test_a12_a_lost_lease_is_counted_once_by_the_next_acquisition(flights, clock):
    expire(flights, clock, "a")
    flights.acquire_partition("a")
    assert counted(flights, Metric.LOST, Metric.ACQUIRED) == (1, 2)
    flights.complete(flights.acquire_partition("b"))
    assert counted(flights, Metric.LOST) == (1,)


def test_a12_reopenings_are_counted_once_whoever_makes_them(flights, clock):
    for wake in (flights.sweep, lambda: None):
        flights.close(flights.acquire_partition("a"), reopen_after=timedelta(seconds=5))
        clock.advance(timedelta(seconds=10))
        wake()
        flights.give_up(flights.acquire_partition("a"))
    assert counted(flights, Metric.REOPENED) == (2,)
    flights.people.park("a", by="ana", why="w")
    flights.people.reopen("a", by="ana", why="w")
    flights.give_up(flights.acquire_partition("a"))
    assert counted(flights, Metric.PARKED, Metric.REOPENED) == (1, 3)


def test_a12_a_look_sets_the_gauges(flights):
    flights.acquire_partition("a")
    flights.people.park("b", by="ana", why="w")
    flights.looking.outlook()
    assert flights.metrics.gauges == {
        full_name("flights", gauge): gauge in (Gauge.ASSIGNED, Gauge.PARKED) for gauge in Gauge
    }


def test_a12_gauges_say_what_is_overdue_and_how_old_the_oldest_claimable_is(flights, clock):
    flights.close(flights.acquire_partition("a"), reopen_after=timedelta(seconds=5))
    clock.advance(timedelta(seconds=9, milliseconds=900))
    flights.complete(flights.acquire_partition("b"))
    flights.looking.outlook()
    overdue, oldest = (full_name("flights", gauge) for gauge in (Gauge.OVERDUE, Gauge.OLDEST_CLAIMABLE))
    assert (flights.metrics.gauges[overdue], flights.metrics.gauges[oldest]) == (1, 4)
    flights.complete(flights.acquire_partition("a"))
    flights.looking.outlook()
    assert (flights.metrics.gauges[overdue], flights.metrics.gauges[oldest]) == (0, 0)


def test_a12_metrics_without_gauges_are_enough(store):
    class Counts:
        def incr(self, stat, count=1):
            pass

    SourceCoordinator(store, "flights", "test", metrics=Counts()).looking.outlook()
