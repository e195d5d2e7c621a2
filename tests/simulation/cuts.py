"""A smaller run that breaks the same promise: shorter, with fewer processes and fewer kinds of faults."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tests.simulation.faults import Fault


@dataclass(frozen=True, slots=True)
class Cut:
    """What is left out of a run.

    :param until: the faults end after so many virtual seconds; as the seed says when ``None``.
    :param without: names of faults and of processes that do not take part.
    """

    until: float | None = None
    without: frozenset[str] = frozenset()


WHOLE = Cut()


def shrink(fails: Callable[[Cut], bool], tasks: Iterator[str], length: float, seconds: float = 30.0) -> Cut:
    """Return the smallest cut found that still fails.

    :param fails: runs the seed with a cut.
    :param tasks: names of the processes.
    :param length: of the whole run in virtual seconds.
    :param seconds: time for the search.
    """
    deadline, cut = time.monotonic() + seconds, WHOLE
    for name in [*tasks, *(fault.name for fault in Fault)]:
        smaller = replace(cut, without=cut.without | {name})
        if time.monotonic() < deadline and fails(smaller):
            cut = smaller
    step = length / 2
    while step > 1 and time.monotonic() < deadline:
        shorter = replace(cut, until=(length if cut.until is None else cut.until) - step)
        cut = shorter if fails(shorter) else cut
        step /= 2
    return cut
