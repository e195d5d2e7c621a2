"""What readers see of the streams: counts and adds up the published orders with Spark, and prints that as JSON.

usage: DEMO_STORE=… DEMO_PARTITION_PREFIX=… python -m demo.published_orders
"""

from __future__ import annotations

import json
import os

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from airflow_coordination import read_completed
from demo.place import PREFIX, STORE
from demo.streams import SOURCE


def published_orders(spark: SparkSession, store: str, partition_prefix: str | None) -> dict[str, int]:
    """Return how many rows are published, of how many orders, and the sum of their numbers."""
    orders = read_completed(spark, store=store, source=SOURCE, dataset=SOURCE, partition_prefix=partition_prefix)
    counts = f.count("id").alias("rows"), f.countDistinct("id").alias("orders"), f.sum("id").alias("sum")
    [sums] = orders.agg(*counts).collect()
    return sums.asDict()


if __name__ == "__main__":
    session = SparkSession.builder.master("local[2]").getOrCreate()
    print(json.dumps(published_orders(session, os.environ[STORE], os.environ[PREFIX] or None)))
