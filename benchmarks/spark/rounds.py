"""Several ways of doing the same, in turn: the wall time of each, round by round."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from benchmarks.goals import Reading, Readings
from benchmarks.harness.figures import of_pairs
from benchmarks.harness.run import Run

Ways = Mapping[str, Callable[[int], object]]
"""What does it, by its name; each is given the number of the round."""
Seconds = dict[str, list[float]]


def in_turn(run: Run, title: str, ways: Ways, rounds: int, warm: int) -> Seconds:
    """Return what each way took, in an order drawn anew for each round.

    :param warm: so many rounds go before, and are not measured.
    """
    seconds: Seconds = {name: [] for name in ways}
    order = list(ways)
    with run.progress(f"{title}: rounds", warm + rounds) as advance:
        for number in range(warm + rounds):
            random.shuffle(order)
            for name in order:
                began = time.perf_counter()
                ways[name](number)
                if number >= warm:
                    seconds[name].append(time.perf_counter() - began)
            advance()
    return seconds


def reading(name: str, above: Sequence[float], below: Sequence[float]) -> Readings:
    """Return the ratio of two ways, taken within each round.

    :param name: of the aim.
    """
    found = of_pairs([one / other for one, other in zip(above, below, strict=True)])
    return {name: Reading(found.middle, str(found), f"{median(above):.2f} s", f"{median(below):.2f} s")}
