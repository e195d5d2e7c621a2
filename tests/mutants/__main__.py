"""Tries mutants, and says what caught each; exits with 1 if one survives that is not known to be equivalent."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from fnmatch import fnmatchcase

from rich.console import Console
from rich.table import Table

from tests.mutants.catalogue import CONTROLS, MUTANTS
from tests.mutants.equivalent import reason_of
from tests.mutants.runner import all_tried, is_as_expected
from tests.mutants.selection import EVERY, due_now
from tests.mutants.trial import Verdict


def _table(verdicts: list[Verdict]) -> Table:
    promises = {mutant.name: mutant.breaks for mutant in MUTANTS}
    table = Table("mutant", "what it breaks", "caught by", "operations", "seconds", title="Mutants")
    for verdict in verdicts:
        nobody = "" if is_as_expected(verdict) else "[bold red]SURVIVES"
        caught = verdict.caught_by or reason_of(verdict.name) or nobody
        breaks = promises.get(verdict.name, "")
        table.add_row(verdict.name, breaks, caught, f"{verdict.operations:,}", f"{verdict.seconds:.1f}")
    return table


def _progress(number: int, of: int, verdict: Verdict) -> None:
    said = verdict.caught_by or "nothing caught it"
    print(f"{number}/{of} {verdict.name}: {said}, {verdict.operations} operations", file=sys.stderr, flush=True)


def _asked_for(patterns: Iterable[str]) -> list[str]:
    """Return the names that are meant, each of which may hold asterisks.

    :raises SystemExit: when one of them is the name of none.
    """
    found = list[str]()
    for pattern in patterns:
        names = [name for name in (*CONTROLS, *EVERY) if name == pattern or fnmatchcase(name, pattern)]
        if not names:
            raise SystemExit(f"There is no mutant {pattern!r}. Those of a rule: ONLY='rule.acquire/*'")
        found += names
    return found


def main() -> int:
    """Try those that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--only", action="append", metavar="NAME", help="try this one, or those of a pattern")
    parser.add_argument("--changed", action="store_true", help="only those of what has changed, and not too many")
    parser.add_argument("--operations", type=int, help="calls that one mutant may take at most")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (2)")
    parser.add_argument("--explain", action="store_true", help="print what was seen")
    asked = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 180)
    names = _asked_for(asked.only) if asked.only else [*CONTROLS, *EVERY]
    if asked.changed:
        due = due_now()
        names = list(due.names)
        console.print(f"{len(names)} mutants {due.since}; {due.left} more are left to make proof", highlight=False)
    verdicts = []
    for verdict in all_tried(names, asked.jobs, asked.operations):
        verdicts.append(verdict)
        _progress(len(verdicts), len(names), verdict)
    console.print(_table(verdicts))
    if asked.explain:
        for verdict in verdicts:
            console.print(f"{verdict.name}, seeds {verdict.seeds}: {verdict.what}\n", markup=False)
    return _told(console, verdicts)


def _told(console: Console, verdicts: list[Verdict]) -> int:
    wrong = [verdict.name for verdict in verdicts if not is_as_expected(verdict)]
    caught = sum(verdict.caught_by is not None for verdict in verdicts)
    equivalent = sum(verdict.caught_by is None and verdict.name not in wrong for verdict in verdicts)
    console.print(f"{caught} caught, {equivalent} as good as the code, {len(wrong)} wrong", *wrong, highlight=False)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
