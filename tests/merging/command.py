"""The command that runs a house in virtual time, or as real processes: ``tests.merging``, ``tests.branching``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.merging.batch import Tally
from tests.simulation.stores import STORES

if TYPE_CHECKING:
    from tests.merging.real import Report

REAL = "postgresql"


@dataclass(frozen=True)
class Command:
    """What one of them runs.

    :param package: as in ``python -m tests.merging``.
    :param about: what its help says.
    :param rules: that can be left out.
    :param tally: runs seeds in this process.
    :param run: yields tallies of seeds.
    :param run_processes: runs real ones for so many seconds, with a seed.
    """

    package: str
    about: str | None
    rules: Collection[str]
    tally: Callable[[str, range, str | None], Tally]
    run: Callable[[str, int, int, float, int, str | None], Iterator[Tally]]
    run_processes: Callable[[float, int, str | None], Report]

    def main(self) -> int:
        """Run what the command line asks for; return 1 when a promise was broken."""
        given = self._parser().parse_args()
        return self._real(given) if given.store == REAL else self._virtual(given)

    def _parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(prog=f"python -m {self.package}", description=self.about)
        parser.add_argument("--store", choices=[*STORES, REAL], default="in_memory")
        parser.add_argument("--seed", type=int, help="only this one; of real processes: which faults come when (1)")
        parser.add_argument("--operations", type=int, default=100_000, help="how many calls to make in virtual time")
        parser.add_argument("--minutes", type=float, default=60.0, help="begin no seed later than this")
        parser.add_argument("--seconds", type=float, default=60.0, help="of real processes: how long there are faults")
        parser.add_argument("--without", choices=self.rules, help="leave out a rule")
        parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
        parser.add_argument("--json", type=Path, help="append the report to this file as one line of JSON")
        return parser

    def _virtual(self, given: argparse.Namespace) -> int:
        if given.seed is not None:
            whole = self.tally(given.store, range(given.seed, given.seed + 1), given.without)
        else:
            whole = Tally(given.store, 0)
            for found in self.run(given.store, 0, given.operations, given.minutes * 60, given.jobs, given.without):
                whole += found
        print(whole)
        return _told([f"seed {seed} breaks {violation}" for seed, violation in whole.broken])

    def _real(self, given: argparse.Namespace) -> int:
        report = self.run_processes(given.seconds, given.seed or 1, given.without)
        print(report)
        if given.json:
            with given.json.open("a") as file:
                file.write(f"{report.line()}\n")
        return _told(report.violations)


def _told(violations: Sequence[str]) -> int:
    print(*violations[:5], sep="\n")
    return bool(violations)
