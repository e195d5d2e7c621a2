"""The work on one partition: a Spark job as small as a file makes it."""

from __future__ import annotations

from typing import Any

ROWS = 1_000


def write(spark: Any, path: str) -> None:
    """Write a file of numbers."""
    spark.range(0, ROWS, 1, 1).write.parquet(path)
