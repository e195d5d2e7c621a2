"""What keys tell of intervals."""

from __future__ import annotations

import pytest

from airflow_coordination.leases import InvalidInputError
from airflow_coordination.planning.keys import check_pattern, interval_from_key


@pytest.mark.parametrize(
    ("pattern", "key", "interval"),
    [
        ("%Y", "2013", "2013-01-01/2014-01-01"),
        ("%Y-%m", "2013-02", "2013-02-01/2013-03-01"),
        ("%Y-%m", "2013-12", "2013-12-01/2014-01-01"),
        ("%Y%m%d", "20120229", "2012-02-29/2012-03-01"),
        ("%Y-%m-%dT%H", "2013-01-31T23", "2013-01-31T23/2013-02-01"),
        ("%Y-%m-%d %H:%M", "2013-01-01 00:59", "2013-01-01T00:59/2013-01-01T01"),
        ("%d.%m.%Y", "31.01.2013", "2013-01-31/2013-02-01"),
        ("*/%Y-%m-%d-*.csv", "s3://b/x/2013-01-31-EWR.csv", "2013-01-31/2013-02-01"),
        ("100%% %Y", "100% 2013", "2013-01-01/2014-01-01"),
    ],
)
def test_a_key_tells_its_year_month_day_hour_or_minute(pattern: str, key: str, interval: str) -> None:
    assert str(interval_from_key(pattern, key)) == interval


@pytest.mark.parametrize(
    ("pattern", "key"),
    [
        ("%Y-%m", "2013-1"),
        ("%Y-%m", "2013-13"),
        ("%Y-%m", "2013-00"),
        ("%Y-%m-%d", "2013-02-29"),
        ("%Y", "2013-01"),
        ("%Y", "x2013"),
        ("%Y", "0000"),
        ("%Y", "٢٠١٣"),
        ("%Y.", "2013x"),
    ],
)
def test_a_key_of_another_form_tells_nothing(pattern: str, key: str) -> None:
    assert interval_from_key(pattern, key) is None


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("", "does not tell a time from its year on"),
        ("%m-%d", "does not tell a time from its year on"),
        ("%Y-%d", "does not tell a time from its year on"),
        ("%Y-%Y", "names %Y twice"),
        ("%Y-%S", "has %S, which is not read here"),
        ("%Y%", "has %, which is not read here"),
        (7, "is no text"),
    ],
)
def test_a_pattern_that_tells_no_time_is_refused_with_the_remedy(pattern: object, problem: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        check_pattern("interval_from_key", pattern)
    assert (caught.value.field, caught.value.value, caught.value.problem) == ("interval_from_key", pattern, problem)
    assert "%Y-%m-%d" in caught.value.remedy
