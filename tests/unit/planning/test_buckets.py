"""Buckets divide the calendar without gaps."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.planning.buckets import NAMES, Granularity, granularity
from airflow_coordination.planning.intervals import ETERNITY, parse_interval
from airflow_coordination.planning.periods import FIRST, LAST, Period
from airflow_coordination.values.input_errors import InvalidInputError

NEAR = st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@given(NEAR, st.sampled_from([*NAMES, "P5D", "P5M", "PT7H"]))
def test_each_moment_lies_in_one_bucket(moment, name):
    size = granularity("g", name)
    start = size.floor(moment)
    end = size.period.after(start)
    assert start <= moment < end
    assert size.floor(end) == end == size.ceiling(end)
    assert size.ceiling(moment) == (moment if start == moment else end)


@pytest.mark.parametrize(
    ("name", "interval", "buckets"),
    [
        ("DAY", "2017-11-30T23/2017-12-02", ["2017-11-30/2017-12-01", "2017-12-01/2017-12-02"]),
        ("month", "2020-01-28/2020-02-04", ["2020-01-01/2020-02-01", "2020-02-01/2020-03-01"]),
        ("WEEK", "2020-02-29/2020-03-01", ["2020-02-24/2020-03-02"]),
        ("QUARTER", "2020-02-29/2020-03-01", ["2020-01-01/2020-04-01"]),
        ("PT6H", "2020-02-29T05/2020-02-29T06", ["2020-02-29/2020-02-29T06"]),
        ("YEAR", "2020-01-01/2021-01-01", ["2020-01-01/2021-01-01"]),
    ],
)
def test_the_buckets_of_an_interval(name, interval, buckets):
    size, whole = granularity("g", name), parse_interval("i", interval)
    found = list(size.buckets(whole))
    assert [str(one) for one in found] == buckets
    assert size.touched(whole).start == found[0].start
    assert size.touched(whole).end == found[-1].end
    assert size.is_aligned(whole) is (buckets == [interval])


def test_what_has_no_end_has_no_buckets():
    day = granularity("g", "DAY")
    with pytest.raises(InvalidInputError, match=r"has an open side, and so buckets without end. Give both sides"):
        list(day.buckets(ETERNITY))
    assert day.touched(ETERNITY) == ETERNITY
    assert (day.floor(LAST), granularity("g", "P9999M").floor(datetime(2, 1, 1, tzinfo=UTC))) == (LAST, FIRST)


@pytest.mark.parametrize(
    ("fine", "coarse", "divides"),
    [
        ("HOUR", "DAY", True),
        ("HOUR", "MONTH", True),
        ("WEEK", "MONTH", False),
        ("MONTH", "YEAR", True),
        ("YEAR", "MONTH", False),
        ("MONTH", "WEEK", False),
        ("PT7H", "DAY", False),
        ("PT7H", "MONTH", False),
    ],
)
def test_which_buckets_make_up_others(fine, coarse, divides):
    assert granularity("g", fine).divides(granularity("g", coarse)) is divides


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("FORTNIGHT", "segment='FORTNIGHT': is no granularity. Use SECOND, MINUTE"),
        ("ALL", "is no granularity"),
        ("P1M1D", "has months and what is no months"),
        ("P0D", "is zero"),
        ("PT", "has no part"),
        (5, "segment=5: is int, no text. Use SECOND"),
    ],
)
def test_what_is_no_granularity_is_refused(value, message):
    with pytest.raises(InvalidInputError, match=message):
        granularity("segment", value)


def test_a_granularity_must_go_forwards():
    with pytest.raises(InvalidInputError, match="cannot divide the calendar"):
        Granularity(Period(-1))


def test_it_is_called_as_druid_calls_it():
    assert [str(granularity("g", text)) for text in ("day", "P1D", "PT5H")] == ["DAY", "DAY", "PT5H"]
