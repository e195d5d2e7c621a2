"""``python -m tests.model``: explore everything, and print what was found as a table: leases, overlays, branches.

``--minutes 30`` takes the wide bounds, each scenario for its share of the time; ``--only H3 O2`` takes some of them;
``--traces`` prints the shortest way to each violation.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from tests.model import full, holes
from tests.model.branches import holes as branches
from tests.model.branches.world import Branches
from tests.model.explorer import Explorer, Result, World
from tests.model.leases import Leases
from tests.model.overlays import holes as overlays
from tests.model.overlays.world import Overlays

MOST_STATES = 1_500_000
"""About a gigabyte."""


@dataclass(frozen=True, slots=True)
class Run:
    """One exploration, and whether it is to find a violation."""

    name: str
    title: str
    world: World
    finds: bool = False

    def fails(self, result: Result) -> bool:
        """Return whether the result is not what it should be."""
        return bool(result.violation) != self.finds


def runs(only: list[str], *, wide: bool) -> Iterator[Run]:
    """Yield what is to be explored."""
    for run in (
        *_runs(Leases, holes.HOLES, full.FULL, wide),
        *_runs(Overlays, overlays.HOLES, overlays.FULL, wide),
        *_runs(Branches, branches.HOLES, branches.FULL, wide),
    ):
        if not only or run.name in only:
            yield run


def _runs(world: Callable[[Any], World], pairs: Iterable[Any], together: Iterable[Any], wide: bool) -> Iterator[Run]:
    for pair in pairs:
        yield Run(pair.name, f"without: {pair.title}", world(pair.loosened), finds=True)
        yield Run(pair.name, f"with: {pair.title}", world(pair.scenario))
    for each in together:
        yield Run(each.name, each.wide.name.partition(" ")[2], world(each.wide if wide else each.small))


def row(run: Run, result: Result) -> tuple[str, ...]:
    """Return a line of the table."""
    whole = "" if result.complete or result.violation else " (stopped)"
    said = result.violation or ("none" if result.complete else "none so far")
    figures = (f"{result.states:,}{whole}", f"{result.edges:,}", str(result.depth), f"{result.seconds:.1f}")
    return (run.name, run.title, *figures, f"[red]{said}[/]" if run.fails(result) else said)


def explore(chosen: list[Run], minutes: float | None, console: Console, *, traces: bool) -> bool:
    """Explore one after the other, show the table as it grows, and return whether all was as it should be."""
    table = Table("", "scenario", "states", "edges", "depth", "seconds", "violations")
    ends, good = time.monotonic() + (minutes or 0) * 60, True
    with Live(table, console=console, auto_refresh=False) as live:
        for number, run in enumerate(chosen):
            share = (ends - time.monotonic()) / (len(chosen) - number)
            until = time.monotonic() + share if minutes else float("inf")
            result = Explorer(run.world, MOST_STATES, until).run()
            good &= not run.fails(result)
            table.add_row(*row(run, result))
            live.refresh()
            for line in result.trace if traces or run.fails(result) else ():
                console.print(f"{run.name}  {line}", markup=False, highlight=False)
    return good


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.model", description=__doc__)
    parser.add_argument("--minutes", type=float, help="explore the wide bounds for so long in all")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="only these: H3 A1 O2")
    parser.add_argument("--traces", action="store_true", help="print the shortest way to each violation")
    given = parser.parse_args()
    chosen = list(runs(given.only, wide=given.minutes is not None))
    return (
        0
        if explore(chosen, given.minutes, Console(width=None if sys.stdout.isatty() else 160), traces=given.traces)
        else 1
    )


if __name__ == "__main__":
    sys.exit(main())
