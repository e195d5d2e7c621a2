"""Rows that stand for records: all of them arrive, or none."""

from __future__ import annotations

import pytest

from airflow_coordination.acknowledgments import Accounting, SinkCounts
from airflow_coordination.delivery.counting import standing_for

ROWS = Accounting(read=4, delivered_everywhere=3, failed=1, sinks={"a": SinkCounts(owed=4, delivered=3, failed=1)})


@pytest.mark.parametrize(("arrived", "done", "failed"), [(True, 100, 0), (False, 0, 100)])
def test_s13_all_arrive_or_none(arrived: bool, done: int, failed: int) -> None:
    found = standing_for(ROWS, 100, arrived=arrived)
    assert (found.read, found.delivered_everywhere, found.failed) == (100, done, failed)
    assert found.sinks == ROWS.sinks
    assert found.imbalances() == []
