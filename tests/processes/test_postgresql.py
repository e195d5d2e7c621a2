"""Eight workers on PostgreSQL: killed, stopped past their leases, unheard, and the server restarted under them."""

from __future__ import annotations

import os

import pytest

from tests.processes.on_postgresql import RESTART, PostgresSetup
from tests.processes.run import run
from tests.share import seconds_under_faults

pytestmark = [pytest.mark.postgres, pytest.mark.slow, pytest.mark.timed, pytest.mark.timeout(600)]

SECONDS = seconds_under_faults(90)
SEED = int(os.environ.get("COORDINATION_SEED", "1"))


def test_s5_eight_workers_on_postgresql_break_no_promise_under_real_faults() -> None:
    report = run("postgresql", SECONDS, SEED)
    print(report)
    assert report.violations == [], f"see it again: python -m tests.processes --store postgresql --seed {SEED}"
    assert report.lacking == []
    assert set(report.faults) == {*PostgresSetup.rates, *PostgresSetup.every}
    assert report.faults[RESTART] >= max(1, SECONDS // 20)
