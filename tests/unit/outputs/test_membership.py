"""What many head records are for, told at once, is what each is for by itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from airflow_coordination.outputs.membership import interval_of, intervals_of
from airflow_coordination.planning.intervals import ETERNITY, Interval
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.input_errors import InvalidInputError

PATTERN = "%Y-%m-%d"
DAY = datetime(2013, 1, 1, tzinfo=UTC)
LATER = DAY + timedelta(hours=6)
CET = timezone(timedelta(hours=1))


def head(key, start=None, end=None):
    return HeadRecord(
        source="flights", dataset="clean", key=key, blocks=(), rows=0, bytes=0, generation="g", op="o",
        token=1, kind="files", state="applied", interval_start=start, interval_end=end,
    )  # fmt: skip


KNOWN = [head("2013-01-01", DAY, LATER), head("2013-01-02", LATER, LATER)]


@pytest.mark.parametrize("pattern", [None, PATTERN])
@pytest.mark.parametrize(
    "heads",
    [
        [],
        KNOWN,
        [*KNOWN, head("2013-01-03")],
        [*KNOWN, head("of no day")],
        [*KNOWN, head("2013-01-04", DAY.astimezone(CET), LATER)],
    ],
    ids=["none", "own", "one by its key", "one by nothing", "one of another zone"],
)
def test_intervals_of_many_are_those_of_each(heads, pattern):
    found = intervals_of(heads, pattern, ETERNITY)
    assert found == [interval_of(each, pattern) or ETERNITY for each in heads]
    assert all(type(each) is Interval and each.start.tzinfo is UTC for each in found)


def test_one_that_ends_before_it_starts_is_refused_among_many():
    with pytest.raises(InvalidInputError, match="ends before it starts"):
        intervals_of([*KNOWN, head("2013-01-03", LATER, DAY)], None, ETERNITY)
