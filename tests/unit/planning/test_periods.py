"""Periods are calendar arithmetic that never overflows, and what is none is refused by what to write instead."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.planning.periods import FIRST, LAST, Period, parse_period
from airflow_coordination.values.input_errors import InvalidInputError

moments = st.datetimes(timezones=st.just(UTC))


def at(*parts):
    return datetime(*parts, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment", "before", "after"),
    [
        ("P1M", at(2012, 3, 31), at(2012, 2, 29), at(2012, 4, 30)),
        ("P1M", at(2013, 3, 31), at(2013, 2, 28), at(2013, 4, 30)),
        ("P1Y", at(2012, 2, 29), at(2011, 2, 28), at(2013, 2, 28)),
        ("P1W2D", at(2013, 1, 10), at(2013, 1, 1), at(2013, 1, 19)),
        ("PT36H", at(2013, 1, 10), at(2013, 1, 8, 12), at(2013, 1, 11, 12)),
        ("-PT36H", at(2013, 1, 10), at(2013, 1, 11, 12), at(2013, 1, 8, 12)),
        ("PT0.5S", at(2013, 1, 1), at(2012, 12, 31, 23, 59, 59, 500000), at(2013, 1, 1, 0, 0, 0, 500000)),
        ("P1M1D", at(2013, 3, 31), at(2013, 2, 27), at(2013, 5, 1)),  # first the month, then the day
        ("P5000Y", at(2013, 1, 1), FIRST, at(7013, 1, 1)),
        ("P9000Y", at(2013, 1, 1), FIRST, LAST),
        ("P3000000D", at(2013, 1, 1), FIRST, LAST),
    ],
)
def test_what_lies_a_period_away(text, moment, before, after):
    period = parse_period("period", text, negative=True)
    assert (period.before(moment), period.after(moment)) == (before, after)


@given(moments, st.integers(0, 10**9), st.sampled_from("YMWD"))
def test_no_period_overflows(moment, number, unit):
    """isodate does, at ``P5000Y`` from 2013."""
    try:
        period = parse_period("period", f"P{number}{unit}")
    except InvalidInputError:
        assert number * {"W": 7, "D": 1}.get(unit, 0) > 999_999_999 or number == 10**9
        return
    assert FIRST <= period.before(moment) <= moment <= period.after(moment) <= LAST


def test_what_has_no_end_stays_so():
    assert (parse_period("p", "P1D").before(LAST), parse_period("p", "P1D").after(FIRST)) == (LAST, FIRST)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("30D", r"^keep='30D': does not begin with P. Write P30D$"),
        ("6H", "does not begin with P. Write PT6H"),
        ("P", "keep='P': has no part. Write at least one, such as P1D or PT1H"),
        ("PT", "keep='PT': has no part"),
        ("P1DT", "has nothing behind its T. Leave out the T, P1D, or"),
        ("P-1D", "has a sign inside. Put it in front, -P1D"),
        ("P1.5M", "has a fraction of more than seconds. Write it in smaller parts, such as P45D or PT36H"),
        ("PT1.5H", "has a fraction of more than seconds"),
        ("P0D", "is zero. Give a period above zero, such as PT1H"),
        ("PT0S", "is zero"),
        ("-P1D", "goes backwards. Write it without the sign, P1D"),
        ("P1D2M", "is no period of ISO 8601. Write such as"),
        ("p1d", "is no period of ISO 8601"),
        ("P1D ", "is no period of ISO 8601"),
        ("P٣D", "is no period of ISO 8601"),
        ("", "is no period of ISO 8601"),
        ("P12345678901Y", "has a number of more than nine digits. Give a shorter one"),
        ("P999999999W", "is longer than any calendar. Give a shorter one"),
        (30, "keep=30: is int, no text. Write a period such as"),
        (None, "is NoneType, no text"),
    ],
)
def test_what_is_no_period_is_refused_with_what_to_write(text, message):
    with pytest.raises(InvalidInputError, match=message):
        parse_period("keep", text, zero=False)


def test_a_period_goes_one_way():
    with pytest.raises(InvalidInputError, match=r"goes forwards and backwards at once. Give both parts the same sign"):
        Period(1, timedelta(days=-1))


def test_a_moment_without_a_zone_is_refused():
    with pytest.raises(InvalidInputError, match=r"moment=.*has no time zone"):
        Period(1).after(datetime(2013, 1, 1))  # noqa: DTZ001
