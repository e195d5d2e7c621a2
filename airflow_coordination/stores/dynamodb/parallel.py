"""Several requests of one step under way at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

PARALLEL: Final = 8
"""How many requests of one step are under way at a time."""
T = TypeVar("T")


def side_by_side(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Make calls, ``PARALLEL`` of them at a time, and return their results; one at a time stays in this thread."""
    if min(PARALLEL, len(calls)) <= 1:
        return [call() for call in calls]
    with ThreadPoolExecutor(min(PARALLEL, len(calls))) as pool:
        running = [pool.submit(call) for call in calls]
    return [task.result() for task in running]
