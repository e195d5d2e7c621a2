"""Several ways of doing the same, in turn: the wall time of each, round by round."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping

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
