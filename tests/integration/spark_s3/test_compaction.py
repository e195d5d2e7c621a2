"""Compaction on S3: nothing is copied or renamed, and what dead attempts have left goes as everywhere."""

from __future__ import annotations

from tests.integration.spark.test_chunks import HOURS, compacted, config, originals_go, publish, rows

__all__ = ["compacted", "publish", "rows"]


def test_s21_hours_become_a_month_with_no_original_left(store, output_root, publish, compacted, rows, keys) -> None:
    publish(HOURS)
    before = rows()
    [month] = compacted(config("MONTH"))
    assert len(month.covers) == len(HOURS)
    assert rows() == before
    originals_go(store, output_root)
    assert rows() == before
    files = [key for key in keys() if key.endswith(".parquet")]
    assert len(files) == 1
