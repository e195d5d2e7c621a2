"""Where nothing is compacted now."""

from __future__ import annotations

import pytest

from airflow_coordination.planning.buckets import granularity
from airflow_coordination.planning.compaction.skipping import behind_offset, skipped
from airflow_coordination.planning.intervals import Interval, parse_interval, parse_moment
from airflow_coordination.planning.periods import parse_period


@pytest.mark.parametrize(
    ("offset", "name", "start"),
    [
        ("P1D", None, "2017-12-02T03"),
        ("P1D", "DAY", "2017-12-02"),
        ("P1D", "MONTH", "2017-12-01"),
        ("P0D", "MONTH", None),
    ],
)
def test_an_offset_is_counted_from_the_data_and_rounded_down(offset, name, start):
    """Druid issue 18780: with a granularity it was counted from the end of the newest bucket."""
    latest = parse_moment("latest", "2017-12-03T03")
    found = behind_offset(latest, parse_period("offset", offset), granularity("g", name) if name else None)
    assert found == Interval(parse_moment("start", start or "2017-12-03T03"), latest)


def test_nothing_is_skipped_for_an_offset_of_zero():
    locked = [parse_interval("locked", "2017-01-01/2017-01-02")]
    assert skipped(parse_moment("latest", "2017-12-03"), parse_period("offset", "P0D"), locked) == locked
