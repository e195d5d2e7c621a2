"""What is marked as unused because something hides it, and what of that is deleted for good.

Marked is only what nothing shows of even if only what readers can have counts. Deleted is by two margins, the oldest
first, so many at once, and never more than was listed.

Source: Druid, ``MarkOvershadowedSegmentsAsUnused``, and ``KillUnusedSegments``, which is off by default. Druid deleted
all of an interval, fresh things among it (PR 15710), and forgot the old behind a pointer (issue 15912); here exact
names are listed, without a pointer.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from airflow_coordination.planning.compaction.slots import Slots
from airflow_coordination.planning.intervals import Interval, subtract
from airflow_coordination.planning.periods import Period
from airflow_coordination.planning.timeline import Piece, timeline
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.times import aware, needed

RETAIN: Final = Period(0, timedelta(days=90), "P90D")
BUFFER: Final = Period(0, timedelta(days=30), "P30D")
MOST: Final = 100


@dataclass(frozen=True, slots=True)
class Unused:
    """Something that is marked as unused.

    :param dataset: the dataset it belongs to.
    :param name: what tells it from all others.
    :param interval: what it was for.
    :param marked: when it was marked.
    """

    dataset: str
    name: Hashable
    interval: Interval
    marked: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Margins:
    """What is old enough.

    :param duration_to_retain: its interval must have ended so long ago; ``None``: that is of no matter.
    :param buffer: so long ago it must have been marked, within which it can be had back.
    :param most: how many of a dataset are deleted in one run, the oldest first.
    :param datasets: the only ones of which anything is deleted; ``None`` for all.
    :param i_know: allows a buffer of zero, and a duration that reaches into the future.
    :raises InvalidInputError: when a margin is none and nobody said that they know, or the number is not above zero.
    """

    duration_to_retain: Period | None = RETAIN
    buffer: Period = BUFFER
    most: int = MOST
    datasets: Collection[str] | None = None
    i_know: bool = False

    def __post_init__(self) -> None:
        if self.buffer.is_negative:
            raise InvalidInputError("bufferPeriod", str(self.buffer), "goes backwards", "Give a period such as P30D")
        if self.buffer.is_zero and not self.i_know:
            problem = "leaves no time in which anybody could take a mistake back"
            raise InvalidInputError("bufferPeriod", str(self.buffer), problem, "Give P30D, or say i_know=True")
        if self.duration_to_retain is not None and self.duration_to_retain.is_negative and not self.i_know:
            problem = "goes backwards, so that what lies in the future is deleted, too"
            raise InvalidInputError(
                "durationToRetain", str(self.duration_to_retain), problem, "Give P90D, or say i_know=True"
            )
        if isinstance(self.most, bool) or self.most < 1:
            raise InvalidInputError("maxSegments", self.most, "is no whole number above zero", "Give 1 or more")


def deletable(unused: Iterable[Unused], margins: Margins, now: datetime) -> list[Unused]:
    """Return exactly what may be deleted in a run, of each dataset the oldest first.

    :param now: by the store's clock.
    :raises InvalidInputError: when the time has no zone.
    """
    aware("now", now)
    old = [one for one in unused if _is_old(one, margins, now)]
    old.sort(key=lambda one: (one.dataset, one.interval, str(one.name)))
    found: list[Unused] = []
    taken: dict[str, int] = {}
    for one in old:
        if taken.get(one.dataset, 0) < margins.most:
            taken[one.dataset] = taken.get(one.dataset, 0) + 1
            found.append(one)
    return found


_WAIT: Final = timedelta(minutes=15)
"""How long somebody must have led before anything is marked (``millisToWaitBeforeDeleting``)."""


def overshadowed(
    pieces: Iterable[Piece], served: Collection[Hashable], leads_for: timedelta, wait: timedelta = _WAIT
) -> list[Piece]:
    """Return the pieces no part of which shows even if only what is served counts.

    :param served: names of the pieces that readers can have, and of those that need no copy.
    :param leads_for: for how long whoever asks has led.
    :param wait: how long somebody must have led; 15 minutes.
    :raises InvalidInputError: when a time is negative, or the pieces are no timeline.
    """
    if needed("leads_for", leads_for, zero=True) < needed("wait", wait, zero=True):
        return []
    row = list(pieces)
    hidden = timeline(row).overshadowed
    slices = timeline(one for one in row if one.name in served).slices
    return [
        piece
        for piece in hidden
        if not subtract(piece.interval, [s.interval for s in slices if _newer(s.version, piece)])
    ]


def _newer(version: int | str, piece: Piece) -> bool:
    return version > piece.version  # type: ignore[operator]  # a timeline has numbers only, or texts only


def _is_old(one: Unused, margins: Margins, now: datetime) -> bool:
    if margins.datasets is not None and one.dataset not in margins.datasets:
        return False
    ended = margins.duration_to_retain is None or one.interval.end <= margins.duration_to_retain.before(now)
    return ended and one.marked <= margins.buffer.before(now)


def is_due(last: datetime | None, period: timedelta, now: datetime) -> bool:
    """Tell whether a run deletes at all: not within the period of the last one that did."""
    return last is None or now - last >= period


def deleting_slots(ratio: float, max_slots: int | None) -> Slots:
    """Return how many datasets are deleted from at once: more than all is all, and none is none (Druid).

    :raises InvalidInputError: when a number is negative.
    """
    return Slots(min(ratio, 1.0) if ratio == ratio else ratio, max_slots, at_least=0)
