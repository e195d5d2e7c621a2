"""What a driver keeps of each partition that is over: of a million it is most of its memory."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from airflow_coordination import Complete, SourceCoordinator, open_store
from airflow_coordination.spark import application, drain, draining
from airflow_coordination.spark.tenure import Ended
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
    endings = [
        Ended(key="00", outcome=Outcome.COMPLETED, following=flights.get_next_partition()),
        Ended(key="01", outcome=Outcome.FAILED, message="no"),
    ]
    heard = application._Driver._heard(driver, endings)
    assert heard == [Ended(key="00", outcome=Outcome.COMPLETED), endings[1]]
    assert told == ["metrics", "metrics", "closed", "metrics"]
