"""Parts of a chunk that is too large: none is above the limit, and what was merged stays where it is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.planning.buckets import granularity
from airflow_coordination.planning.compaction.chunks import Head, chunks, split
from airflow_coordination.planning.compaction.configuration import Straddling
from airflow_coordination.planning.intervals import Interval, umbrella
from airflow_coordination.values.input_errors import InvalidInputError
from tests.unit.planning.compaction.made import head

START = datetime(2013, 1, 1, tzinfo=UTC)
DAY = "2026-01-01/2026-01-02"


@given(st.lists(st.tuples(st.integers(0, 40), st.none() | st.integers(0, 3))), st.integers(1, 50))
def test_parts_are_below_the_limit_and_sticky(given_heads, limit):
    heads = [head(n, DAY, size, part=part) for n, (size, part) in enumerate(given_heads)]
    parts = split(heads, limit)
    assert sorted(one.name for _, inside in parts for one in inside) == list(range(len(heads)))
    assert [number for number, _ in parts] == sorted({number for number, _ in parts})
    for number, inside in parts:
        assert all(one.part in (None, number) for one in inside)
        if all(one.part is None for one in inside):
            assert len(inside) == 1 or sum(one.bytes for one in inside) <= limit
    if not any(one.part is not None for one in heads):
        again = [head(one.name, DAY, one.bytes, part=number) for number, inside in parts for one in inside]
        assert [(n, {o.name for o in i}) for n, i in split(again, limit)] == [
            (n, {o.name for o in i}) for n, i in parts
        ]


def test_without_a_granularity_what_overlaps_is_together():
    heads = [head("a", "2026-01-01/2026-01-03"), head("b", "2026-01-02/2026-01-05"), head("c", "2026-01-04/2026-01-06")]
    heads.append(head("d", "2026-01-06/2026-01-07"))
    found = chunks(heads, None, Straddling.TOGETHER)
    assert [(str(one.interval), [h.name for h in one.heads]) for one in found] == [
        ("2026-01-01/2026-01-06", ["a", "b", "c"]),
        ("2026-01-06/2026-01-07", ["d"]),
    ]


MOMENTS = st.integers(0, 60 * 24 * 70).map(lambda minutes: START + timedelta(minutes=minutes))


@given(
    st.lists(st.tuples(MOMENTS, MOMENTS).map(sorted), max_size=12),
    st.sampled_from([None, "DAY", "PT6H", "MONTH", "WEEK"]),
)
def test_chunks_are_the_unions_of_buckets_that_overlap(pairs, size):
    buckets = granularity("g", size) if size else None
    heads = [Head(n, Interval(*pair), 1) for n, pair in enumerate(pairs)]
    found = chunks(heads, buckets, Straddling.TOGETHER)
    inside = [one for chunk in found for one in chunk.heads]
    assert inside == sorted(heads, key=lambda one: (one.interval, str(one.name)))
    touched = [buckets.touched(one.interval) if buckets else one.interval for one in inside]
    expected = []
    for place in touched:
        if expected and place.overlaps(expected[-1]):
            expected[-1] = umbrella([expected[-1], place])
        else:
            expected.append(place)
    assert [chunk.interval for chunk in found] == expected
    for chunk in found:
        assert all(
            chunk.interval.contains(buckets.touched(one.interval) if buckets else one.interval) for one in chunk.heads
        )


def test_an_empty_interval_at_the_start_of_a_bucket_touches_nothing():
    heads = [Head("a", Interval(START, START + timedelta(hours=1)), 1), Head("b", Interval(START, START), 1)]
    found = chunks(heads, granularity("g", "DAY"), Straddling.TOGETHER)
    assert [(str(one.interval), [each.name for each in one.heads]) for one in found] == [
        (str(Interval(START, START)), ["b"]),
        (str(Interval(START, START + timedelta(days=1))), ["a"]),
    ]


def test_a_day_in_minutes_is_one_chunk_and_not_1440():
    found = chunks([head("a", DAY)], granularity("g", "MINUTE"), Straddling.EACH)
    assert [str(one.umbrella) for one in found] == [DAY]


def test_bytes_are_not_negative():
    with pytest.raises(InvalidInputError, match=r"head\[a\]\.bytes=-1: is negative. Give the sum of its files"):
        head("a", DAY, -1)
