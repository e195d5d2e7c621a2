"""Simulate seeds: ``python -m tests.simulation --operations 100000``; ``--seed 17 --store sqlite`` shows one."""

from __future__ import annotations

import argparse
import logging
import sys

from rich.progress import Progress

from tests.simulation.batch import Tally, run
from tests.simulation.cuts import WHOLE, Cut, shrink
from tests.simulation.run import run_phases, violations
from tests.simulation.setup import Setup
from tests.simulation.stores import STORES


def main() -> int:
    """Run what the command line asks for; return 1 when a promise was broken."""
    given = _arguments()
    logging.disable(logging.CRITICAL)
    return _show(given) if given.seed is not None else _many(given)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--store", choices=STORES, default="in_memory")
    parser.add_argument("--seed", type=int, help="show this one seed with its whole history")
    parser.add_argument("--until", type=float, help="of that seed: end the faults after so many virtual seconds")
    parser.add_argument("--without", default="", help="of that seed: faults and processes to leave out")
    parser.add_argument("--operations", type=int, default=100_000, help="how many calls to make")
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no seed later than this")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    return parser.parse_args()


def _show(given: argparse.Namespace) -> int:
    cut = Cut(given.until, frozenset(filter(None, given.without.split(","))))
    setup = Setup(given.seed, STORES[given.store], cut)
    try:
        run_phases(setup)
        print(*setup.log.operations, sep="\n")
        broken = [str(violation) for violation in violations(setup)]
        print(f"\n{len(setup.log.operations)} operations, {setup.weather.counts.total()} faults")
        print(*(broken or ["every promise was kept"]), sep="\n")
        return bool(broken)
    finally:
        setup.clear()


def _many(given: argparse.Namespace) -> int:
    whole = Tally(given.store, 0)
    with Progress(transient=True) as bar:
        task = bar.add_task(f"simulating {given.store}", total=given.operations)
        for found in run(given.store, 0, given.operations, given.minutes * 60, given.jobs):
            whole += found
            bar.update(task, completed=whole.operations)
    print(f"{whole.operations:,} operations, {whole.faults.total():,} faults, {whole.seeds:,} seeds on {whole.store}")
    for seed, violation in whole.broken[:3]:
        print(f"seed {seed} breaks {violation}\nSee it: {replay(given.store, seed)}")
    return bool(whole.broken)


def replay(store: str, seed: int) -> str:
    """Return the shortest command that shows a seed that fails."""

    def fails(cut: Cut) -> bool:
        setup = Setup(seed, STORES[store], cut)
        try:
            run_phases(setup)
            return any(violations(setup))
        finally:
            setup.clear()

    whole = Setup(seed, STORES[store], WHOLE)
    cut = shrink(fails, iter(whole.tasks), whole.length)
    whole.clear()
    words = ["python -m tests.simulation", f"--store {store} --seed {seed}"]
    if cut.until is not None:
        words.append(f"--until {cut.until:.1f}")
    if cut.without:
        words.append(f"--without {','.join(sorted(cut.without))}")
    return " ".join(words)


if __name__ == "__main__":
    sys.exit(main())
