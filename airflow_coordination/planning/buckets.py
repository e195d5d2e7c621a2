"""Buckets of time, the chunks of a granularity: Druid's names, and periods such as ``PT6H``.

Weeks begin on Monday, months and years with the calendar, whatever is shorter at 1970-01-01T00:00Z.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final

from airflow_coordination.planning.intervals import Interval
from airflow_coordination.planning.periods import FIRST, LAST, Period, parse_period
from airflow_coordination.values.input_errors import InvalidInputError

NAMES: Final = MappingProxyType(
    {
        "SECOND": "PT1S",
        "MINUTE": "PT1M",
        "FIVE_MINUTE": "PT5M",
        "TEN_MINUTE": "PT10M",
        "FIFTEEN_MINUTE": "PT15M",
        "THIRTY_MINUTE": "PT30M",
        "HOUR": "PT1H",
        "SIX_HOUR": "PT6H",
        "EIGHT_HOUR": "PT8H",
        "DAY": "P1D",
        "WEEK": "P1W",
        "MONTH": "P1M",
        "QUARTER": "P3M",
        "YEAR": "P1Y",
    }
)
"""Druid's simple granularities. It has ALL and NONE, too, which divide nothing."""
_MONDAY: Final = datetime(1970, 1, 5, tzinfo=UTC)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_WEEK: Final = timedelta(weeks=1)


@dataclass(frozen=True, slots=True)
class Granularity:
    """Equal pieces of the calendar, without gaps.

    :param period: how long each is: whole months, or a time that a clock measures.
    :raises InvalidInputError: when it is both, or not above zero.
    """

    period: Period

    def __post_init__(self) -> None:
        if self.period.is_zero or self.period.is_negative or (self.period.months and self.period.rest):
            problem = "cannot divide the calendar"
            raise InvalidInputError(
                "granularity", str(self.period), problem, "Give months, or days and less, above zero"
            )

    def __str__(self) -> str:
        return next((name for name, text in NAMES.items() if text == self.period.text), str(self.period))

    def floor(self, moment: datetime) -> datetime:
        """Return the start of the bucket that a moment lies in."""
        if moment in (FIRST, LAST):
            return moment
        if months := self.period.months:
            index = (moment.year * 12 + moment.month - 1) // months * months
            return FIRST if index < 12 else datetime(index // 12, index % 12 + 1, 1, tzinfo=UTC)
        origin = _EPOCH if self.period.rest % _WEEK else _MONDAY
        try:
            return origin + (moment - origin) // self.period.rest * self.period.rest
        except OverflowError:
            return FIRST

    def ceiling(self, moment: datetime) -> datetime:
        """Return the moment itself where a bucket starts, otherwise the end of its bucket."""
        start = self.floor(moment)
        return moment if start == moment else self.period.after(start)

    def touched(self, interval: Interval) -> Interval:
        """Return the buckets that an interval has a part in, as one."""
        return Interval(self.floor(interval.start), self.ceiling(interval.end))

    def is_bucket(self, interval: Interval) -> bool:
        """Tell whether an interval is one whole bucket."""
        return interval.start == self.floor(interval.start) and interval.end == self.period.after(interval.start)

    def is_aligned(self, interval: Interval) -> bool:
        """Tell whether an interval is made of whole buckets."""
        return self.touched(interval) == interval

    def divides(self, coarser: Granularity) -> bool:
        """Tell whether each bucket of the coarser one is made of whole buckets of this one."""
        if self.period.months and coarser.period.months:
            return coarser.period.months % self.period.months == 0
        if self.period.months:
            return False
        if coarser.period.months:  # a month begins with a day, on any day of the week
            return timedelta(days=1) % self.period.rest == timedelta(0)
        return coarser.period.rest % self.period.rest == timedelta(0)

    def buckets(self, interval: Interval) -> Iterator[Interval]:
        """Yield the buckets that an interval has a part in, the oldest first.

        :raises InvalidInputError: when the interval has an open side.
        """
        if not interval.is_bounded:
            problem = "has an open side, and so buckets without end"
            raise InvalidInputError("interval", str(interval), problem, "Give both sides")
        start = self.floor(interval.start)
        while start < interval.end:
            end = self.period.after(start)
            yield Interval(start, end)
            start = end


def granularity(name: str, value: object) -> Granularity:
    """Return the granularity of a name of Druid's, in any case, or of a period.

    :param name: the field, for the error.
    :raises InvalidInputError: naming the field, the value and what to write instead.
    """
    known = f"Use {', '.join(NAMES)}, or a period such as PT6H"
    if not isinstance(value, str):
        raise InvalidInputError(name, value, f"is {type(value).__name__}, no text", known)
    if value.upper() not in NAMES and not value.startswith("P"):
        raise InvalidInputError(name, value, "is no granularity", known)
    period = parse_period(name, NAMES.get(value.upper(), value), zero=False)
    if period.months and period.rest:
        raise InvalidInputError(name, value, "has months and what is no months, so it cannot divide a calendar", known)
    return Granularity(period)
