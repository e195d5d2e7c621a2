"""P5: create partitions with a payload, beside COPY + INSERT … ON CONFLICT, procrastinate and pgqueuer.

A slice is one call that creates many; every system begins with empty tables, and they grow alike.
"""

from __future__ import annotations

from contextlib import ExitStack

from benchmarks.goals import Readings
from benchmarks.harness.figures import rate
from benchmarks.harness.postgres import Cluster
from benchmarks.harness.run import Run
from benchmarks.harness.systems import Spec
from benchmarks.harness.turns import rotated
from benchmarks.report import against, beside, show

ROUNDS, ROWS_A_SLICE = 8, 25_000
_HERE = "benchmarks.postgresql"
OURS = Spec("ours", f"{_HERE}.creating:OursCreating", "ours")
COPY = Spec("COPY + INSERT", f"{_HERE}.creating:CopyAndInsert", "plain")
PROCRASTINATE = Spec("procrastinate", f"{_HERE}.with_procrastinate:Deferring", "procrastinate", peer=True)
PGQUEUER = Spec("pgqueuer", f"{_HERE}.with_pgqueuer:Enqueuing", "pgqueuer", peer=True)


def benchmark(run: Run) -> Readings:
    """Measure; statements a page are asserted in tests/integration/stores/test_budgets.py."""
    if run.quick:
        return run.nothing_to_count()
    rounds, rows = run.scaled(ROUNDS, 2), run.scaled(ROWS_A_SLICE, 2_500)
    with Cluster() as cluster, ExitStack() as stack, run.progress("P5: rounds", rounds) as advance:
        teams = [stack.enter_context(cluster.team(spec, rows=0)) for spec in (OURS, COPY, PROCRASTINATE, PGQUEUER)]
        measured = rotated(cluster, teams, rounds=rounds, cycles=rows, advance=advance)
    show(run, f"Creating {rounds} × {rows:,} with a payload; a cycle is a row", measured)
    return {
        "P5 rate": beside(measured, OURS, COPY, rate, "/s"),
        "P5 cpu": beside(measured, OURS, COPY),
        "P5 procrastinate": against(measured, PROCRASTINATE, OURS),
    }
