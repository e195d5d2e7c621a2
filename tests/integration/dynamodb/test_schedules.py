"""Random schedules under random faults: every promise of the protocol, on the vendor's own engine."""

from __future__ import annotations

import os
from uuid import uuid4

import pytest

from airflow_coordination.stores.dynamodb import requests
from airflow_coordination.testing.clock import FakeClock
from tests.integration.dynamodb.engine import Engine
from tests.integration.dynamodb.schedules import TTL, Schedule
from tests.integration.dynamodb.table import SharedTable

FIRST, LAST = (int(number) for number in os.environ.get("COORDINATION_SEEDS", "0-7").split("-"))


@pytest.fixture(autouse=True)
def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is parallel, so that a seed says everything."""
    monkeypatch.setattr(requests, "PARALLEL", 1)


@pytest.mark.parametrize("seed", range(FIRST, LAST + 1))
def test_every_promise_holds_under_random_faults(local: Engine, seed: int) -> None:
    clock = FakeClock()
    shared = SharedTable(local, f"schedule-{uuid4().hex}", clock, ttl=TTL)
    schedule = Schedule(shared, clock, seed)
    try:
        schedule.run()
    except BaseException:
        print("\n".join(schedule.log))
        raise
    finally:
        schedule.clean_up()
