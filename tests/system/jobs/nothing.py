"""A job whose partitions are nothing but leases; of every hundred it writes down when, and after what CPU, it began."""

import os
import time
from itertools import count
from pathlib import Path

from airflow_coordination.spark import Complete, partition_application

EVERY = 100
_numbers = count()


@partition_application
def main(spark, lease):
    """Do nothing."""
    if next(_numbers) % EVERY == 0:
        with (Path(os.environ["COORDINATION_SYSTEM_HOME"]) / f"million-{os.getpid()}.times").open("a") as seen:
            seen.write(f"{time.time()} {time.process_time()}\n")
    return Complete()


if __name__ == "__main__":
    main()
