"""A partition's work in three blocks of ten rows; each row says of which partition and tenure it is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from airflow_coordination.spark import Close, Complete

ROWS = 10
IN_TWO_PASSES = ("heads to be read", "close to be sent", "close applied")
"""These partitions are closed after their second block and completed in a second pass."""


def numbered(spark: Any, lease: Any, block: int) -> Any:
    """Return the rows of one block, in two Spark tasks."""
    columns = (f"'{lease.partition.key}' as partition", f"'{lease.fence}' as fence", "id as number")
    return spark.range(block * ROWS, (block + 1) * ROWS, 1, 2).selectExpr(*columns)


def work(
    spark: Any,
    lease: Any,
    at: Callable[[str], None] = lambda point: None,
    rows: Callable[[Any, Any, int], Any] = numbered,
) -> Complete | Close:
    """Write the blocks that are not saved yet. The last one of a pass is published by the ending itself.

    :param at: told where the work is, within the second block.
    :param rows: gives the rows of a block.
    """
    done = (lease.progress_state or {"blocks": 0})["blocks"]
    first_pass = lease.partition.key in IN_TWO_PASSES and not lease.partition.closed_count
    last = 1 if first_pass else 2
    at("began")
    for number in range(done, last + 1):
        tell = at if number == 1 else lambda point: None
        with lease.publish("rows") as block:
            rows(spark, lease, number).write.parquet(block.path)
            tell("files written")
        tell("manifest written")
        if number < last:
            lease.save({"blocks": number + 1})
            tell("between saves")
    return Close(timedelta(0), {"blocks": 2}) if first_pass else Complete()
