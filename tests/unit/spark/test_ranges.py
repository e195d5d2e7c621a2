"""Numbers as ranges, by which files of an overlay are read in part."""

from __future__ import annotations

import pytest

from airflow_coordination.spark.file_scans import ranges


@pytest.mark.parametrize(
    ("numbers", "found"),
    [
        ([], []),
        ([3], [(3, 3)]),
        ([0, 1, 2], [(0, 2)]),
        ([0, 2, 3, 7], [(0, 0), (2, 3), (7, 7)]),
    ],
)
def test_numbers_side_by_side_are_one_range(numbers: list[int], found: list[tuple[int, int]]) -> None:
    assert ranges(numbers) == found
