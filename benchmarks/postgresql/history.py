"""P15: what remembering each tenure costs: acquire + complete, with the history and without it."""

from __future__ import annotations

from contextlib import ExitStack

from benchmarks.goals import Readings
from benchmarks.harness.postgres import Cluster
from benchmarks.harness.run import Run
from benchmarks.harness.systems import Spec
from benchmarks.harness.turns import steady
from benchmarks.postgresql.counts import show as show_counts
from benchmarks.report import beside, show

ROWS = 150_000
ROUNDS, SECONDS = 9, 2.0
WARM = 60
WAYS = ("queued", "fused")


def _system(mode: str, *, remembering: bool) -> Spec:
    name = f"{mode}, {'with' if remembering else 'without'} history"
    return Spec(name, "benchmarks.ours:Ours", "ours", {"mode": mode, "remembering": remembering})


def benchmark(run: Run) -> Readings:
    """Measure both ways of completing; with ``quick`` only count."""
    pairs = {way: (_system(way, remembering=True), _system(way, remembering=False)) for way in WAYS}
    specs = [spec for pair in pairs.values() for spec in pair]
    with Cluster() as cluster:
        show_counts(run, cluster, specs)
        if run.quick:
            return {}
        rows, rounds = run.scaled(ROWS, 5_000), run.scaled(ROUNDS, 2)
        seconds = SECONDS * min(1, run.scale)
        with ExitStack() as stack, run.progress("P15: rounds", rounds) as advance:
            teams = [stack.enter_context(cluster.team(spec, rows)) for spec in specs]
            for team in teams:
                team.do(cycles=WARM)
            measured = steady(cluster, teams, rounds=rounds, seconds=seconds, advance=advance)
    show(run, f"{rounds} × {seconds:g} s each, {rows:,} rows", measured)
    return {f"P15 {way}": beside(measured, *pair) for way, pair in pairs.items()}
