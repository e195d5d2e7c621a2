"""Tries the mutants of plain modules; prints new survivors as lines of the list, and exits with 1 if there are any."""

from __future__ import annotations

import argparse
import sys

from tests.mutants.plain.known import line_of
from tests.mutants.plain.sources import MODULES
from tests.mutants.plain.trial import Tried, tried


def main() -> int:
    """Try those of the modules that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.plain", description=__doc__)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=f"of {', '.join(MODULES)} (all)")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (2)")
    asked = parser.parse_args()
    if unknown := set(asked.modules) - set(MODULES):
        parser.error(f"there is no {', '.join(sorted(unknown))} among {', '.join(MODULES)}")
    found = list[Tried]()
    for one in tried(asked.modules or MODULES, asked.jobs):
        found.append(one)
        _tell(one)
    return int(any(one.new for one in found))


def _tell(one: Tried) -> None:
    by = ", ".join(f"{name} {count}" for name, count in sorted(one.caught.items()))
    share = sum(one.caught.values()) / one.mutants
    print(f"{one.module}: {share:.1%} of {one.mutants} were caught ({by}), {len(one.new)} survive and are not listed")
    for mutant in one.new:
        print(line_of(mutant, "?"))
    for mutant in one.idle:
        print(f"listed, and caught by now: {line_of(mutant, '')}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
