"""What can go wrong with a message, and how often."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Fault(Enum):
    """What happens to one message, or to who sends it."""

    ANSWER_LOST = "applied, and the answer is lost"
    LOST = "lost before it is applied"
    LATE = "applied late, and no answer comes"
    TWICE = "applied, answered, and applied once more later"
    UNREACHABLE = "not sent: nobody answers at the address"
    THROTTLED = "refused for want of capacity"
    CANNOT = "answered with: cannot (disk full)"
    STALE = "a list from some seconds ago"
    KILLED_BEFORE = "the process is killed before it sends"
    KILLED_AFTER = "the process is killed after it has sent"
    STOPPED_BEFORE = "the process is stopped past its lease before it sends"
    STOPPED_AFTER = "the process is stopped past its lease before it hears the answer"
    CLOCK = "a process's wall clock jumps"
    OUTAGE = "the store is silent for a while"
    ITEM_GONE = "an item is deleted under everybody"


MESSAGES: Mapping[Fault, float] = {
    Fault.ANSWER_LOST: 0.018,
    Fault.LOST: 0.010,
    Fault.LATE: 0.012,
    Fault.TWICE: 0.012,
    Fault.UNREACHABLE: 0.008,
    Fault.THROTTLED: 0.006,
    Fault.CANNOT: 0.003,
    Fault.KILLED_BEFORE: 0.0015,
    Fault.KILLED_AFTER: 0.0025,
    Fault.STOPPED_BEFORE: 0.002,
    Fault.STOPPED_AFTER: 0.002,
}
"""The chance of each for one message, before a seed's own temper."""


@dataclass
class Weather:
    """Draws the faults of one run and counts them.

    :param source: seeded.
    :param temper: multiplies all chances.
    :param without: names of faults that do not happen.
    :param gusts: the chance that one fault is followed by another.
    """

    source: random.Random
    temper: float = 1.0
    without: frozenset[str] = frozenset()
    gusts: float = 0.0
    calm: bool = False
    counts: Counter[Fault] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        total, self._table = 0.0, list[tuple[float, Fault]]()
        for fault, chance in MESSAGES.items():
            total += chance * self.temper
            self._table.append((total, fault))
        self._total = total
        self._chance = total

    def draw(self) -> Fault | None:
        """Return what happens to the next message."""
        if self.calm:
            return None
        if self.source.random() >= self._chance:
            self._chance = self._total
            return None
        self._chance = max(self._total, self.gusts)
        at = self.source.random() * self._total
        fault = next(fault for limit, fault in self._table if at < limit)
        return fault if self.allows(fault) else None

    def allows(self, fault: Fault) -> bool:
        """Return whether a fault may happen in this run."""
        return fault.name not in self.without

    def count(self, fault: Fault) -> None:
        """Note that a fault really happened."""
        self.counts[fault] += 1
