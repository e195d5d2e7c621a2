"""A job that has published half of its rows and holds the other half back until it is told; who comes next does them.

Each driver says in a file who it is.
"""

import json
import os
import time
from pathlib import Path

from airflow_coordination.spark import Complete, partition_application

HALF = 10


@partition_application
def main(spark, lease):
    """Publish rows 0 to 9 and save; publish 10 to 19 once there is a file that says so, or at once after another."""
    place = Path(lease.partition.payload["place"])
    said = {"driver": os.getpid(), "jvm": os.getppid(), "application": spark.sparkContext.applicationId}
    first = lease.progress_state is None
    if first:
        publish(spark, lease, 0, None)
        lease.save({"row": HALF})
    with (place / "drivers").open("a") as drivers:
        drivers.write(json.dumps({**said, "token": lease.fence.token}) + "\n")
    publish(spark, lease, HALF, place / "go" if first else None)
    return Complete()


def publish(spark, lease, row, told):
    """Publish ten rows, if ``told`` is a file then once it is there."""
    with lease.publish("rows") as block:
        spark.range(row, row + HALF, 1, 1).write.parquet(block.path)
        while told is not None and not told.exists():
            time.sleep(0.2)


if __name__ == "__main__":
    main()
