"""P2: 16 processes that complete a partition and acquire the next in one step, beside procrastinate's two."""

from __future__ import annotations

from contextlib import ExitStack

from benchmarks.goals import Readings
from benchmarks.harness.figures import rate
from benchmarks.harness.postgres import Cluster
from benchmarks.harness.run import Run
from benchmarks.harness.turns import Measured, rotated, steady
from benchmarks.postgresql.counts import show as show_counts
from benchmarks.postgresql.systems import PGQUEUER, PROCRASTINATE, ours, raw
from benchmarks.report import against, beside, show

ROWS, PROCESSES = 150_000, 16
STEADY_ROUNDS, STEADY_SECONDS = 5, 2.0
ROTATED_ROUNDS, ROTATED_CYCLES = 20, 20
WARM = 20
OURS, RAW = ours("fused"), raw("fused")
ALL = (OURS, RAW, PROCRASTINATE, PGQUEUER)


def benchmark(run: Run) -> Readings:
    """Measure in both ways; with ``quick`` only count."""
    with Cluster() as cluster:
        show_counts(run, cluster, [OURS, RAW])
        if run.quick:
            return {}
        alone = _measured(run, cluster)
    return {
        "P2 cpu": against(alone, PROCRASTINATE, OURS),
        "P2 rate": beside(alone, OURS, PROCRASTINATE, rate, "/s"),
    }


def _measured(run: Run, cluster: Cluster) -> Measured:
    rows = run.scaled(ROWS, 20_000)
    slices, periods, seconds = run.scaled(ROTATED_ROUNDS, 3), run.scaled(STEADY_ROUNDS, 2), STEADY_SECONDS * run.scale
    with ExitStack() as stack, run.progress("P2: rounds", slices + periods) as advance:
        teams = [stack.enter_context(cluster.team(spec, rows, PROCESSES)) for spec in ALL]
        for team in teams:
            team.do(cycles=WARM)
        in_turn = rotated(cluster, teams, rounds=slices, cycles=ROTATED_CYCLES, advance=advance)
        alone = steady(cluster, teams, rounds=periods, seconds=seconds, advance=advance)
    show(run, f"Rotated: {PROCESSES} processes, {slices} slices of {ROTATED_CYCLES} cycles each", in_turn)
    show(run, f"Steady: {PROCESSES} processes, {periods} × {seconds:g} s, {rows:,} rows", alone)
    return alone
