"""One of the tenures never comes back, whatever is raised in it; the others wait as long as a test wants."""

import time

from signs import here

from airflow_coordination.spark import Complete, partition_application


@partition_application
def main(spark, lease):
    if lease.partition.key == "b":
        here("b sleeps")
        time.sleep(3600)
    here(f"{lease.partition.key} waits")
    return Complete()


if __name__ == "__main__":
    main()
