"""A light job in the place of the tutorial's: some partitions are given up or closed at first, and a bad one fails."""

import os
from datetime import timedelta
from pathlib import Path

from airflow_coordination.spark import Close, Complete, GiveUp, partition_application

SEEN = Path(os.environ["COORDINATION_SYSTEM_HOME"]) / f"sales-{os.getpid()}.seen"


@partition_application
def main(spark, lease):
    """Note the partition; what it does next is in its key."""
    with SEEN.open("a") as seen:
        seen.write(f"{lease.partition.key}\n")
    if lease.partition.key.endswith("bad"):
        raise ValueError(f"no sale at all in {lease.partition.key}")
    first_time = lease.fence.token == 1
    if first_time and lease.partition.key.endswith("given-up"):
        return GiveUp("not yet")
    if first_time and lease.partition.key.endswith("closed"):
        return Close(reopen_after=timedelta(seconds=1))
    assert spark.range(3).count() == 3
    return Complete()


if __name__ == "__main__":
    main()
