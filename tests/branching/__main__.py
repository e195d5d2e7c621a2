"""Publishers, people who branch, hide and purge, a collector and readers.

``python -m tests.branching --store in_memory --operations 100000`` runs them in virtual time, on sqlite and dynamodb,
too; ``--store postgresql --seconds 60`` as real processes. ``--seed 17`` runs one seed; ``--without token``, or another
of the rules, leaves one out, and then something must be broken.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.branching.batch import run, tally
from tests.branching.broken import RULES
from tests.merging.batch import Tally
from tests.simulation.stores import STORES

REAL = "postgresql"


def main() -> int:
    """Run what the command line asks for; return 1 when a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.branching", description=__doc__)
    parser.add_argument("--store", choices=[*STORES, REAL], default="in_memory")
    parser.add_argument("--seed", type=int, help="only this one; of real processes: which faults come when (1)")
    parser.add_argument("--operations", type=int, default=100_000, help="how many calls to make in virtual time")
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no seed later than this")
    parser.add_argument("--seconds", type=float, default=60.0, help="of real processes: how long there are faults")
    parser.add_argument("--without", choices=RULES, help="leave out a rule")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--json", type=Path, help="append the report to this file as one line of JSON")
    given = parser.parse_args()
    return _real(given) if given.store == REAL else _virtual(given)


def _virtual(given: argparse.Namespace) -> int:
    if given.seed is not None:
        whole = tally(given.store, range(given.seed, given.seed + 1), given.without)
    else:
        whole = Tally(given.store, 0)
        for found in run(given.store, 0, given.operations, given.minutes * 60, given.jobs, given.without):
            whole += found
    print(whole)
    return _told([f"seed {seed} breaks {violation}" for seed, violation in whole.broken])


def _real(given: argparse.Namespace) -> int:
    from tests.branching.real import run_processes

    report = run_processes(given.seconds, given.seed or 1, given.without)
    print(report)
    if given.json:
        with given.json.open("a") as file:
            file.write(f"{report.line()}\n")
    return _told(report.violations)


def _told(violations: Sequence[str]) -> int:
    print(*violations[:5], sep="\n")
    return bool(violations)


if __name__ == "__main__":
    sys.exit(main())
