"""Intervals are half open and in UTC; what is none is refused by what to write instead."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from airflow_coordination.planning.intervals import (
    ETERNITY,
    Interval,
    newest_first,
    parse_interval,
    parse_moment,
    subtract,
    umbrella,
    united,
    written,
)
from airflow_coordination.planning.periods import LAST
from airflow_coordination.values.input_errors import InvalidInputError


def of(*texts):
    return [parse_interval("interval", text, empty=True) for text in texts]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2013-01/P1M", "2013-01-01/2013-02-01"),
        ("2013/2014", "2013-01-01/2014-01-01"),
        ("P1D/2013-01-02", "2013-01-01/2013-01-02"),
        ("2013-01-01T00/2013-01-01T06:30", "2013-01-01/2013-01-01T06:30"),
        ("2013-01-01T02+02:00/2013-01-01T06Z", "2013-01-01/2013-01-01T06"),
        ("2017-11-01T00:00:00.000Z/2017-12-01T00:00:00.000Z", "2017-11-01/2017-12-01"),
        ("2013-01-01T00:00:00.250/PT1S", "2013-01-01T00:00:00.250000/2013-01-01T00:00:01.250000"),
        ("2013-01-01T10:20:30/2013-01-02", "2013-01-01T10:20:30/2013-01-02"),
        ("eternity", "../.."),
        ("-146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z", "../.."),
        ("../2013-01-01", "../2013-01-01"),
        ("2013-01-01/146140482-04-24T15:36:27.903Z", "2013-01-01/.."),
        ("0500-01-01/2100-12-31", "0500-01-01/2100-12-31"),
        ("2013-01-01/P9000Y", "2013-01-01/.."),
    ],
)
def test_what_a_text_says(text, same):
    found = parse_interval("interval", text)
    assert str(found) == same
    assert parse_interval("interval", same) == found
    assert found.is_bounded is (".." not in same)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2013-01-02/2013-01-01", r"^keep='2013-01-02/2013-01-01': ends before it starts. Exchange the two sides$"),
        ("2013-01-01/2013-01-01", "is empty, because its end is not part of it. Give a later end"),
        ("2013-01-01", "has no slash. Write start/end, such as"),
        ("2013-01-01 - 2013-01-02", "has no slash"),
        ("2013-01-01T10/2013-01-01T12Z", "has a time zone on one side only. Write Z, or the offset, on both"),
        ("P1D/P2D", "has two periods and no time"),
        ("../P1D", "has a period, and nothing to count it from"),
        ("2013-01-01/P0D", "keep='P0D': is zero"),
        ("2013-01-01/30D", "keep='30D': is no moment of ISO 8601. Write such as 2013-01-31 or"),
        ("2013-02-30/2013-03-01", r"keep='2013-02-30': is no time \(day is out of range for month\)"),
        ("2013-13/2014-01", "is no time"),
        ("2013-01-01T25/2013-01-03", "is no time"),
        ("13-01-01/2013-01-03", "is no moment"),
        ("0001-01-01T00+05:00/2013", "is no time"),
        (7, "keep=7: is int, no text. Write start/end"),
    ],
)
def test_what_is_no_interval_is_refused_with_what_to_write(text, message):
    with pytest.raises(InvalidInputError, match=message):
        parse_interval("keep", text)


def test_an_interval_knows_no_naive_times_and_no_end_before_its_start():
    now = datetime(2013, 1, 1, tzinfo=UTC)
    with pytest.raises(InvalidInputError, match=r"interval\.end=.*has no time zone"):
        Interval(now, datetime(2014, 1, 1))  # noqa: DTZ001
    with pytest.raises(InvalidInputError, match=r"interval='2013-01-01/2012-01-01': ends before it starts"):
        Interval(now, now.replace(year=2012))


def test_what_only_touches_does_not_overlap():
    first, second, empty = of("2013-01-01/2013-01-02", "2013-01-02/2013-01-03", "2013-01-01T12/2013-01-01T12")
    assert not first.overlaps(second)
    assert not first.overlaps(empty)
    assert first.cut(second) is None
    assert first.contains(empty)


def test_the_newest_first_by_end_then_by_start():
    row = of("2013-01-01/2013-01-03", "2013-01-02/2013-01-03", "2013-01-01/2013-01-02", "2013-01-01/2013-01-04")
    assert [str(one) for one in sorted(row, key=newest_first)] == [str(row[each]) for each in (3, 1, 0, 2)]


def test_united_and_what_is_left():
    assert united(of("2013-01-03/2013-01-05", "2013-01-01/2013-01-02", "2013-01-02/2013-01-04")) == of(
        "2013-01-01/2013-01-05"
    )
    [total] = of("2013-01-01/2013-01-10")
    assert subtract(total, of("2012-01-01/2013-01-02", "2013-01-04/2013-01-05", "2013-01-09/2014-01-01")) == of(
        "2013-01-02/2013-01-04", "2013-01-05/2013-01-09"
    )
    assert subtract(total, [ETERNITY]) == []


def test_an_umbrella_of_nothing_is_refused():
    with pytest.raises(InvalidInputError, match=r"intervals=\[\]: is empty. Give at least one"):
        umbrella([])


@pytest.mark.parametrize("text", ["2013-01-01T10:00", "2013-01-01T00:10", "2013-01-01T00:00:10", "2013-01-01T10"])
def test_moments_are_written_as_short_as_they_can_be(text):
    assert written(parse_moment("m", text)) == text.removesuffix(":00")
    assert written(LAST) == ".."
