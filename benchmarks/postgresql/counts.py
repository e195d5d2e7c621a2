"""What one cycle of a system sends and leaves behind, counted: these numbers are the same on every machine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.harness.postgres import Cluster
from benchmarks.harness.run import Run
from benchmarks.harness.systems import Spec, Team, together
from tests.faults.postgres_cuts import cutting_proxy

ROWS, WARM, CYCLES = 1_000, 20, 200
_STATISTICS_SECONDS = 1.1
"""A backend reports what it did when it ends a statement and has not reported for a second."""
_SYNCS = "SELECT wal_sync FROM pg_stat_wal"


@dataclass(frozen=True)
class Counts:
    """Of one cycle.

    :param syncs: how often the write-ahead log went to the disk: as often as something was committed, or the system
        does without durability.
    :param statements: round trips, counted on the wire.
    :param wal: bytes of write-ahead log.
    """

    syncs: float
    statements: float
    wal: float


def count(cluster: Cluster, spec: Spec, cycles: int = CYCLES) -> Counts:
    """Count what a system does, through a proxy."""
    if spec.made == "benchmarks.ours:Ours":
        spec = replace(spec, options=spec.options | {"unhurried": True})
    with cluster.copy(spec, ROWS) as url, cutting_proxy(url) as (through, proxy), together([]) as teams:
        team = Team(spec, url=through)
        teams.append(team)
        team.do(cycles=WARM)
        before = _reported(cluster, team), proxy.statements, cluster.wal()
        team.do(cycles=cycles - 1)
        after = _reported(cluster, team), proxy.statements, cluster.wal()
    return Counts(*((end - start) / cycles for start, end in zip(before, after, strict=True)))


def _reported(cluster: Cluster, team: Team) -> int:
    """Return how often the log was synced, after one cycle more that lets the backend report what it did before."""
    time.sleep(_STATISTICS_SECONDS)
    team.do(cycles=1)
    return int(cluster.one(_SYNCS))


def show(run: Run, cluster: Cluster, specs: Sequence[Spec]) -> dict[str, Counts]:
    """Count several systems and print it."""
    table = run.table("Counted, of one cycle", "system", "statements", "syncs", "WAL bytes")
    counted = {}
    for spec in specs:
        found = counted[spec.name] = count(cluster, spec)
        table.add_row(spec.name, f"{found.statements:.2f}", f"{found.syncs:.2f}", f"{found.wal:,.0f}")
    run.console.print(table)
    return counted
