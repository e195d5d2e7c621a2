"""Sums of chunks as values: what cannot be stored is refused by name, and their order is that of a list."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_coordination.protocol.beside.chunk_sums import ChunkSums, ChunkTotals, added_up, in_order
from airflow_coordination.values.input_errors import InvalidInputError

DAY = datetime(2013, 1, 1, tzinfo=UTC)
LATER = DAY + timedelta(days=1)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"dataset": ""}, "chunk.dataset='': is empty"),
        ({"dataset": "x" * 300}, "chunk.dataset"),
        ({"rows": -1}, "chunk.rows=-1: is no whole number from 0 to 2^63 - 1. Leave out what is not known"),
        ({"rows": 2**63}, "chunk.rows"),
        ({"heads": True}, "chunk.heads=True"),
        ({"bytes_now": 1.5}, "chunk.bytes_now=1.5"),
        ({"chunk_start": DAY}, "chunk.chunk_start, chunk_end"),
        ({"chunk_end": DAY}, "needs a start and a later end"),
        ({"chunk_start": DAY, "chunk_end": DAY}, "is no interval"),
        ({"chunk_start": DAY, "chunk_end": LATER.replace(tzinfo=None)}, "both with a time zone. Give both, or neither"),
    ],
)
def test_what_cannot_be_stored_is_refused(given: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        ChunkSums(**{"dataset": "clean", **given})
    assert named in str(refused.value)


def test_places_sort_the_newest_first_whatever_the_time() -> None:
    ends = [datetime.min.replace(tzinfo=UTC) + timedelta(days=1), datetime(1969, 1, 1, tzinfo=UTC), DAY, LATER]
    rows = [ChunkSums(dataset="clean", chunk_start=end - timedelta(days=1), chunk_end=end) for end in ends]
    longer = ChunkSums(dataset="clean", chunk_start=DAY - timedelta(days=30), chunk_end=DAY)
    unbounded = ChunkSums(dataset="clean")
    expected = [rows[3], rows[2], longer, rows[1], rows[0], unbounded]
    assert in_order([unbounded, longer, *rows]) == expected
    assert len({len(row.place) for row in expected[:-1]}) == 1


def test_the_last_of_one_chunk_counts() -> None:
    first, last = ChunkSums(dataset="clean", heads=1), ChunkSums(dataset="clean", heads=2)
    assert in_order([first, ChunkSums(dataset="b"), last]) == [ChunkSums(dataset="b"), last]


def test_sums_are_of_what_is_known() -> None:
    rows = [
        ChunkSums(dataset="clean", rows=3, chunk_start=DAY, chunk_end=LATER, merged_at=LATER),
        ChunkSums(dataset="clean", heads=2, merged_at=DAY),
    ]
    [found] = added_up(rows)
    assert found == ChunkTotals(
        dataset="clean", state="fresh", chunks=2, rows=3, heads=2, first=DAY, last=LATER, merged_at=LATER
    )
