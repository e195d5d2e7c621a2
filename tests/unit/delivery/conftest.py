"""A clock that a test moves."""

from __future__ import annotations

import pytest

from airflow_coordination.testing.clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()
