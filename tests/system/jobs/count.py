"""A job whose partitions take no time: it writes down each that it works on."""

import os
from pathlib import Path

from airflow_coordination.spark import Complete, partition_application

SEEN = Path(os.environ["COORDINATION_SYSTEM_HOME"]) / f"drain-{os.getpid()}.seen"


@partition_application
def main(spark, lease):
    """Note the partition."""
    with SEEN.open("a") as seen:
        seen.write(f"{lease.partition.key} {lease.fence.token}\n")
    return Complete()


if __name__ == "__main__":
    main()
