"""Tables and readings of what systems took, turn by turn."""

from __future__ import annotations

from benchmarks.goals import Reading
from benchmarks.harness.figures import Figure, Turns, cpu, ratio, typical
from benchmarks.harness.run import Run
from benchmarks.harness.systems import Spec
from benchmarks.harness.turns import Measured

_FIGURES: tuple[Figure, ...] = (
    lambda turn: turn.client_cpu,
    lambda turn: turn.server_cpu,
    cpu,
    lambda turn: turn.wal_bytes,
    lambda turn: turn.rate,
)


def beside(measured: Measured, one: Spec, other: Spec, figure: Figure = cpu, unit: str = "µs") -> Reading:
    """Return how many times as much one system takes as another."""
    turns = measured[one.name], measured[other.name]
    found = ratio(*turns, figure)
    return Reading(found.middle, str(found), *(f"{typical(each, figure):,.0f} {unit}" for each in turns))


def against(measured: Measured, peer: Spec, ours: Spec) -> Reading:
    """Return how many times as much a peer takes, our own figure first."""
    found = beside(measured, peer, ours)
    return Reading(found.value, found.shown, found.theirs, found.ours)


def show(run: Run, title: str, measured: Measured) -> None:
    """Print the medians of each system, and how many times as much as the first one it takes."""
    columns = ("client µs", "server µs", "together", "WAL bytes", "cycles/s", "CPU beside the first")
    table = run.table(f"{title}; medians, CPU a cycle", "system", *columns)
    first: Turns = next(iter(measured.values()))
    for name, turns in measured.items():
        figures = (typical(turns, figure) for figure in _FIGURES)
        table.add_row(name, *(f"{figure:,.0f}" for figure in figures), str(ratio(turns, first)))
    run.console.print(table)
