"""How many moves a run of a large tier may make: they grow with the data, and are bounded.

Source: Druid, ``SegmentToMoveCalculator`` (``smartSegmentLoading``). Its constants are tuning, and differ by version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from airflow_coordination.values.input_errors import InvalidInputError

OLDER: Final = 14
NEWER: Final = 16
"""Powers of two of the data at which the least number of moves grows, in older and newer versions of Druid."""
_A_HUNDRED: Final = 100
_STEPS_IN_A_PERIOD: Final = 4
_STEP_MS: Final = 30_000


def least_moves(copies: int, power: int = NEWER) -> int:
    """Return how many moves are always allowed; a small tier may move all it has.

    :param copies: how many lie in the tier.
    :param power: :data:`OLDER` or :data:`NEWER`.
    :raises InvalidInputError: when there are fewer than none.
    """
    _whole("copies", copies)
    return max(min(_A_HUNDRED, copies), (copies >> power) * _A_HUNDRED)


def most_moves(copies: int, threads: int, period_ms: int) -> int:
    """Return the most moves: few of what there is, and fewer the longer each takes to decide.

    :param threads: how many decide.
    :param period_ms: milliseconds from run to run.
    :raises InvalidInputError: when a number is negative.
    """
    for name, value in (("copies", copies), ("threads", threads), ("period_ms", period_ms)):
        _whole(name, value)
    part = (copies >> 9) * _A_HUNDRED
    if part < _A_HUNDRED:
        return min(_A_HUNDRED, copies)
    steps = threads * min(_STEPS_IN_A_PERIOD, period_ms // _STEP_MS)
    return min(part, (steps << 20) // copies * 1_000)


def skew_by_counts(locations: Sequence[Mapping[str, int]]) -> int:
    """Return how many moves even out the dataset whose copies lie most unevenly.

    :param locations: of each location, how many copies each dataset has there.
    """
    names = {name for one in locations for name in one}
    counts = [[one.get(name, 0) for one in locations] for name in names]
    return max((max(row) - min(row) for row in counts), default=0) // 2


def skew_by_bytes(used: Sequence[int], average: float) -> int:
    """Return how many moves of the average size even out the bytes.

    :param used: bytes that each location has.
    :param average: bytes of a copy.
    """
    return int((max(used) - min(used)) / average) // 2 if used and average > 0 else 0


def _whole(name: str, value: int) -> None:
    if value < 0:
        raise InvalidInputError(name, value, "is negative", "Give a whole number from 0 on")
