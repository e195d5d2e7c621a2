"""What readers see: adds up the published flights with Spark and prints the sums of each month as JSON.

usage: DEMO_STORE=… DEMO_PARTITION_PREFIX=… python -m demo.published
"""

from __future__ import annotations

import json
import os
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from airflow_coordination import read_completed
from demo.data import CHECKSUM_DIGITS
from demo.place import PREFIX, STORE


def as_lines(flights: DataFrame) -> DataFrame:
    """Return each row with its month and written as the source's CSV writes it."""
    texts = [
        f.date_format(name, "yyyy-MM-dd'T'HH:mm:ss'Z'") if kind == "timestamp" else f.col(name).cast("string")
        for name, kind in flights.dtypes
    ]
    line = f.concat_ws(",", *(f.coalesce(text, f.lit("NA")) for text in texts))
    return flights.select(f.format_string("%d-%02d", "year", "month").alias("key"), line.alias("line"))


def published_digests(spark: SparkSession, store: Any, partition_prefix: str | None = None) -> dict[str, list[int]]:
    """Return rows and checksum of each published month; see :class:`demo.data.Digest`."""
    # Read and written in UTC, as the source is.
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    flights = read_completed(spark, store=store, source="flights", dataset="flights", partition_prefix=partition_prefix)
    checksum = f.conv(f.substring(f.md5("line"), 1, CHECKSUM_DIGITS), 16, 10).cast("decimal(20,0)")
    sums = as_lines(flights).groupBy("key").agg(f.count("line"), f.sum(checksum))
    return {key: [rows, int(total) % 2**64] for key, rows, total in sums.collect()}


if __name__ == "__main__":
    session = SparkSession.builder.master("local[2]").getOrCreate()
    print(json.dumps(published_digests(session, os.environ[STORE], os.environ[PREFIX] or None)))
