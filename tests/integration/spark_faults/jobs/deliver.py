"""Each partition is delivered while its tasks fail, its executors die, and copies of slow tasks race them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import cluster
from executors import both_executors
from signs import DIRECTORY

from airflow_coordination.sinks import Answer, Guarantee, PostgresSink, Record, SinkTask
from airflow_coordination.spark import Complete, DeadLetters, FileSink, OpenSearchSink, Publish, partition_application
from tests.integration.spark_faults.jobs.meeting import BULK, RECORDS, TASKS, OnTheWay, meet


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
