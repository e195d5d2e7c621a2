"""Each partition is delivered while its tasks fail, its executors die, and copies of slow tasks race them.

Which task of which partition meets which fault, the partition's key decides.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import cluster
from executors import both_executors
from pyspark import TaskContext
from signs import DIRECTORY, executor, here, wait_until

from airflow_coordination.sinks import Answer, Guarantee, PostgresSink, Record, SinkTask
from airflow_coordination.spark import Complete, DeadLetters, FileSink, OpenSearchSink, Publish, partition_application

TASKS, RECORDS, BULK = 8, 100, 20
"""Spark tasks; records of each; records of a bulk, so that a fault finds some of them delivered."""
RAISES, DIES, SLOW = "raises", "dies", "slow"
SLOW_SECONDS = 20
"""A slow task is overtaken by its copy by then, or goes on: Spark starts none where attempts died on both hosts."""


def faults(partition: str) -> list[str | None]:
    """Return the fault of each task: one executor dies, one task is overtaken by its copy, some just fail."""
    drawn = random.Random(partition)
    found = [drawn.choice([None, None, RAISES]) for _ in range(TASKS)]
    dies, slow = drawn.sample(range(TASKS), 2)
    found[dies], found[slow] = DIES, SLOW
    return found


@dataclass(frozen=True)
class Faulty:
    """A table behind a task that meets its fault after two bulks."""

    table: PostgresSink
    partition: str
    where: str | None = None
    bulk_records: int = BULK
    guarantee: Guarantee = Guarantee.FENCED

    def open(self, task: SinkTask) -> FaultyWriter:
        return FaultyWriter(self, task)


class FaultyWriter:
    def __init__(self, sink: Faulty, task: SinkTask) -> None:
        self.sink, self.writer, self.bulks = sink, sink.table.open(task), 0

    def write(self, records: Sequence[Record]) -> Sequence[Answer]:
        self.bulks += 1
        if self.bulks == 3:
            meet(self.sink.partition)
        return self.writer.write(records)

    def close(self) -> None:
        self.writer.close()


@dataclass(frozen=True)
class OnTheWay:
    """Records whose tasks meet their faults while they are read, in each query that reads them."""

    partition: str

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        for number, batch in enumerate(batches):
            if number == 2:
                meet(self.partition)
            yield batch


def meet(partition: str) -> None:
    """Meet the fault of this task, once a query: a first attempt does, its copies and repetitions do not."""
    context = TaskContext.get()
    number, query = context.partitionId(), context.getLocalProperty("spark.sql.execution.id")
    fault, name = faults(partition)[number], f"{partition} {query} {number}"
    if fault is None:
        return
    if (DIRECTORY / name).exists():
        here(f"{name} again")
        return
    here(name)
    if fault == RAISES:
        raise RuntimeError("the first attempt of this task fails")
    if fault == DIES:
        os.kill(executor(), signal.SIGKILL)
    slow_until = time.monotonic() + SLOW_SECONDS
    wait_until(lambda: (DIRECTORY / f"{name} again").exists() or time.monotonic() > slow_until)


@partition_application
def main(spark, lease):
    both_executors(spark)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", BULK)
    partition = lease.partition.key
    records = spark.range(0, TASKS * RECORDS, 1, TASKS).selectExpr(
        f"'{partition}' as partition", f"concat('{partition}', '-', id) as record", "id as number"
    )
    table = PostgresSink(os.environ["SINK_URL"], table="records", bulk_records=BULK)
    done = lease.deliver(
        records,
        "record",
        {
            "table": Faulty(table, partition, where="number % 10 <> 1"),
            "files": FileSink(os.environ["SINK_DIRECTORY"], where="number % 2 = 0"),
            "clean": Publish("clean", where="number % 5 = 0"),
            "index": OpenSearchSink(
                os.environ["SINK_NODE"], os.environ["SINK_INDEX"], where="number % 4 = 0", bulk_records=BULK
            ),
        },
        drop={"three": "number % 10 = 3"},
        dead_letters=DeadLetters("dead", where="number % 100 = 99"),
    )
    (DIRECTORY / f"{partition}.accounting").write_text(done.accounting.to_json())
    faulty = records.mapInArrow(OnTheWay(partition), records.schema)
    odd = {"odd": Publish("odd", where="number % 2 = 1")}
    malformed = DeadLetters("malformed", where="number % 10 = 7")
    drop = {"three": "number % 10 = 3"}
    done = lease.deliver(faulty, "record", odd, drop=drop, dead_letters=malformed)  # counted by Spark alone
    (DIRECTORY / f"{partition}.blocks").write_text(done.accounting.to_json())
    return Complete()


if __name__ == "__main__":
    cluster.start(str(DIRECTORY / "work"))
    main()
