"""Half-open intervals in UTC, from texts as Druid and ISO 8601 write them; what they share, and what is left of them.

An open side is written ``..``; ``eternity`` has two of them. A time without a zone is UTC.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from airflow_coordination.planning.periods import FIRST, LAST, Period, parse_period
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.times import aware

_MOMENT: Final = re.compile(
    r"\d{4}(?:-\d\d(?:-\d\d(?:T\d\d(?::\d\d(?::\d\d(?:\.\d{1,6})?)?)?(?P<zone>Z|[+-]\d\d(?::?\d\d)?)?)?)?)?", re.ASCII
)
_DRUIDS_ETERNITY: Final = "-146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z"
_AS_START: Final = "-146136543-09-08T08:23:32.096Z"
_AS_END: Final = "146140482-04-24T15:36:27.903Z"
_OPEN: Final = ".."
_REMEDY: Final = "Write start/end, such as 2013-01-01/2013-02-01 or 2013-01-01/P1M"


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """From ``start`` on, up to but not including ``end``; ordered by both.

    :param start: with a time zone; kept in UTC.
    :param end: the same; equal to the start for an interval with nothing in it.
    :raises InvalidInputError: when one of them has no time zone, or the end lies before the start.
    """

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        start, end = self.start, self.end
        if type(start) is type(end) is datetime and start.tzinfo is end.tzinfo is UTC and start <= end:
            return  # as most are, and a plan has a hundred thousand
        for name in ("start", "end"):
            aware(f"interval.{name}", getattr(self, name))
            object.__setattr__(self, name, getattr(self, name).astimezone(UTC))
        if self.end < self.start:
            raise InvalidInputError("interval", str(self), "ends before it starts", "Exchange the two sides")

    def __str__(self) -> str:
        return f"{written(self.start)}/{written(self.end)}"

    @property
    def is_empty(self) -> bool:
        """Whether nothing can lie in it."""
        return self.start == self.end

    @property
    def is_bounded(self) -> bool:
        """Whether both of its sides are times."""
        return self.start != FIRST and self.end != LAST

    def overlaps(self, other: Interval) -> bool:
        """Tell whether both have a moment in common; those that only touch have none."""
        return max(self.start, other.start) < min(self.end, other.end)

    def contains(self, other: Interval) -> bool:
        """Tell whether all of the other lies in this one."""
        return self.start <= other.start and other.end <= self.end

    def cut(self, other: Interval) -> Interval | None:
        """Return what both have in common."""
        return Interval(max(self.start, other.start), min(self.end, other.end)) if self.overlaps(other) else None


ETERNITY: Final = Interval(FIRST, LAST)


def newest_first(interval: Interval) -> tuple[float, float]:
    """Return what to sort by for the newest first: the end, then the start (Druid: ``COMPARATOR``)."""
    return -_seconds(interval.end), -_seconds(interval.start)


def _seconds(moment: datetime) -> float:
    return (moment - FIRST).total_seconds()


def umbrella(intervals: Iterable[Interval]) -> Interval:
    """Return the shortest interval with all of them in it.

    :raises InvalidInputError: when there is none.
    """
    found = list(intervals)
    if not found:
        raise InvalidInputError("intervals", found, "is empty", "Give at least one")
    return Interval(min(one.start for one in found), max(one.end for one in found))


def united(intervals: Iterable[Interval]) -> list[Interval]:
    """Return the same moments in as few intervals as there can be, the oldest first."""
    found: list[Interval] = []
    for one in sorted(each for each in intervals if not each.is_empty):
        if found and one.start <= found[-1].end:
            found[-1] = Interval(found[-1].start, max(found[-1].end, one.end))
        else:
            found.append(one)
    return found


def subtract(total: Interval, taken: Iterable[Interval]) -> list[Interval]:
    """Return what is left of ``total`` without those, the oldest first."""
    left, start = [], total.start
    for one in united(taken):
        if not one.overlaps(total):
            continue
        if start < one.start:
            left.append(Interval(start, one.start))
        start = one.end
    if start < total.end:
        left.append(Interval(start, total.end))
    return left


def written(moment: datetime) -> str:
    """Return a moment as short as its meaning allows; two points for an open side."""
    if moment in (FIRST, LAST):
        return _OPEN
    text = moment.astimezone(UTC).replace(tzinfo=None).isoformat()
    return text.removesuffix(":00").removesuffix(":00").removesuffix("T00") if not moment.microsecond else text


def parse_moment(name: str, text: object) -> datetime:
    """Return the moment that a text says, in UTC; a date is its first moment, and so is a month or a year.

    :param name: the field, for the error.
    :raises InvalidInputError: naming the field, the text and what to write instead.
    """
    form = _MOMENT.fullmatch(text) if isinstance(text, str) else None
    if form is None or not isinstance(text, str):
        problem = "is no moment of ISO 8601" if isinstance(text, str) else f"is {type(text).__name__}, no text"
        raise InvalidInputError(name, text, problem, "Write such as 2013-01-31 or 2013-01-31T10:30Z")
    try:
        moment = datetime.fromisoformat(text + "-01-01"[{4: 0, 7: 3}.get(len(text), 6) :])
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(name, text, f"is no time ({error})", "Give a day and time that exist") from None


def parse_interval(name: str, text: object, *, empty: bool = False) -> Interval:
    """Return the interval that a text says: ``start/end``, ``start/period``, ``period/end`` or ``eternity``.

    :param name: the field, for the error.
    :param empty: whether start and end may be equal.
    :raises InvalidInputError: naming the field, the text and what to write instead.
    """
    if not isinstance(text, str):
        raise InvalidInputError(name, text, f"is {type(text).__name__}, no text", _REMEDY)
    if text.lower() == "eternity" or text == _DRUIDS_ETERNITY:
        return ETERNITY
    first, slash, second = text.partition("/")
    if not slash:
        raise InvalidInputError(name, text, "has no slash", _REMEDY)
    start, end = _sides(name, text, first, second)
    if end < start:
        raise InvalidInputError(name, text, "ends before it starts", "Exchange the two sides")
    if start == end and not empty:
        raise InvalidInputError(name, text, "is empty, because its end is not part of it", "Give a later end")
    return Interval(start, end)


def interval_of(name: str, said: object) -> Interval:
    """Return the interval that somebody says, as a text or as one; kept in plain datetimes, also where theirs are not.

    :param name: the field, for the error.
    :raises InvalidInputError: naming the field, what was said and what to write instead; also for an empty one.
    """
    if not isinstance(said, Interval):
        return parse_interval(name, said)
    if said.is_empty:
        raise InvalidInputError(name, str(said), "is empty, because its end is not part of it", "Give a later end")
    return Interval(*(datetime.combine(side.date(), side.time(), UTC) for side in (said.start, said.end)))


def _sides(name: str, text: str, first: str, second: str) -> tuple[datetime, datetime]:
    if first[:1] in ("P", "+") and second[:1] in ("P", "+"):
        raise InvalidInputError(name, text, "has two periods and no time", _REMEDY)
    _check_zones(name, text, first, second)
    if first.startswith("P"):
        end = parse_moment(name, second)
        return parse_period(name, first, zero=False).before(end), end
    start = FIRST if first in (_OPEN, _AS_START) else parse_moment(name, first)
    if second.startswith("P"):
        return start, _period_after(name, second, start, text)
    return start, LAST if second in (_OPEN, _AS_END) else parse_moment(name, second)


def _period_after(name: str, second: str, start: datetime, text: str) -> datetime:
    if start == FIRST:
        raise InvalidInputError(name, text, "has a period, and nothing to count it from", _REMEDY)
    period: Period = parse_period(name, second, zero=False)
    return period.after(start)


def _check_zones(name: str, text: str, *sides: str) -> None:
    """Refuse one side with a zone and one without: it is a mistake more often than not.

    :raises InvalidInputError: naming both.
    """
    forms = [form for side in sides if (form := _MOMENT.fullmatch(side)) and "T" in side]
    if len({form["zone"] is None for form in forms}) > 1:
        problem = "has a time zone on one side only"
        raise InvalidInputError(name, text, problem, "Write Z, or the offset, on both, or on neither for UTC")
