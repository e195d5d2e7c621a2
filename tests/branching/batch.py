"""Many seeds, on all cores: what they did, and what they broke."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Final

from tests.branching.virtual import simulate
from tests.merging.batch import Tally, quiet
from tests.simulation.batch import on_all_cores
from tests.simulation.stores import STORES

CHUNK: Final = 2


def tally(store: str, seeds: range, rule: str | None = None) -> Tally:
    """Run some seeds in this process.

    :param rule: is left out.
    """
    found = Tally(store, seeds.start)
    with quiet():
        for seed in seeds:
            found.add(simulate(seed, STORES[store], rule))
    return found


def _tally(task: tuple[str, range, str | None]) -> Tally:
    return tally(*task)


def run(store: str, first: int, operations: int, seconds: float, jobs: int, rule: str | None = None) -> Iterator[Tally]:
    """Yield tallies of seeds from ``first`` on, until so many operations or seconds are over.

    :param seconds: no chunk of seeds begins later.
    :param jobs: processes at a time.
    :param rule: is left out.
    """
    tasks = ((store, range(start, start + CHUNK), rule) for start in count(first, CHUNK))
    return on_all_cores(_tally, tasks, operations, seconds, jobs)
