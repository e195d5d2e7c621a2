"""Reads a day's orders: the first has no file until somebody brings it, the second comes later, the third waits."""

import os
import time
from datetime import timedelta
from pathlib import Path

from airflow_coordination.spark import Close, Complete, partition_application

ORDERS = Path(os.environ["COORDINATION_SYSTEM_HOME"]) / "orders"
LATER = timedelta(hours=8)


@partition_application
def main(spark, lease):
    """Do what a day's orders ask for."""
    day = lease.partition.key
    if day == "2026-01-01":
        assert spark.read.csv(str(ORDERS / f"{day}.csv")).count() == 2
    elif day == "2026-01-02" and lease.fence.token == 1:
        return Close(reopen_after=LATER)
    elif day == "2026-01-03":
        while not (ORDERS / "go-on").exists():
            time.sleep(0.2)
    else:
        time.sleep(0.5)
    return Complete()


if __name__ == "__main__":
    main()
