"""A worker that reads shards of a stream until it is told to end, and shares them: started by test_sharing."""

from __future__ import annotations

import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

from pyspark.sql import SparkSession

from airflow_coordination.leases import Settings
from airflow_coordination.spark import drain, shard
from airflow_coordination.systems.kinesis.reader import ShardBatches
from tests.integration.spark.drivers import SMALL

SETTINGS = Settings(ownership_timeout=timedelta(seconds=20), max_lost_leases=1_000)
SHARDS = 4


def main(store: str, endpoint: str, root: str, name: str, signs: str) -> None:
    """Read until the file ``end`` is there."""
    end = Path(signs) / "end"

    def read(spark, lease):
        with shard(
            spark, lease, seconds=1, max_runtime=None, reopen_after=timedelta(days=1),
            client_options={"endpoint_url": endpoint},
        ) as batches:  # fmt: skip
            threading.Thread(target=_stop, args=(batches, end), daemon=True).start()
            for batch in batches:
                with lease.publish("orders") as block:
                    batch.records.write.parquet(block.path)
            return batches.outcome

    spark = SparkSession.builder.master("local[2]").config(map=SMALL).getOrCreate()
    done = drain(
        read,
        store=store,
        source="orders",
        spark=spark,
        output_root=root,
        max_leases=None,
        settings=SETTINGS,
        owner=name,
        concurrent_leases=SHARDS,
        balance=True,
        steal=False,
        hand_over_timeout=timedelta(minutes=2),  # a batch takes as long as the machine needs
        balance_interval=timedelta(seconds=1),
    )
    print(done)


def _stop(batches: ShardBatches, end: Path) -> None:
    while not end.exists():
        time.sleep(0.1)
    batches.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
