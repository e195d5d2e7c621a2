"""The progress of a source: how far it is, how fast it moves and how sure that is, and when it will be done."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from math import sqrt
from statistics import variance
from typing import Final

from airflow_coordination.monitoring.counts import foreseen
from airflow_coordination.protocol.results import Outlook

BATCHES: Final = 12
"""A stretch is cut into so many equal parts; how their counts differ tells how sure their sum is."""
_STUDENT: Final = 2.201
"""Student's t for 95 % on both sides, with one degree of freedom less than there are parts."""
_MINUTE: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate: how many of something a minute.

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


WINDOW: Final = timedelta(minutes=5)
"""The rate is that of the newest looks, as far as they go back."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a source, as one look has seen it.

    :param outlook: how many partitions are in each state.
    :param rate: how many are completed a minute; ``None`` where that is unknown.
    """

    outlook: Outlook
    rate: Rate | None

    @property
    def left(self) -> int:
        """How many partitions are still to be worked on without a person's help, what waits for parents included."""
        return self._moving + self.outlook.blocked

    @property
    def _moving(self) -> int:
        return self.outlook.claimable + self.outlook.assigned + self.outlook.waiting

    @property
    def total(self) -> int:
        """How many partitions there are."""
        return self.left + self.outlook.parked + self.outlook.completed

    @property
    def remaining(self) -> timedelta | None:
        """How long the rest takes at this rate, ``None`` where nothing moves."""
        return self._at(self.rate.per_minute if self.rate else None)

    @property
    def soonest(self) -> timedelta | None:
        """How long the rest takes at least, as sure as the rate is; ``None`` where nothing moves."""
        return None if self.remaining is None else self._at(self.rate.most if self.rate else None)

    @property
    def latest(self) -> timedelta | None:
        """How long the rest takes at most, as sure as the rate is; ``None`` where no end can be named."""
        return None if self.remaining is None else self._at(self.rate.least if self.rate else None)

    def _at(self, per_minute: float | None) -> timedelta | None:
        if not self.left:
            return timedelta(0)
        try:
            return timedelta(minutes=self.left / per_minute) if per_minute and per_minute > 0 else None
        except OverflowError:  # later than the last day of a calendar
            return None

    def __str__(self) -> str:
        seen = foreseen(self.outlook)
        expired = f", {seen.expired} expired" if seen.expired else ""
        blocked = f", {seen.blocked} blocked" if seen.blocked else ""
        return (
            f"{seen.completed} of {self.total} completed, {seen.held} held, {seen.claimable} claimable{expired}, "
            f"{seen.delayed} delayed{blocked}, {seen.parked} parked; {self.ahead}"
        )

    @property
    def ahead(self) -> str:
        """How fast, and how long it takes, in words."""
        if self.left and self.outlook.paused:
            return str(self.outlook.pause)
        if self.outlook.parked and not self._moving:
            behind = f", and {self.outlook.blocked} wait behind their parents" if self.outlook.blocked else ""
            return f"only a person can move the {self.outlook.parked} parked{behind}"
        if not self.left:
            return "done"
        if self.rate is None:
            return "the rate is known at the next look"
        if self.remaining is None or self.soonest is None:
            return "nothing was completed in the time looked at"
        until = f"to {_seconds(self.latest)}" if self.latest is not None else "or more"
        spread = f"{_seconds(self.soonest)} {until}"
        return f"{self.rate.per_minute:.1f} a minute, about {_seconds(self.remaining)} left ({spread})"


def _seconds(duration: timedelta) -> timedelta:
    return timedelta(seconds=round(duration.total_seconds()))


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
        gained = []
        for when, completed in self._past:
            gained.append((timedelta(seconds=when - since), completed - before))
            before = completed
        return Progress(outlook, rate_of(gained, timedelta(seconds=at - since)))
