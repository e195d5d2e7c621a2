"""Counts of records by their route."""

from __future__ import annotations

from airflow_coordination.leases.accounting import Accounting, SinkCounts
from airflow_coordination.spark.counting import tally_of


def test_s13_each_route_counts_for_its_sinks_or_its_reason() -> None:
    tally = tally_of([(-2, 1), (-1, 2), (0, 4), (1, 8), (2, 16), (3, 32)], sinks=2, reasons=2)
    accounting = tally.accounting(["a", "b"], ["r", "s"])
    assert accounting == Accounting(
        read=63,
        delivered_everywhere=56,
        dropped={"r": 2, "s": 1},
        unrouted=4,
        sinks={"a": SinkCounts(40, 40), "b": SinkCounts(48, 48)},
    )
    assert accounting.imbalances() == []


def test_nothing_read_is_nothing_owed() -> None:
    assert tally_of([], sinks=1, reasons=0).accounting(["a"], []) == Accounting(sinks={"a": SinkCounts()})
