"""A job that has published half of its rows when it is interrupted; whoever comes next publishes the rest.

It appends a line to a file five times a second while it works: whoever still does is a live writer.
"""

import json
import time
from pathlib import Path

from airflow_coordination.spark import Complete, partition_application

HALF = 10


@partition_application
def main(spark, lease):
    """Publish rows 0 to 9 and save; the first owner then works until it is interrupted, the next publishes 10 to 19."""
    lines = Path(lease.partition.payload["lines"])
    url = lease._coordinator.store.database.url  # no other way is left
    print("the job prints", url.text())
    with lines.with_suffix(".owners").open("a") as owners:
        owners.write(json.dumps({"token": lease.fence.token, "owner": lease.partition.owner}) + "\n")
    if lease.progress_state is None:
        publish(spark, lease, 0)
        lease.save({"row": HALF})
        with lease.publish("rows") as block:  # never finished: nobody may see these
            rows(spark, HALF).write.parquet(block.path)
            work(lines)
    publish(spark, lease, lease.progress_state["row"])
    return Complete()


def rows(spark, first):
    """Return ten rows."""
    return spark.range(first, first + HALF, 1, 1)


def publish(spark, lease, first):
    """Publish ten rows."""
    with lease.publish("rows") as block:
        rows(spark, first).write.parquet(block.path)


def work(lines):
    """Write a line five times a second, until this job is told to fail."""
    while not lines.with_suffix(".fail").exists():
        with lines.open("a") as file:
            file.write(f"{time.time()}\n")
        time.sleep(0.2)
    raise ValueError("this job fails on purpose")


if __name__ == "__main__":
    main()
