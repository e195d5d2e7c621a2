"""P6: acquire and complete on SQLite at synchronous=FULL: one process beside raw SQL and huey, sixteen beside raw."""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack

from benchmarks.goals import Reading, Readings
from benchmarks.harness.figures import Turn
from benchmarks.harness.files import Files
from benchmarks.harness.run import Run
from benchmarks.harness.systems import ROOT, Spec
from benchmarks.harness.turns import Measured, rotated, steady
from benchmarks.report import beside, show

ROWS, PROCESSES = 100_000, 16
CROWD_ROWS = 300_000
"""More than sixteen processes of raw SQL take on a fast disk."""
ROUNDS, SECONDS = 5, 3.0
CROWD_SECONDS = 5.0
SLICES, CYCLES, WARM = 60, 30, 60
HUEY = Spec("huey", "benchmarks.sqlite.with_huey:Huey", "huey", peer=True)
_COMPLETED = "SELECT count(*) FROM coordination_partitions WHERE source_partition_status = 'COMPLETED'"


def ours(mode: str) -> Spec:
    """Return this package in one of its ways."""
    return Spec("ours", "benchmarks.ours:Ours", "ours", {"mode": mode})


def raw(mode: str) -> Spec:
    """Return raw SQL in one of its ways."""
    return Spec("raw", "benchmarks.sqlite.raw:Raw", "raw", {"mode": mode})


def benchmark(run: Run) -> Readings:
    """Measure; statements are asserted in tests/integration/stores/test_budgets.py."""
    if run.quick:
        return run.nothing_to_count()
    with Files(ROOT / ".work/bench") as files:
        alone, crowd = _one(run, files), _many(run, files)
    longest, served = (max(figure(turn) for turn in crowd["ours"]) for figure in (_longest, _fairness))
    their_longest, their_served = (max(figure(turn) for turn in crowd["raw"]) for figure in (_longest, _fairness))
    return {
        "P6 raw": beside(alone, ours("queued"), raw("queued")),
        "P6 wait": Reading(longest, f"{longest:,.0f}", f"{longest:,.0f} ms", f"{their_longest:,.0f} ms"),
        "P6 served": Reading(served, f"{served:.2f}", f"{served:.2f} ×", f"{their_served:.2f} ×"),
    }


def _one(run: Run, files: Files) -> Measured:
    rows, slices, rounds = run.scaled(ROWS, 5_000), run.scaled(SLICES, 5), run.scaled(ROUNDS, 2)
    with ExitStack() as stack, run.progress("P6, one process: rounds", slices + rounds) as advance:
        teams = [stack.enter_context(files.team(spec, rows)) for spec in (ours("queued"), raw("queued"), HUEY)]
        for team in teams:
            team.do(cycles=WARM)
        in_turn = rotated(files, teams, rounds=slices, cycles=CYCLES, advance=advance)
        alone = steady(files, teams, rounds=rounds, seconds=SECONDS * min(1, run.scale), advance=advance)
    show(run, f"Rotated: {slices} slices of {CYCLES}, {rows:,} rows", in_turn)
    show(run, f"Steady: {rounds} × {SECONDS * min(1, run.scale):g} s", alone)
    return alone


def _many(run: Run, files: Files) -> Measured:
    """Let sixteen processes work at once, and see that nothing was completed twice."""
    rows, rounds, seconds = run.scaled(CROWD_ROWS, 20_000), run.scaled(ROUNDS, 2), CROWD_SECONDS * min(1, run.scale)
    with ExitStack() as stack, run.progress(f"P6, {PROCESSES} processes: rounds", rounds) as advance:
        teams = [stack.enter_context(files.team(spec, rows, PROCESSES)) for spec in (ours("waiting"), raw("waiting"))]
        measured = steady(files, teams, rounds=rounds, seconds=seconds, advance=advance, batch=1)
        _check(teams[0].url.removeprefix("sqlite:///"), teams[0].cycles)
    show(run, f"{PROCESSES} processes: {rounds} × {seconds:g} s, {rows:,} rows", measured)
    table = run.table("Waits and shares, of the worst round", "system", "longest call ms", "most / least served")
    for name, turns in measured.items():
        table.add_row(name, f"{max(map(_longest, turns)):,.0f}", f"{max(map(_fairness, turns)):.2f}")
    run.console.print(table)
    return measured


def _check(path: str, cycles: int) -> None:
    connection = sqlite3.connect(path)
    [[completed]] = connection.execute(_COMPLETED).fetchall()
    connection.close()
    if completed != cycles:
        raise RuntimeError(f"{cycles:,} completions were acknowledged, and {completed:,} partitions are completed")


def _longest(turn: Turn) -> float:
    return turn.longest * 1000


def _fairness(turn: Turn) -> float:
    return max(turn.served) / max(1, min(turn.served))
