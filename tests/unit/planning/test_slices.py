"""What is there of an interval, what is hidden, and where nothing is."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.planning.intervals import Interval, interval_of
from airflow_coordination.planning.view import changing
from airflow_coordination.planning.view.slices import SliceState, coverage
from airflow_coordination.planning.view.view import EMPTY, View
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.blocks import Block
from airflow_coordination.values.names import branch_dataset

NOW = datetime(2013, 5, 1, tzinfo=UTC)


def day(first: int, days: int = 1) -> Interval:
    return interval_of("interval", f"2013-01-{first:02}/P{days}D")


def head(interval: Interval | None, key: str = "k", branch: int | None = None, rows: int = 10) -> HeadRecord:
    start, end = (interval.start, interval.end) if interval else (None, None)
    blocks = (Block("clean", f"/{key}", key, rows, 1),) if rows else ()
    stored = branch_dataset(branch, "clean")
    return HeadRecord("f|PARTITION", stored, key, blocks, rows, 1, "g", "op", 1, interval_start=start, interval_end=end)


def told(view: View, *heads: HeadRecord, begun: tuple[HeadRecord, ...] = (), within: Interval | None = None):
    found = coverage(view, heads, begun, within)
    return [(str(each.interval), each.state.value, each.partitions, each.rows) for each in found.slices]


def test_what_touches_is_one_stretch_and_gaps_are_missing() -> None:
    assert told(EMPTY, head(day(1)), head(day(2), "l"), head(day(4), "m"), head(None, "n")) == [
        ("2013-01-01/2013-01-03", "there", 2, 20),
        ("2013-01-03/2013-01-04", "missing", 0, 0),
        ("2013-01-04/2013-01-05", "there", 1, 10),
    ]
    assert told(EMPTY) == []
    assert told(EMPTY, head(day(1), rows=0)) == []


def test_all_of_it_is_cut_to_what_was_asked_for() -> None:
    assert told(EMPTY, head(day(1, 10)), head(day(20), "l"), within=day(9, 3)) == [
        ("2013-01-09/2013-01-11", "there", 1, 10),
        ("2013-01-11/2013-01-12", "missing", 0, 0),
    ]
    assert told(EMPTY, within=day(9)) == [("2013-01-09/2013-01-10", "missing", 0, 0)]


def test_what_is_hidden_is_not_missing_but_not_there_either() -> None:
    view = changing.hidden(EMPTY, "clean", day(1), "ana", "wrong", NOW)
    heads = [head(day(1)), head(day(2), "l")]
    assert told(view, *heads) == [("2013-01-01/2013-01-02", "hidden", 1, 10), ("2013-01-02/2013-01-03", "there", 1, 10)]
    found = coverage(view, heads)
    assert found.missing(day(1, 2)) == [day(1)]
    assert found.percent(day(1, 2)) == 50.0
    purging = coverage(changing.purging(view, view.hidden, NOW), heads)
    assert purging.slices[0].state is SliceState.PURGING


def test_what_a_begun_branch_has_published_is_not_there_yet() -> None:
    branched = head(day(3), branch=7)
    assert told(EMPTY, head(day(1)), begun=(branched,)) == [
        ("2013-01-01/2013-01-02", "there", 1, 10),
        ("2013-01-02/2013-01-04", "missing", 0, 0),
        ("2013-01-03/2013-01-04", "in a branch", 1, 10),
    ]


DAYS = st.builds(day, st.integers(1, 20), st.integers(1, 4))


@given(st.lists(DAYS, max_size=8), DAYS)
def test_percent_and_missing_agree_with_looking_at_each_day(there: list[Interval], asked: Interval) -> None:
    found = coverage(EMPTY, [head(each, str(number)) for number, each in enumerate(there)])
    days = [each for each in (day(number) for number in range(1, 24)) if asked.contains(each)]
    seen = [each for each in days if any(one.contains(each) for one in there)]
    assert round(found.percent(asked), 6) == round(100 * len(seen) / len(days), 6)
    lacking = found.missing(asked)
    assert [each for each in days if any(gap.contains(each) for gap in lacking)] == [x for x in days if x not in seen]
    counted = sum(each.partitions for each in found.slices)
    assert counted == len(there)
