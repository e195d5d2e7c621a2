"""P1: acquire one partition and complete it, again and again, beside raw SQL, procrastinate and pgqueuer."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.goals import Readings
from benchmarks.harness.postgres import Cluster
from benchmarks.harness.run import Run
from benchmarks.harness.systems import Spec
from benchmarks.harness.turns import Measured, rotated, steady
from benchmarks.ours import Ours
from benchmarks.postgresql.counts import show as show_counts
from benchmarks.postgresql.recording import recorded
from benchmarks.postgresql.systems import PGQUEUER, PROCRASTINATE, ours, raw
from benchmarks.report import against, beside, show

ROWS = 150_000
"""Enough for 11,000 cycles a second of one system."""
STEADY_ROUNDS, STEADY_SECONDS = 5, 2.0
ROTATED_ROUNDS, ROTATED_CYCLES = 60, 30
WARM = 60
"""Cycles before the first slice: drivers prepare statements from the fifth time on."""
HINTS = 60_000
OURS, RAW = ours("queued"), raw("queued")
HINTED = (ours("hinted", HINTS), raw("hinted"))


def benchmark(run: Run) -> Readings:
    """Measure in both ways; with ``quick`` only count."""
    with Cluster() as cluster:
        show_counts(run, cluster, [OURS, RAW, *_small(HINTED), PROCRASTINATE, PGQUEUER])
        if run.quick:
            return {}
        alone = _steady(run, cluster)
        in_turn = _rotated(run, cluster)
    return {
        "P1 steady raw": beside(alone, OURS, RAW),
        "P1 steady procrastinate": against(alone, PROCRASTINATE, OURS),
        "P1 steady pgqueuer": against(alone, PGQUEUER, OURS),
        "P1 rotated raw": beside(in_turn, OURS, RAW),
    }


def _small(specs: Sequence[Spec]) -> list[Spec]:
    """Return hinted systems that list only what a count needs."""
    return [ours("hinted", 1_000) if spec.rows == "ours" else spec for spec in specs]


def _steady(run: Run, cluster: Cluster) -> Measured:
    rows, seconds, rounds = run.scaled(ROWS, 5_000), STEADY_SECONDS * min(1, run.scale), run.scaled(STEADY_ROUNDS, 2)
    specs = [OURS, RAW, *HINTED, PROCRASTINATE, PGQUEUER]
    with ExitStack() as stack, run.progress("P1 steady: rounds", rounds) as advance:
        teams = [stack.enter_context(cluster.team(spec, rows)) for spec in specs]
        for team in teams:
            team.do(cycles=WARM)
        measured = steady(cluster, teams, rounds=rounds, seconds=seconds, advance=advance)
    show(run, f"Steady: {rounds} × {seconds:g} s each, {rows:,} rows", measured)
    return measured


def _rotated(run: Run, cluster: Cluster) -> Measured:
    rows, rounds = run.scaled(ROWS, 5_000), run.scaled(ROTATED_ROUNDS, 5)
    with ExitStack() as stack, run.progress("P1 rotated: rounds", rounds) as advance:
        specs = [OURS, RAW, *HINTED, PROCRASTINATE, PGQUEUER]
        path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "recording"
        record(cluster, rows, WARM + rounds * (ROTATED_CYCLES + 3), path)
        bare = Spec("bare: our SQL", "benchmarks.postgresql.bare:Bare", "ours", {"recording": str(path)})
        teams = [stack.enter_context(cluster.team(spec, rows)) for spec in [*specs, bare]]
        for team in teams:
            team.do(cycles=WARM)
        measured = rotated(cluster, teams, rounds=rounds, cycles=ROTATED_CYCLES, advance=advance)
    show(run, f"Rotated: {rounds} slices of {ROTATED_CYCLES} cycles each, {rows:,} rows", measured)
    return measured


def record(cluster: Cluster, rows: int, cycles: int, path: Path) -> None:
    """Write down what this package sends for so many cycles."""
    with cluster.copy(OURS, rows) as url, recorded() as recording:
        made: list[Ours] = []
        recording.part(lambda: made.append(Ours(url, "queued", unhurried=True)))
        for _ in range(cycles):
            recording.part(lambda: made[0].cycles(1))
        made[0].close()
        recording.save(path)
