"""Chunks: who makes a copy takes exactly what its plan has seen under the same name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.outputs.copies.chunks import chunks_of, heads_of
from airflow_coordination.outputs.manifests import Manifest
from airflow_coordination.outputs.origins import Merged, Origin
from airflow_coordination.outputs.overlays import NONE, Overlay, Overlays
from airflow_coordination.planning.intervals import ETERNITY, Interval, parse_interval
from airflow_coordination.planning.periods import FIRST, LAST
from airflow_coordination.protocol.results import HeadRecord

DAY = datetime(2013, 1, 1, tzinfo=UTC)


def head(key: str, interval: Interval | str | None) -> HeadRecord:
    if isinstance(interval, str):
        interval = parse_interval("interval", interval)
    return HeadRecord(
        source="flights", dataset="clean", key=key, blocks=(), rows=0, bytes=0, generation="g", op="o",
        token=1, kind="files", state="applied", interval_start=interval.start if interval else None,
        interval_end=interval.end if interval else None,
    )  # fmt: skip


def merged(*keys: str) -> Overlay:
    covers = tuple(Origin(f"digest of {key}", key) for key in keys)
    return Overlay(
        "a group",
        Manifest(
            directory="/out", source="~merged/flights", key="a group", dataset="clean", files=(), fence="f",
            merged=Merged(covers=covers),
        ),
    )  # fmt: skip


def names(*intervals: str | None, overlays: Overlays = NONE) -> dict[str, list[str]]:
    heads = [head(str(number), interval) for number, interval in enumerate(intervals)]
    found = chunks_of(heads, overlays)
    return {str(chunk): [each.key for each in inside] for chunk, inside in found.items()}


@pytest.mark.parametrize(
    ("intervals", "chunks"),
    [
        ([None, None], {"../..": ["0", "1"]}),
        (["2013/P1D", None, "2014/.."], {"2013-01-01/2013-01-02": ["0"], "2014-01-01/..": ["2"], "../..": ["1"]}),
        (["2013/P1D", "eternity"], {"../..": ["1", "0"]}),
        (["2013/P1D", None, "eternity"], {"../..": ["2", "0", "1"]}),
        (["../2013-01-02", "2013-01-01/..", None], {"../..": ["0", "1", "2"]}),
        (["../2013-01-01", "2013-01-01/..", None], {"../2013-01-01": ["0"], "2013-01-01/..": ["1"], "../..": ["2"]}),
    ],
)  # fmt: skip
def test_no_two_chunks_have_one_name_and_none_is_left_out(intervals, chunks) -> None:
    assert names(*intervals) == chunks


def test_what_was_merged_together_may_take_all_times() -> None:
    overlays = Overlays((merged("0", "1"),))
    assert names("../2013-01-01", "2014/..", None, overlays=overlays) == {"../..": ["0", "1", "2"]}


_MOMENTS = st.one_of(st.just(FIRST), st.just(LAST), st.integers(0, 9).map(lambda day: DAY + timedelta(days=day)))
_INTERVALS = st.one_of(
    st.none(), st.lists(_MOMENTS, min_size=2, max_size=2, unique=True).map(lambda sides: Interval(*sorted(sides)))
)


@given(st.lists(_INTERVALS, max_size=7), st.sets(st.integers(0, 6)), st.sets(st.integers(0, 6)))
def test_a_worker_takes_of_a_chunk_what_the_plan_has_seen_of_it(intervals, one, other) -> None:
    heads = [head(str(number), interval) for number, interval in enumerate(intervals)]
    overlays = Overlays(tuple(merged(*map(str, sorted(keys))) for keys in (one, other) if keys))
    found = chunks_of(heads, overlays)
    assert sorted(each.key for inside in found.values() for each in inside) == [each.key for each in heads]
    for chunk, inside in found.items():
        assert sorted(each.key for each in heads_of(chunk, heads, overlays)) == sorted(each.key for each in inside)


def test_of_all_times_nothing_is_taken_that_is_by_days_again() -> None:
    assert heads_of(ETERNITY, [head("a", "2013/P1D")], NONE) == []
