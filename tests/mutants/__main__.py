"""Tries mutants, and says what caught each; exits with 1 if one survives."""

from __future__ import annotations

import argparse
import sys

from rich.console import Console
from rich.table import Table

from tests.mutants.catalogue import CONTROLS, MUTANTS
from tests.mutants.mutant import Simulated
from tests.mutants.runner import all_tried, is_as_expected
from tests.mutants.seen import changed, remember
from tests.mutants.trial import Verdict


def _table(verdicts: list[Verdict]) -> Table:
    promises = {mutant.name: mutant.breaks for mutant in MUTANTS}
    table = Table("mutant", "what it breaks", "caught by", "operations", "seconds", title="Mutants")
    for verdict in verdicts:
        caught = verdict.caught_by or ("" if verdict.name in CONTROLS else "[bold red]SURVIVES")
        seconds = f"{verdict.seconds:.1f}"
        table.add_row(verdict.name, promises.get(verdict.name, ""), caught, f"{verdict.operations:,}", seconds)
    return table


def _progress(number: int, of: int, verdict: Verdict) -> None:
    said = verdict.caught_by or "nothing caught it"
    print(f"{number}/{of} {verdict.name}: {said}, {verdict.operations} operations", file=sys.stderr, flush=True)


def main() -> int:
    """Try those that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--only", action="append", metavar="NAME", help="try this one; may be repeated")
    parser.add_argument("--changed", action="store_true", help="only those whose code or test has changed since")
    parser.add_argument("--remember", action="store_true", help="with --changed: write down those that were caught")
    parser.add_argument("--operations", type=int, help="calls that one mutant may take at most")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (2)")
    parser.add_argument("--explain", action="store_true", help="print what was seen")
    asked = parser.parse_args()
    mutants = changed(MUTANTS) if asked.changed else MUTANTS
    simulated = any(isinstance(mutant.catcher, Simulated) for mutant in mutants)
    names = asked.only or [*(CONTROLS if simulated else ()), *(mutant.name for mutant in mutants)]
    console = Console(width=None if sys.stdout.isatty() else 180)
    verdicts = []
    for verdict in all_tried(names, asked.jobs, asked.operations):
        verdicts.append(verdict)
        _progress(len(verdicts), len(names), verdict)
        if (asked.remember or not asked.changed) and is_as_expected(verdict):
            remember(mutant for mutant in MUTANTS if mutant.name == verdict.name)
    console.print(_table(verdicts))
    if asked.explain:
        for verdict in verdicts:
            console.print(f"{verdict.name}, seeds {verdict.seeds}: {verdict.what}\n", markup=False)
    wrong = [verdict.name for verdict in verdicts if not is_as_expected(verdict)]
    console.print(f"{len(verdicts) - len(wrong)} of {len(verdicts)} as they should be", *wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
