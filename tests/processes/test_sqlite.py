"""Eight workers on one SQLite file: killed, stopped past their leases, and their disk full."""

from __future__ import annotations

import os

import pytest

from tests.processes.on_sqlite import DISK_FULL, NEVER_FULL, SqliteSetup
from tests.processes.run import run
from tests.share import seconds_under_faults

pytestmark = [pytest.mark.slow, pytest.mark.timed]

SECONDS = seconds_under_faults(20)
SEED = int(os.environ.get("COORDINATION_SEED", "1"))


def test_s5_eight_workers_on_one_sqlite_file_break_no_promise_under_real_faults() -> None:
    report = run("sqlite", SECONDS, SEED)
    print(report)
    assert report.violations == [], f"see it again: python -m tests.processes --store sqlite --seed {SEED}"
    assert report.lacking == []
    assert set(report.faults) - {DISK_FULL} == set(SqliteSetup.rates)
    if NEVER_FULL not in report.store:
        assert report.faults[DISK_FULL] > 0
