"""The Spark session of the benchmarks, and the small files that they write."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.engines.postgres import fresh_database, private_postgres

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


@contextmanager
def database_and_folder() -> Iterator[tuple[str, Path]]:
    """Give the URL of an empty database on a PostgreSQL of its own, and an empty folder."""
    with private_postgres() as cluster, fresh_database(cluster) as url, tempfile.TemporaryDirectory() as folder:
        yield url, Path(folder)


def write_file(place: Path, number: int) -> None:
    """Write one row, by pyarrow: a job of Spark's would take longer than all that is measured."""
    place.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"flight": [number], "delay": [float(number)]}), place / f"part-{number:05}.parquet")
