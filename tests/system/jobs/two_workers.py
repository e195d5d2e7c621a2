"""A job that waits, with the first partition it has, until it is told to go on; it writes down where it works."""

import os
import time
from pathlib import Path

from airflow_coordination.spark import Complete, partition_application

HOME = Path(os.environ["COORDINATION_SYSTEM_HOME"])


@partition_application
def main(spark, lease):
    """Note the partition and the worker."""
    worker = "second" if "second-worker" in os.environ["JAVA_HOME"] else "first"
    with (HOME / "two-workers.seen").open("a") as seen:
        seen.write(f"{worker} {lease.partition.key}\n")
    while not (HOME / f"two-workers.{worker}-goes-on").exists():
        time.sleep(0.1)
    assert spark.range(3).count() == 3
    return Complete()


if __name__ == "__main__":
    main()
