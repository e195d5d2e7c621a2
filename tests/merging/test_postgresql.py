"""Readers find exactly what is published, with overlays and without: real processes on PostgreSQL."""

from __future__ import annotations

import pytest

from tests.merging.real import run_processes
from tests.processes.stores import KILLED, STOPPED

pytestmark = [pytest.mark.postgres, pytest.mark.slow, pytest.mark.timed, pytest.mark.timeout(600)]

SECONDS = 8
"""A short run; ``python -m tests.proof --only merging:postgresql`` makes long ones."""


def test_s12_s21_compactors_that_are_stopped_past_their_leases_hide_nothing_on_postgresql() -> None:
    report = run_processes(SECONDS, 1)
    print(report)
    assert report.violations == [], "see it again: python -m tests.merging --store postgresql --seconds 8"
    assert report.faults[STOPPED] > 0
    assert report.faults[KILLED] > 0
    assert [name for name in ("merged", "reads", "blocks deleted", "blocks") if not report.counts.get(name)] == []
