"""What a run's report says of runs that prove nothing."""

from __future__ import annotations

from dataclasses import replace

from tests.processes.report import Report

BUSY = Report("any", 1, 8, seconds=10, operations=2000, refused=10, unknown=4, lost_races=20, later_tenures=80)


def test_a_run_with_contention_counts() -> None:
    assert BUSY.lacking == []


def test_a_run_without_contention_does_not_count() -> None:
    idle = replace(BUSY, refused=1, unknown=0)
    assert idle.lacking == [
        "refused: 0.5 per 1,000 operations, 1.0 are needed",
        "unknown: 0.0 per 1,000 operations, 0.5 are needed",
    ]
    assert "does not count: refused" in str(idle)
