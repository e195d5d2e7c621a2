"""Each partition's second block is written under the fault that the partition is named after."""

from __future__ import annotations

from pathlib import Path

import cluster
from pyspark import TaskContext
from signs import DIRECTORY, executor, here, wait_until

from airflow_coordination.spark import Complete, partition_application

RETRIED, DISCARDED, SHUFFLED = "task retried", "block discarded", "stage retried"
COLUMNS = "partition string, fence string, number long, attempt int"
AT_ONCE = {"mapreduce.fileoutputcommitter.algorithm.version": "2"}
"""A task's files are in the block's directory as soon as the task is done, not only when the job is."""


def first_waits(name: str) -> None:
    """Say that a task is there, and stay in its first attempt as long as the test says; later ones only say "again".

    Who is first in a stage is told by Spark's number: a copy of a slow task may get here before the task itself. A
    stage that is repeated counts from 0 again, but only when the test has seen the first one here.
    """
    if TaskContext.get().attemptNumber() or (DIRECTORY / name).exists():
        here(f"{name} again")
        return
    (DIRECTORY / f"{name}.executor").write_text(str(executor()))
    here(name)


def meets_its_fault(partition: str, directory: str) -> None:
    """Wait, or fail, half way through a task."""
    context = TaskContext.get()
    name = f"{partition} {context.partitionId()}"
    first_waits(name)
    if partition == RETRIED:
        if context.attemptNumber() == 0:
            here(f"{name} failed")
            raise RuntimeError("the first attempt of every task fails")
        wait_until(lambda: (DIRECTORY / f"{name} failed").exists())  # a copy would win while the first is starting
    if partition == DISCARDED and context.partitionId() == 1:
        wait_until(lambda: any(Path(directory).glob("part-00000*")))
        raise RuntimeError("every attempt of this task fails")


def write(spark, lease, numbers: range, faults: bool = False) -> None:
    """Write one block in two tasks; each row says which attempt of its task wrote it."""
    partition, fence = lease.partition.key, str(lease.fence)

    def told(rows):
        for place, row in enumerate(rows):
            if faults and place == 2:
                meets_its_fault(partition, block.path)
            yield partition, fence, row.id, TaskContext.get().attemptNumber()

    with lease.publish("rows") as block:
        frame = spark.range(numbers.start, numbers.stop, 1, 2)
        if partition == SHUFFLED:
            frame = frame.repartition(2, "id")
        frame = frame.rdd.mapPartitions(told).toDF(COLUMNS)
        frame.write.options(**(AT_ONCE if partition == DISCARDED else {})).parquet(block.path)


def both_executors(spark) -> None:
    wait_until(lambda: spark._jsc.sc().getExecutorMemoryStatus().size() == 1 + len(cluster.HOSTS))


@partition_application
def main(spark, lease):
    both_executors(spark)
    write(spark, lease, range(20))
    lease.save({"blocks": 1})
    try:
        write(spark, lease, range(20, 40), faults=True)
    except Exception:
        write(spark, lease, range(20, 40))
    return Complete()


if __name__ == "__main__":
    cluster.start(str(DIRECTORY / "work"))
    main()
