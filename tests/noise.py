"""Holds threads up at random, a test's own among them: ``pytest -p tests.noise``, or ``make test-noise``.

A test that lets two threads race, or waits for a duration, passes on a quiet machine and fails in one landing of a
hundred. With noise between its calls it fails within a few seeds, and so do races of the product (noise injection, as
ConTest does it for Java). Programs that a test starts are not held up.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterator, KeysView
from pathlib import Path
from types import FrameType
from typing import Final

import pytest

from scripts.walk import profiled_by

SEED: Final = "COORDINATION_TEST_NOISE"
"""Of this environment variable: what the noise is drawn from, beside the test's ID."""
ROOT: Final = Path(__file__).parents[1]
HELD_UP: Final = (f"{ROOT / 'airflow_coordination'}/", f"{ROOT / 'tests'}/", threading.__file__)
PAUSES: Final = (0.0, 0.001, 0.005, 0.02)
"""Seconds. The first gives way to another thread, the last is longer than most waits between two looks."""
LONGEST: Final = 1.5
"""Seconds of a test, all together."""


class Noise:
    """What is called at each call and return of every thread.

    It does nothing while no thread runs beside those that were there before the test; most tests have none. Its pauses
    are dense in the beginning and then fewer and fewer, so that as many fall on a short race as on a long run.

    :param seed: the same one draws the same pauses; after how many calls of which thread they come, the threads decide.
    :param sleep: takes seconds.
    """

    def __init__(self, seed: str, sleep: Callable[[float], object] = time.sleep) -> None:
        self._random, self._sleep = random.Random(seed), sleep
        self._calls, self._next, self._left = 0, self._random.randint(0, 3), LONGEST
        self._before = set(_threads())

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        """Count a call, and hold its thread up if it is its turn."""
        if event in ("call", "return") and frame.f_code.co_filename.startswith(HELD_UP) and _threads() - self._before:
            self._calls += 1
            if self._calls >= self._next and self._left > 0:
                self._next = self._calls + 1 + int(self._random.expovariate(1) * (2 + self._calls / 3))
                seconds = self._random.choice(PAUSES)
                self._left -= seconds
                self._sleep(seconds)


def _threads() -> KeysView[int]:
    return threading._active.keys()  # type: ignore[attr-defined]  # what is public takes a lock, and is called here


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Hold up the threads of one test."""
    with profiled_by(Noise(f"{os.environ.get(SEED, '0')} {item.nodeid}")):
        return (yield)
