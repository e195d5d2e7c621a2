"""What a driver keeps of each partition that is over: of a million it is most of its memory."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from airflow_coordination import Complete, SourceCoordinator, open_store
from airflow_coordination.spark import application, drain, draining
from airflow_coordination.spark.one_by_one import OneByOne
from airflow_coordination.spark.tenure import DriverContext, Ended
from airflow_coordination.values.status import Outcome

PARTITIONS = 12


@pytest.fixture
def flights() -> SourceCoordinator:
    flights = SourceCoordinator(open_store("memory://"), "flights", "somebody")
    flights.create_partitions(f"{number:02}" for number in range(PARTITIONS))
    return flights


@pytest.mark.parametrize("shape", [{}, {"concurrent_leases": 4}, {"together": 4}], ids=str)
def test_w10_a_drain_keeps_no_lease_of_a_partition_that_is_over(flights, shape, monkeypatch) -> None:
    kept: list[Ended] = []
    summary = draining._summary
    monkeypatch.setattr(draining, "_summary", lambda endings, *said: kept.extend(endings) or summary(endings, *said))
    done = drain(
        lambda spark, lease: Complete(), store=flights.store, source="flights", spark=None, max_leases=None, **shape
    )
    assert (done.completed, len(kept)) == (PARTITIONS, PARTITIONS)
    assert [each.following for each in kept] == [None] * PARTITIONS


def test_w10_a_driver_of_a_task_keeps_none_either(flights) -> None:
    told: list[str] = []
    driver = SimpleNamespace(
        _report=SimpleNamespace(close=lambda: told.append("closed")), _tell_metrics=lambda: told.append("metrics")
    )
    context = DriverContext(spark=None, coordinator=flights, output_root=None)
    course = OneByOne(lambda spark, lease: Complete(), context, flights.get_next_partition, None)
    heard = application._Driver._heard(driver, course.run())
    assert [(each.outcome, each.following) for each in heard] == [(Outcome.COMPLETED, None)] * PARTITIONS
    assert told == [*["metrics"] * PARTITIONS, "closed", "metrics"]
