"""What the planner remembers of groups that have failed fits into its progress."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from airflow_coordination.duties.compaction.remembered import MOST_PARKED, Remembered, Rounds, newest
from airflow_coordination.values.documents import encode_progress

START = datetime(2013, 1, 1, tzinfo=UTC)


def failed(number: int, dataset: str) -> dict[str, tuple[datetime, Rounds]]:
    """Return groups, the later ones newer."""
    return {
        f"e000001|{dataset}|{index:020d}|0": (START + timedelta(seconds=index), Rounds(index, 4 * index))
        for index in range(number)
    }


def test_of_many_groups_the_newest_are_remembered() -> None:
    row = failed(10_000, "clean")
    kept = newest(row)
    assert list(kept) == list(reversed(row))[:MOST_PARKED]
    assert all(rounds is row[key][1] for key, rounds in kept.items())


@pytest.mark.parametrize("dataset", ["clean", "x" * 255, "ä" * 127])
def test_however_long_names_are_what_is_remembered_can_be_stored(dataset: str) -> None:
    kept = newest(failed(10_000, dataset))
    assert len(kept) > 100
    assert encode_progress(Remembered(parked=kept).to_json())


def test_few_are_remembered_whole() -> None:
    assert len(newest(failed(3, "clean"))) == 3
