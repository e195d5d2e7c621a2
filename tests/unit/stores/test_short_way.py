"""When the short statement of an acquisition is tried first."""

from __future__ import annotations

from airflow_coordination.stores.sql.queue import SHORT_WAY_SECONDS, ShortWay
from airflow_coordination.testing.clock import FakeClock


def test_after_a_miss_it_rests() -> None:
    clock = FakeClock()
    way = ShortWay(clock.monotonic)
    assert way.is_worth_it("s")
    way.missed("s")
    assert not way.is_worth_it("s")
    assert way.is_worth_it("another")
    clock.advance(SHORT_WAY_SECONDS)
    assert way.is_worth_it("s")
