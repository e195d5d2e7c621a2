"""Many seeds, on all cores: what they did, and what they broke."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from tests.merging.virtual import Report, simulate
from tests.simulation.batch import on_all_cores
from tests.simulation.stores import STORES, MakeStore

CHUNK: Final = 2


@dataclass
class Tally:
    """What several seeds of one store did.

    :param first: the first seed; the others follow without a gap.
    :param counts: what actors have done, how often.
    :param broken: seed and violation.
    """

    store: str
    first: int
    seeds: int = 0
    operations: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    broken: list[tuple[int, str]] = field(default_factory=list)

    def add(self, report: Report) -> None:
        """Add one seed."""
        self.seeds += 1
        self.operations += report.operations
        self.faults.update(report.faults)
        self.counts.update(report.counts)
        self.broken += [(report.seed, violation) for violation in report.broken]

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.store,
            min(self.first, other.first),
            self.seeds + other.seeds,
            self.operations + other.operations,
            self.faults + other.faults,
            self.counts + other.counts,
            self.broken + other.broken,
        )

    def __str__(self) -> str:
        done = ", ".join(f"{name} {number:,}" for name, number in sorted(self.counts.items()))
        return (
            f"{self.operations:,} operations, {self.faults.total():,} faults, {self.seeds:,} seeds on {self.store}, "
            f"{len(self.broken)} violations: {done}"
        )


@contextmanager
def quiet() -> Iterator[None]:
    """Say nothing of the product's warnings about what is done to it here; other tests of this process hear theirs."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


Simulate = Callable[[int, MakeStore, str | None], Report]
Task = tuple[str, range, str | None, Simulate]


def tally(store: str, seeds: range, rule: str | None = None, simulate: Simulate = simulate) -> Tally:
    """Run some seeds in this process.

    :param rule: is left out.
    :param simulate: runs one seed.
    """
    found = Tally(store, seeds.start)
    with quiet():
        for seed in seeds:
            found.add(simulate(seed, STORES[store], rule))
    return found


def _tally(task: Task) -> Tally:
    return tally(*task)


def run(
    store: str,
    first: int,
    operations: int,
    seconds: float,
    jobs: int,
    rule: str | None = None,
    simulate: Simulate = simulate,
) -> Iterator[Tally]:
    """Yield tallies of seeds from ``first`` on, until so many operations or seconds are over.

    :param seconds: no chunk of seeds begins later.
    :param jobs: processes at a time.
    :param rule: is left out.
    :param simulate: runs one seed.
    """
    tasks = ((store, range(start, start + CHUNK), rule, simulate) for start in count(first, CHUNK))
    return on_all_cores(_tally, tasks, operations, seconds, jobs)
