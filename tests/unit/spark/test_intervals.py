"""Of which time the rows are, said by what a function returns, without Spark."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_coordination.leases import Block, SourceCoordinator
from airflow_coordination.planning.intervals import Interval
from airflow_coordination.spark import Close, Complete
from airflow_coordination.spark.draining import drain
from airflow_coordination.stores import open_store


@pytest.fixture
def one(monkeypatch):
    coordinator = SourceCoordinator(open_store("memory://"), "s", "a person")
    for key in ("2013-01", "2013-02", "2013-03"):
        coordinator.create_partitions([key])
        lease = coordinator.acquire_partition(key)
        coordinator.give_up(coordinator.save_progress_state(lease, 1, [Block("d", f"/{key}", key, 1, 1)]))
    return coordinator


@pytest.mark.parametrize(
    "ended", [Complete, lambda interval: Close(timedelta(days=1), interval=interval)], ids=["complete", "close"]
)
def test_what_a_function_returns_says_it(one, ended) -> None:
    """Also where the next partition is acquired in the same step."""
    drain(
        lambda _, lease: ended(interval=f"{lease.partition.key}/P1M"),
        store=one.store,
        source="s",
        spark=None,
        max_leases=None,
    )
    found = {head.key: str(Interval(head.interval_start, head.interval_end)) for head in one.store.heads("s|PARTITION")}
    assert found == {
        "2013-01": "2013-01-01/2013-02-01",
        "2013-02": "2013-02-01/2013-03-01",
        "2013-03": "2013-03-01/2013-04-01",
    }


def test_a_wrong_one_fails_the_partition_by_name_and_publishes_nothing(one) -> None:
    drain(lambda _, lease: Complete(interval=lease.partition.key), store=one.store, source="s", spark=None)
    assert one.store.heads("s|PARTITION") == []
    assert "interval" in one.partition("2013-01").last_error
    assert "has no slash" in one.partition("2013-01").last_error
