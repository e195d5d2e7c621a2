"""Periods of the calendar, as ISO 8601 writes them: ``P1M`` is a month, however long it is.

Source: Druid takes periods in rules, offsets and margins (``P30D``, ``PT36H``, ``-PT36H``). Nothing here overflows:
what would lie before the year 1 or after 9999 is :data:`FIRST` or :data:`LAST`, and means without an end.
"""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.times import aware
from airflow_coordination.values.vendored import look_among_vendored

FIRST: Final = datetime.min.replace(tzinfo=UTC)
"""Before everything."""
LAST: Final = datetime.max.replace(tzinfo=UTC)
"""After everything."""
_FORM: Final = re.compile(
    r"(?P<sign>[+-]?)P(?:\d{1,9}Y)?(?:\d{1,9}M)?(?:\d{1,9}W)?(?:\d{1,9}D)?"
    r"(?P<clock>T(?:\d{1,9}H)?(?:\d{1,9}M)?(?:\d{1,9}(?:\.\d{1,6})?S)?)?",
    re.ASCII,
)
_ZERO: Final = timedelta(0)
_LONGEST: Final = timedelta(days=366)


@dataclass(frozen=True, slots=True)
class Period:
    """Months, which the calendar measures, and what a clock measures; both forwards, or both backwards.

    :param months: years and months.
    :param rest: weeks, days, hours, minutes and seconds; a day has 24 hours, because all is UTC.
    :param text: as it was written.
    :raises InvalidInputError: when one part goes forwards and the other one backwards.
    """

    months: int = 0
    rest: timedelta = _ZERO
    text: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.months and self.rest and (self.months < 0) is not (self.rest < _ZERO):
            problem = "goes forwards and backwards at once"
            raise InvalidInputError("period", str(self), problem, "Give both parts the same sign")

    def __str__(self) -> str:
        return self.text or f"{self.months} months and {self.rest}"

    @property
    def is_zero(self) -> bool:
        """Whether it has no length."""
        return not self.months and not self.rest

    @property
    def is_negative(self) -> bool:
        """Whether it goes backwards."""
        return self.months < 0 or self.rest < _ZERO

    def after(self, moment: datetime) -> datetime:
        """Return the moment that lies this long after ``moment``: first the months, then the rest, as Druid adds.

        A day that a month does not have is its last one: a month after January 31st is the end of February.

        :raises InvalidInputError: when the moment has no time zone.
        """
        return _moved(moment, self.months, self.rest)

    def before(self, moment: datetime) -> datetime:
        """Return the moment that lies this long before ``moment``, by the same rule.

        :raises InvalidInputError: when the moment has no time zone.
        """
        return _moved(moment, -self.months, -self.rest)


def _moved(moment: datetime, months: int, rest: timedelta) -> datetime:
    aware("moment", moment)
    if moment in (FIRST, LAST):
        return moment
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    if not 1 <= year <= LAST.year:
        return FIRST if year < 1 else LAST
    day = min(moment.day, monthrange(year, month + 1)[1])
    try:
        return moment.replace(year=year, month=month + 1, day=day) + rest
    except OverflowError:
        return FIRST if rest < _ZERO else LAST


def parse_period(name: str, text: object, *, zero: bool = True, negative: bool = False) -> Period:
    """Return the period that a text says.

    :param name: the field, for the error.
    :param zero: whether it may be zero.
    :param negative: whether it may go backwards.
    :raises InvalidInputError: naming the field, the text and what to write instead.
    """
    form = _FORM.fullmatch(text) if isinstance(text, str) else None
    if form is None or not isinstance(text, str) or not any(map(str.isdigit, text)) or form["clock"] == "T":
        raise InvalidInputError(name, text, *_refusal(text))
    try:
        parsed = _isodate().parse_duration(text)
    except OverflowError:
        raise InvalidInputError(name, text, "is longer than any calendar", "Give a shorter one, in years") from None
    months = 0 if isinstance(parsed, timedelta) else int(parsed.years * 12 + parsed.months)
    found = Period(months, parsed if isinstance(parsed, timedelta) else parsed.tdelta, text)
    if found.is_zero and not zero:
        raise InvalidInputError(name, text, "is zero", "Give a period above zero, such as PT1H")
    if found.is_negative and not negative:
        raise InvalidInputError(name, text, "goes backwards", f"Write it without the sign, {text[1:]}")
    return found


def parse_duration(name: str, text: object, *, zero: bool = True) -> timedelta:
    """Return the length of time that a text says; with months it would have none.

    :param name: the field, for the error.
    :param zero: whether it may be zero.
    :raises InvalidInputError: naming the field, the text and what to write instead.
    """
    found = parse_period(name, text, zero=zero)
    if found.months:
        problem = "has months or years, which are not all equally long"
        raise InvalidInputError(name, text, problem, "Write days, hours, minutes and seconds, such as P30D")
    if found.rest > _LONGEST:
        raise InvalidInputError(name, text, "is longer than a year", f"Give at most P{_LONGEST.days}D")
    return found.rest


def written(duration: timedelta) -> str:
    """Return a duration as ISO 8601 has it; :func:`parse_period` reads it."""
    return str(_isodate().duration_isoformat(duration))


def _refusal(text: object) -> tuple[str, str]:
    """Return what is wrong with a text, and what to do: Druid's users write all of these."""
    if not isinstance(text, str):
        return f"is {type(text).__name__}, no text", 'Write a period such as "P30D" in quotes'
    if re.fullmatch(r"\d+[YMWDHS]", text):
        return "does not begin with P", f"Write {'PT' if text[-1] in 'HS' else 'P'}{text}"
    if re.fullmatch(r"[+-]?PT?", text):
        return "has no part", "Write at least one, such as P1D or PT1H"
    if text.endswith("T"):
        return "has nothing behind its T", f"Leave out the T, {text[:-1]}, or give hours, minutes or seconds"
    if re.match(r"[+-]?P.*[+-]", text):
        return "has a sign inside", f"Put it in front, -{re.sub('[+-]', '', text)}"
    if re.search(r"\d[.,]\d+[YMWDHM]", text):
        return "has a fraction of more than seconds", "Write it in smaller parts, such as P45D or PT36H"
    if re.search(r"\d{10}", text):
        return "has a number of more than nine digits", "Give a shorter one, in years"
    return (
        "is no period of ISO 8601",
        "Write such as P1Y2M3DT4H5M6S, parts in this order; whole numbers but for seconds",
    )


def _isodate() -> Any:
    """Return the library, which a driver may have in its archive only."""
    try:
        import isodate
    except ModuleNotFoundError:
        look_among_vendored()
        import isodate
    return isodate
