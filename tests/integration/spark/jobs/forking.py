"""Forks in every way while a Spark job of its own runs; publishes what that job counted."""

import multiprocessing
import os
import sys
import time

from pyspark import InheritableThread
from signs import here

from airflow_coordination.spark import Complete, partition_application


def slowly(rows):
    here("running")
    for row in rows:
        time.sleep(0.5)
        yield row


@partition_application
def main(spark, lease):
    counted = []
    count = InheritableThread(target=lambda: counted.append(spark.range(0, 10, 1, 1).rdd.mapPartitions(slowly).count()))
    count.start()
    here("forks")
    fork = multiprocessing.get_context("fork")
    child = fork.Process(target=time.sleep, args=(60,))
    child.start()
    child.terminate()
    child.join()
    with fork.Pool(2) as pool:
        pool.map(abs, [-1, -2])
    if (pid := os.fork()) == 0:
        sys.exit(0)
    os.waitpid(pid, 0)
    count.join()
    with lease.publish("rows") as block:
        spark.range(*counted).write.parquet(block.path)
    return Complete()


if __name__ == "__main__":
    main()
