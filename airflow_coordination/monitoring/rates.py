"""How fast something happens, and how sure that is: the method of batch means, on one stretch of time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from math import sqrt
from statistics import variance
from typing import Final

BATCHES: Final = 12
"""A stretch is cut into so many equal parts; how their counts differ tells how sure their sum is."""
_STUDENT: Final = 2.201
"""Student's t for 95 % on both sides, with one degree of freedom less than there are parts."""
_MINUTE: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Rate:
    """How many of something a minute.

    :param per_minute: on the average of the stretch; below zero where people have undone more than was done.
    :param least: not fewer, with 95 % confidence, if it goes on as it went; never below zero.
    :param most: not more.
    """

    per_minute: float
    least: float
    most: float


def rate_of(happened: Iterable[tuple[timedelta, int]], lasted: timedelta) -> Rate | None:
    """Return the rate at which something happened, ``None`` for a stretch without length.

    What comes in bursts has a wide spread. It is one more or less at least, since a stretch begins and ends anywhere.

    :param happened: how long after the beginning, and how many at once.
    :param lasted: how long the stretch is.
    """
    if lasted <= timedelta(0):
        return None
    parts = [0] * BATCHES
    for after, number in happened:
        parts[min(max(int(BATCHES * (after / lasted)), 0), BATCHES - 1)] += number
    total, minutes = sum(parts), lasted / _MINUTE
    spread = max(1.0, _STUDENT * sqrt(BATCHES * variance(parts)))
    return Rate(total / minutes, max(0.0, total - spread) / minutes, (total + spread) / minutes)
