"""Many seeds, on all cores: what they did, and what they broke."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from multiprocessing.pool import AsyncResult
from typing import Protocol, TypeVar

from tests.simulation.run import Report, simulate
from tests.simulation.stores import STORES

CHUNK = 20
Task = TypeVar("Task")


class Tallied(Protocol):
    """What has done a number of operations."""

    operations: int


Counted = TypeVar("Counted", bound=Tallied)


@dataclass
class Tally:
    """What several seeds of one store did.

    :param first: the first seed; the others follow without a gap.
    :param operations: calls in their histories.
    :param told: how often callers were told what.
    :param faults: how often each kind happened.
    :param broken: seed and violation of those that broke a promise.
    :param seconds: of one core.
    """

    store: str
    first: int
    seeds: int = 0
    operations: int = 0
    told: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    broken: list[tuple[int, str]] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, report: Report) -> None:
        """Add one seed."""
        self.seeds += 1
        self.operations += report.operations
        for (kind, told), number in report.told.items():
            self.told[told] += number
            self.told[f"{kind}: {told}"] += number
        self.faults.update({fault.name: number for fault, number in report.faults.items()})
        self.broken += [(report.seed, str(violation)) for violation in report.violations]

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.store,
            min(self.first, other.first),
            self.seeds + other.seeds,
            self.operations + other.operations,
            self.told + other.told,
            self.faults + other.faults,
            self.broken + other.broken,
            self.seconds + other.seconds,
        )


def tally(store: str, seeds: range) -> Tally:
    """Run some seeds in this process."""
    logging.disable(logging.CRITICAL)  # the product's warnings about what is done to it here
    started, found = time.process_time(), Tally(store, seeds.start)
    for seed in seeds:
        found.add(simulate(seed, STORES[store]))
    found.seconds = time.process_time() - started
    return found


def _tally(task: tuple[str, range]) -> Tally:
    return tally(*task)


def run(store: str, first: int, operations: int, seconds: float, jobs: int) -> Iterator[Tally]:
    """Yield tallies of seeds from ``first`` on, until so many operations or seconds are over.

    :param seconds: no chunk of seeds begins later.
    :param jobs: processes at a time.
    """
    tasks = ((store, range(start, start + CHUNK)) for start in count(first, CHUNK))
    return on_all_cores(_tally, tasks, operations, seconds, jobs)


def on_all_cores(
    tally: Callable[[Task], Counted], tasks: Iterator[Task], operations: int, seconds: float, jobs: int
) -> Iterator[Counted]:
    """Yield what tasks come to, until so many operations or seconds are over.

    :param seconds: no task begins later.
    :param jobs: processes at a time.
    """
    deadline, done = time.monotonic() + seconds, 0
    # Not forked: what is left of other tests in this process (threads, a handler that swallows SIGTERM) stays behind.
    with multiprocessing.get_context("spawn").Pool(jobs, _collect_rarely) as pool:
        begun = deque[AsyncResult[Counted]]()
        while True:
            while len(begun) < 2 * jobs and done < operations and time.monotonic() < deadline:
                begun.append(pool.apply_async(tally, (next(tasks),)))  # one by one: no core waits for the others
            if not begun:
                return
            found = begun.popleft().get()
            done += found.operations
            yield found


def _collect_rarely() -> None:
    """Look for cycles once in 50,000 new objects, and never among what is loaded: that was a fifth of a run's CPU."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
