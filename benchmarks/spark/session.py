"""The Spark session of the benchmarks, and the small files that they write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
}


def session(**more: str) -> Any:
    """Return a Spark on two cores of this machine.

    :param more: settings beside ours.
    """
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    for name, value in {**SETTINGS, **more}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def write_file(place: Path, number: int) -> None:
    """Write one row, by pyarrow: a job of Spark's would take longer than all that is measured."""
    place.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"flight": [number], "delay": [float(number)]}), place / f"part-{number:05}.parquet")
