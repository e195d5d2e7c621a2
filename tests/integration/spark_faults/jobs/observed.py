"""Each partition is delivered into blocks alone, whose writes count, while tasks fail, die, and are overtaken.

A partition is named after what is between the records and their files. Where executors die that hold the rows of a
shuffle, Spark repeats a stage; where the numbers are taken below a shuffle, it takes them of a repeated task twice.
"""

from __future__ import annotations

from typing import Any

import cluster
from executors import both_executors
from signs import DIRECTORY

from airflow_coordination.delivery import delivery
from airflow_coordination.spark import Complete, Publish, partition_application
from tests.integration.spark_faults.jobs.meeting import BULK, RECORDS, TASKS, OnTheWay

BELOW, ABOVE = "a shuffle below", "a shuffle above"
observed, counted = delivery.observed, delivery.counted


def shuffled(frame: Any, partition: str) -> Any:
    """Return records whose tasks meet their faults behind a shuffle."""
    return frame.repartition(TASKS, "number").mapInArrow(OnTheWay(partition), frame.schema)


def as_some_planners_do(partition: str) -> None:
    """Put a shuffle between what is observed and the files: extensions of Spark do so to write larger ones."""
    above = partition.startswith(ABOVE)

    def below_a_shuffle(routing: Any, flagged: Any, seen: Any) -> Any:
        frame = observed(routing, flagged, seen)
        return shuffled(frame, partition) if above else frame

    def once_more(routing: Any, flagged: Any) -> Any:
        (DIRECTORY / f"{partition}.counted").touch()
        return counted(routing, flagged)

    delivery.observed, delivery.counted = below_a_shuffle, once_more


@partition_application
def main(spark, lease):
    both_executors(spark)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", BULK)
    partition = lease.partition.key
    as_some_planners_do(partition)
    records = spark.range(0, TASKS * RECORDS, 1, TASKS).selectExpr("id as number", f"'{partition}' as partition")
    if partition.startswith(BELOW):
        records = shuffled(records, partition)
    elif not partition.startswith(ABOVE):
        records = records.mapInArrow(OnTheWay(partition), records.schema)
    sinks = {"odd": Publish("odd", where="number % 2 = 1"), "fives": Publish("fives", where="number % 5 = 0")}
    done = lease.deliver(records, "number", sinks, drop={"three": "number % 10 = 3"})
    (DIRECTORY / f"{partition}.accounting").write_text(done.accounting.to_json())
    (DIRECTORY / f"{partition}.problems").write_text("\n".join(done.problems))
    return Complete()


if __name__ == "__main__":
    cluster.start(str(DIRECTORY / "work"))
    main()
