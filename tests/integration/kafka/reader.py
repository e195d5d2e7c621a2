"""A driver that reads a topic to its end, pass by pass: started, and killed, by test_kills.py."""

from __future__ import annotations

import sys
from datetime import timedelta

from pyspark.sql import SparkSession

from airflow_coordination.leases import Settings
from airflow_coordination.sources import kafka_ranges
from airflow_coordination.spark import Close, CommitOffsets, drain, read_range
from tests.integration.spark.drivers import SMALL

SETTINGS = Settings(ownership_timeout=timedelta(seconds=3), max_lost_leases=1_000)
LATER = timedelta(days=1)


def main(store: str, servers: str, topic: str, root: str, max_records: str) -> None:
    """Read until every partition of the topic is read to its end."""

    def read(spark, lease):
        found = read_range(spark, lease, servers, max_records=int(max_records))
        with lease.publish("numbers", allow_empty=True) as block:
            found.records.selectExpr("cast(value as string) as number").write.parquet(block.path)
        after = timedelta(0) if found.end > found.start else LATER
        return Close(after, state=found.state, then=CommitOffsets(servers, topic, {lease.partition.key: found.end}))

    spark = SparkSession.builder.master("local[1]").config(map=SMALL).getOrCreate()
    supplier = kafka_ranges(servers, topic)
    drain(
        read,
        store=store,
        source="topic",
        spark=spark,
        output_root=root,
        max_leases=None,
        supplier=supplier,
        settings=SETTINGS,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
