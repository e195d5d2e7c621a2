"""``make bench`` runs every benchmark and writes docs/benchmarks.md; ``make bench NAME=postgresql`` runs one."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime

from rich.console import Console

from benchmarks.goals import Readings
from benchmarks.harness import page
from benchmarks.harness.machine import describe
from benchmarks.harness.run import Run
from benchmarks.registry import MODULES, load


def main() -> int:
    """Run what was asked for; write the page when everything ran at full size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which (all): {', '.join(MODULES)}")
    parser.add_argument("--quick", action="store_true", help="count only: statements, round trips, requests, log")
    parser.add_argument("--scale", type=float, default=1.0, help="smaller numbers, for a trial; no page is written")
    given = parser.parse_args()
    if unknown := set(given.names) - MODULES.keys():
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(MODULES)}")
    run, began = Run(Console(width=_width()), given.quick, given.scale), datetime.now(UTC)
    readings: Readings = {}
    for name in given.names or MODULES:
        run.console.rule(f"[bold]{name}")
        found = load(name)(run)
        if found:
            run.show(found)
        readings |= found
    if not (given.names or given.quick or given.scale != 1):
        page.write(readings, describe(began))
        run.console.print(f"written: {page.PAGE}")
    return 0


def _width() -> int:
    """Return the width of the terminal, and room for the widest table where there is none."""
    return Console().width if sys.stdout.isatty() else 140


if __name__ == "__main__":
    sys.exit(main())
