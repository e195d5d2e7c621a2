"""How many groups run at once.

Source: the seed, ``min(sum of worker capacity * slotRatio, maxSlots)``, and at least one if nothing runs. The seed
wants that one also for a limit of 0; what shall not be compacted is switched off by its configuration.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from airflow_coordination.values.input_errors import InvalidInputError

_T = TypeVar("_T")
MOST_IN_A_PLAN: Final = 1_024
"""What Airflow maps at most (``max_map_length``); the rest of a plan is for the next run."""


@dataclass(frozen=True, slots=True)
class Slots:
    """A share of the workers.

    :param ratio: the part of their capacity, from 0 to 1.
    :param max_slots: the most there are; ``None`` for no limit.
    :param at_least: how many there are when nothing runs, whatever the share; 1 for compaction, 0 for deleting.
    :raises InvalidInputError: when a number is out of its range.
    """

    ratio: float = 0.1
    max_slots: int | None = None
    at_least: int = 1

    def __post_init__(self) -> None:
        ratio: object = self.ratio
        if not isinstance(ratio, int | float) or isinstance(ratio, bool) or not 0 <= ratio <= 1:  # NaN is not, either
            problem = "is no part of a whole"
            raise InvalidInputError("slots.ratio", ratio, problem, "Give a number from 0 to 1, such as 0.1")
        for name in ("max_slots", "at_least"):
            value = getattr(self, name)
            if value is not None:
                _whole(f"slots.{name}", value)

    def limit(self, capacity: int) -> int:
        """Return how many there are.

        :param capacity: places of all workers that are alive.
        :raises InvalidInputError: when it is negative or no number.
        """
        _whole("slots.capacity", capacity)
        share = math.floor(capacity * self.ratio)
        return share if self.max_slots is None else min(share, self.max_slots)

    def available(self, capacity: int, busy: int) -> int:
        """Return how many are free.

        :param busy: how many are taken, also by what began in an earlier run.
        :raises InvalidInputError: when a number is negative.
        """
        _whole("slots.busy", busy)
        limit = self.limit(capacity)
        return max(0, limit - busy) if busy else max(self.at_least, limit)


@dataclass(frozen=True, slots=True)
class CompactionSlots:
    """How many groups of compaction may be claimable or held at once; at least one when there are none.

    :param ratio: the part of the workers' capacity, from 0 to 1.
    :param max_slots: the most there are; ``None`` for no limit.
    :param capacity: how many leases all workers may hold at once: a number, or a function that counts them. ``None``:
        the places of those that are alive in the source of the groups, or ``max_slots`` where none say so: they are
        tasks then, which Airflow limits.
    :raises InvalidInputError: when a number is out of its range.
    """

    ratio: float = 0.1
    max_slots: int | None = None
    capacity: int | Callable[[], int] | None = None

    def __post_init__(self) -> None:
        Slots(self.ratio, self.max_slots)
        if self.capacity is not None and not callable(self.capacity):
            _whole("slots.capacity", self.capacity)

    def available(self, places: int, busy: int) -> int:
        """Return how many groups may begin.

        :param places: of the workers that are alive.
        :param busy: how many groups are claimable or held.
        :raises InvalidInputError: when a number is negative, or what the function returns is none.
        """
        slots = Slots(self.ratio, self.max_slots)
        if self.capacity is None and not places:
            limit = self.max_slots or slots.at_least
            return max(0, limit - busy)
        counted = self.capacity() if callable(self.capacity) else self.capacity
        return slots.available(places if counted is None else counted, busy)


def _whole(field: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidInputError(field, value, "is no whole number from 0 on", "Give 0 or more")


def slots_of(subtasks: int | None, *, by_range: bool) -> int:
    """Return how many slots one group takes: one, or where it works in parallel one more than it has workers.

    :param subtasks: the most that work on it at once; ``None`` if it does not say.
    :param by_range: whether its output is divided by ranges, which a single worker does in parallel, too.
    """
    return subtasks + 1 if works_in_parallel(subtasks, by_range=by_range) else 1  # type: ignore[operator]


def works_in_parallel(subtasks: int | None, *, by_range: bool) -> bool:
    """Tell whether one group has workers of its own (Druid: ``isParallelMode``)."""
    return subtasks is not None and subtasks >= (1 if by_range else 2)


def first(tasks: Iterable[tuple[_T, int]], available: int, most: int = MOST_IN_A_PLAN) -> tuple[list[_T], int]:
    """Return the tasks that start now, and how many are left for later runs.

    They start in their order while a slot is free, so the last one may take more than there are (Druid).

    :param tasks: each with the slots it takes.
    :param available: how many are free.
    :param most: how many start at once, whatever is free.
    """
    row: Sequence[tuple[_T, int]] = list(tasks)
    taken: list[_T] = []
    used = 0
    for task, cost in row:
        if used >= available or len(taken) >= most:
            break
        taken.append(task)
        used += cost
    return taken, len(row) - len(taken)
