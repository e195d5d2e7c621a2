"""A driver that reads the shards of a stream, pass by pass: started, and killed, by test_kills.py."""

from __future__ import annotations

import sys
from datetime import timedelta

from pyspark.sql import SparkSession

from airflow_coordination.leases import Settings
from airflow_coordination.sources import KinesisShards
from airflow_coordination.spark import drain, shard
from tests.integration.spark.drivers import SMALL

SETTINGS = Settings(ownership_timeout=timedelta(seconds=3), max_lost_leases=1_000)


def main(store: str, endpoint: str, stream: str, root: str, records: str, reopen_after: str) -> None:
    """Read until every shard of the stream is read to its end or its tip."""

    def read(spark, lease):
        again = timedelta(seconds=float(reopen_after))
        client = {"endpoint_url": endpoint}
        with shard(
            spark,
            lease,
            seconds=3,
            records=int(records),
            until_caught_up=True,
            reopen_after=again,
            client_options=client,
        ) as batches:
            for batch in batches:
                with lease.publish("orders") as block:
                    batch.records.write.parquet(block.path)
        return batches.outcome

    spark = SparkSession.builder.master("local[1]").config(map=SMALL).getOrCreate()
    supplier = KinesisShards(streams=[stream], endpoint_url=endpoint, full_sync_interval=timedelta(0))
    drain(
        read,
        store=store,
        source="orders",
        spark=spark,
        output_root=root,
        max_leases=None,
        supplier=supplier,
        settings=SETTINGS,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
