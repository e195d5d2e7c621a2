"""Readers find what counts, whole branches and nothing that is hidden: real processes on PostgreSQL."""

from __future__ import annotations

import pytest

from tests.branching.real import run_processes
from tests.processes.stores import KILLED, STOPPED

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.slow,
    pytest.mark.timed,
    pytest.mark.timeout(600),
]

SECONDS = 10
"""A short run; ``python -m tests.proof --only branching:postgresql`` makes long ones."""


def test_s12_s22_people_who_are_stopped_in_their_commands_show_no_half_of_a_branch_on_postgresql() -> None:
    report = run_processes(SECONDS, 1)
    print(report)
    assert report.violations == [], f"see it again: python -m tests.branching --store postgresql --seconds {SECONDS}"
    assert report.faults[STOPPED] > 0
    assert report.faults[KILLED] > 0
    assert [name for name in ("branches begun", "reads", "hidden", "blocks") if not report.counts.get(name)] == []
