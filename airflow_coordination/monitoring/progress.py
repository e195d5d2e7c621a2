"""How far a source is, how fast it moves, and when it will be done."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from airflow_coordination.leases.results import Outlook

WINDOW: Final = timedelta(minutes=5)
"""The rate is that of the newest looks, as far as they go back."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What one look has seen.

    :param outlook: how many partitions are in each state.
    :param per_minute: how many were completed a minute since the oldest look of the window; ``None`` at the first.
    """

    outlook: Outlook
    per_minute: float | None

    @property
    def left(self) -> int:
        """How many partitions are still to be worked on without a person's help."""
        return self.outlook.claimable + self.outlook.assigned + self.outlook.waiting

    @property
    def total(self) -> int:
        """How many partitions there are."""
        return self.left + self.outlook.parked + self.outlook.completed

    @property
    def remaining(self) -> timedelta | None:
        """How long the rest takes at this rate, ``None`` where nothing moves."""
        if not self.left:
            return timedelta(0)
        return timedelta(minutes=self.left / self.per_minute) if self.per_minute and self.per_minute > 0 else None

    def __str__(self) -> str:
        seen = self.outlook
        states = (
            f"{seen.completed} of {self.total} completed, {seen.assigned} assigned, {seen.claimable} claimable, "
            f"{seen.waiting} waiting, {seen.parked} parked"
        )
        return f"{states}; {self._ahead()}"

    def _ahead(self) -> str:
        if self.left and self.outlook.paused:
            return str(self.outlook.pause)
        if not self.left:
            return f"only a person can move the {self.outlook.parked} parked" if self.outlook.parked else "done"
        if self.per_minute is None:
            return "the rate is known at the next look"
        if self.remaining is None:
            return "nothing was completed since this began"
        return f"{self.per_minute:.1f} a minute, about {timedelta(seconds=round(self.remaining.total_seconds()))} left"


@dataclass(slots=True)
class Pace:
    """Remembers the looks of a window, and tells the progress at each: of one source, by one who looks."""

    _past: deque[tuple[float, int]] = field(default_factory=deque)

    def progress(self, outlook: Outlook, at: float) -> Progress:
        """Return the progress at a look.

        :param at: own monotonic time of the look, in seconds.
        """
        while self._past and at - self._past[0][0] > WINDOW.total_seconds():
            self._past.popleft()
        self._past.append((at, outlook.completed))
        since, before = self._past[0]
        return Progress(outlook, (outlook.completed - before) * 60 / (at - since) if at > since else None)
