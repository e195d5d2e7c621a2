"""The runner: each duty is reported, none stops the next, and what concerns all ends all."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import ClassVar

import pytest

from airflow_coordination.duties.duty import DutyReport, run_duties
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.values.errors import (
    OutcomeUnknownError,
    PartitionNotOwnedError,
    PartitionUpdateError,
    StoreSlowError,
    StoreUnavailableError,
)
from airflow_coordination.values.fence import Fence


@dataclass
class Counting:
    """A duty that creates a partition, so that the store shows whether it was run."""

    name: ClassVar[str] = "counting"
    key: str
    error: BaseException | None = None

    def run(self, coordinator: SourceCoordinator) -> DutyReport[int]:
        created = coordinator.create_partitions([self.key]).created
        if self.error is not None:
            raise self.error
        return DutyReport(self.name, created, stays=2)


@pytest.fixture
def flights(store) -> SourceCoordinator:
    return SourceCoordinator(store, "flights", "me")


def keys(flights: SourceCoordinator) -> list[str]:
    return [one.key for one in flights.partitions()]


def test_each_is_reported_in_its_order(flights) -> None:
    reports = run_duties(flights, [Counting("a"), Counting("b")])
    assert reports == [DutyReport("counting", 1, stays=2)] * 2
    assert [report.result() for report in reports] == [1, 1]
    assert keys(flights) == ["a", "b"]


@pytest.mark.parametrize("error", [PartitionUpdateError("clean up", "k", "it changed"), ModuleNotFoundError("boto3")])
def test_an_error_is_in_its_report_and_stops_no_other(flights, error) -> None:
    failed, done = run_duties(flights, [Counting("a", error), Counting("b")])
    assert (failed.done, failed.error, done.done) == (None, error, 1)
    assert keys(flights) == ["a", "b"]
    with pytest.raises(type(error)) as raised:
        failed.result()
    assert raised.value is error


@pytest.mark.parametrize(
    "error",
    [
        StoreUnavailableError("sweep", "connection refused"),
        StoreSlowError("sweep", "no answer"),
        OutcomeUnknownError("sweep", "connection lost"),
        PartitionNotOwnedError("k", Fence(1, "n"), None, None),
    ],
    ids=lambda error: type(error).__name__,
)
def test_where_the_store_is_away_or_the_lease_lost_nothing_else_is_tried(flights, error) -> None:
    reports = run_duties(flights, [Counting("a"), Counting("b", error), Counting("c"), Counting("d")])
    assert [report.error for report in reports] == [None, error, error, error]
    assert keys(flights) == ["a", "b"]


def test_what_ends_the_process_is_no_report(flights) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_duties(flights, [Counting("a", KeyboardInterrupt()), Counting("b")])
    assert keys(flights) == ["a"]


def test_what_became_of_each_is_logged_for_who_wants_to_see_it(flights, caplog) -> None:
    with caplog.at_level(logging.INFO, "airflow_coordination.duties"):
        run_duties(flights, [Counting("a")])
    assert caplog.messages == []
    with caplog.at_level(logging.DEBUG, "airflow_coordination.duties"):
        run_duties(flights, [Counting("b"), Counting("c", PartitionUpdateError("count", "c", "it changed."))])
    assert caplog.messages == [
        "Source 'flights': counting: 1, 2 left",
        "Source 'flights': counting: Cannot count partition 'c': it changed.",
    ]
