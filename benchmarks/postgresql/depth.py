"""P4: what an acquisition costs among few and many rows, and while somebody holds a snapshot that pins what is used up.

Only acquiring is measured; what was acquired is completed in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import psycopg

from benchmarks.goals import Reading, Readings
from benchmarks.harness.figures import Turn, cpu, ratio, typical
from benchmarks.harness.postgres import Cluster
from benchmarks.harness.run import Run
from benchmarks.harness.systems import Team
from benchmarks.harness.turns import Measured, acquiring
from benchmarks.postgresql.systems import ours, raw
from benchmarks.report import show

DEPTHS = (1_000, 100_000, 1_000_000)
ROUNDS, CYCLES, WARM = 25, 30, 60
"""So few that the smallest source has enough for all."""
HELD_ROWS, USED_UP, NEW = 20_000, 6_000, 10
_PAGE = 20
_HELD = "held"


def benchmark(run: Run) -> Readings:
    """Measure; there is nothing to count here (statements: `NAME=postgresql`)."""
    if run.quick:
        return run.nothing_to_count()
    with Cluster() as cluster:
        return _depths(run, cluster) | _snapshots(run, cluster)


def _depths(run: Run, cluster: Cluster) -> Readings:
    rounds, depths = run.scaled(ROUNDS, 4), [DEPTHS[0], *(run.scaled(each, 2_000) for each in DEPTHS[1:])]
    base = ours("acquired")
    with ExitStack() as stack, run.progress("P4 depth: rounds", rounds) as advance:
        teams = []
        for depth in depths:
            spec = replace(base, name=f"{depth:,} rows")
            teams.append(stack.enter_context(cluster.team(spec, depth)))
            teams[-1].do(cycles=WARM)
        measured = acquiring(cluster, teams, rounds=rounds, cycles=CYCLES, advance=advance)
    show(run, f"Acquiring at several depths: {rounds} slices of {CYCLES}", measured)
    few, *_, many = measured.values()
    return {"P4 depth": _reading(many, few)}


def _snapshots(run: Run, cluster: Cluster) -> Readings:
    """Use up rows with and without a snapshot, then acquire: in the processes that did so, and in new ones."""
    rounds, new = run.scaled(ROUNDS, 4), run.scaled(NEW, 3)
    first: Measured = {}
    with ExitStack() as stack, run.progress("P4 snapshot: rounds", rounds + new) as advance:
        teams = []
        for base in (ours("acquired"), raw("acquired")):
            for how in ("no snapshot", _HELD):
                spec = replace(base, name=f"{base.name.partition(',')[0]}, {how}")
                teams.append(stack.enter_context(cluster.team(spec, HELD_ROWS)))
        for team in teams:  # when all are there: a copy ends with a checkpoint, after which every page is logged whole
            _use_up(run, cluster, stack, team)
        measured = acquiring(cluster, teams, rounds=rounds, cycles=CYCLES, advance=advance)
        for _ in range(new):
            for team in teams[:2]:
                first.setdefault(team.spec.name, []).append(_first_of_new(cluster, team))
            advance()
    show(run, f"Acquiring after {run.scaled(USED_UP, 500):,} were used up: {rounds} slices of {CYCLES}", measured)
    show(run, f"First acquisition of a new process, {new} times", first)
    quiet, held = (measured[team.spec.name] for team in teams[:2])
    new_quiet, new_held = first.values()
    return {"P4 held": _reading(held, quiet), "P4 held new": _reading(new_held, new_quiet)}


def _use_up(run: Run, cluster: Cluster, stack: ExitStack, team: Team) -> None:
    """Let a team acquire and complete many rows, and vacuum its database."""
    url = cluster.url_of(team)
    if team.spec.name.endswith(_HELD):
        stack.enter_context(_snapshot(url))
    for _ in range(run.scaled(USED_UP, 500) // _PAGE):
        team.do(cycles=_PAGE)
        team.do(settle=1)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM")


@contextmanager
def _snapshot(url: str) -> Iterator[None]:
    """Hold a snapshot as a dump would. Its backend does nothing meanwhile, so it adds nothing to the server's CPU."""
    with psycopg.connect(url) as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT 1 FROM pg_class")
        yield
        connection.rollback()


def _first_of_new(cluster: Cluster, beside: Team) -> Turn:
    """Start a process on the database of another team, and let it acquire once."""
    with cluster.joined(beside) as team:
        turn = cluster.measured(team, cycles=1)
        team.do(settle=1)
    return turn


def _reading(ours: list[Turn], theirs: list[Turn]) -> Reading:
    found = ratio(ours, theirs)
    return Reading(found.middle, str(found), *(f"{typical(each, cpu):,.0f} µs" for each in (ours, theirs)))
