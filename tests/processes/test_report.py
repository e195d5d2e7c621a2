"""What a run's report says of runs that prove nothing."""

from __future__ import annotations

from dataclasses import replace

from tests.processes.report import Report

FAULTS = {"killed": 80, "stopped": 20}
BUSY = Report(
    "any", 1, 8, seconds=10, operations=2000, refused=10, unknown=4, lost_races=20, later_tenures=80, faults=FAULTS
)


def test_a_run_with_contention_counts() -> None:
    assert BUSY.lacking == []


def test_a_run_without_contention_does_not_count() -> None:
    idle = replace(BUSY, refused=1, unknown=0, later_tenures=30)
    assert idle.lacking == [
        "later_tenures: 15.0 per 1,000 operations, 20.0 are needed",
        "refused: 1.0 per 100 faults, 5.0 are needed",
        "unknown: 0.0 per 100 faults, 2.0 are needed",
    ]
    assert "does not count: refused" in str(idle)


def test_a_fast_machine_s_run_counts_as_much_as_a_slow_one_s() -> None:
    fast = replace(BUSY, operations=30_000, lost_races=300, later_tenures=1200)  # the same faults in the same time
    assert fast.lacking == []
