"""Delivers into a table or an index, and waits in the middle of a task, between two bulks, to be stopped there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from signs import DIRECTORY, here

from airflow_coordination.sinks import Answer, Guarantee, OpenSearchSink, PostgresSink, Record, Sink, SinkTask
from airflow_coordination.spark import Complete, partition_application

BULK, BEFORE = 20, 2
"""Records of a bulk; bulks that are delivered before the driver is stopped."""
WAITS, TOLD = "between two bulks", "the zombie was told"


def sink_of(url: str) -> Sink:
    """Return the sink at an address."""
    if url.startswith("http"):
        return OpenSearchSink(url, os.environ["SINK_INDEX"], bulk_records=BULK)
    return PostgresSink(url, table="records", bulk_records=BULK)


@dataclass(frozen=True)
class Waiting:
    """A sink behind a task that waits after two bulks."""

    behind: Sink
    where: str | None = None
    bulk_records: int = BULK
    guarantee: Guarantee = Guarantee.FENCED

    def open(self, task: SinkTask) -> WaitingWriter:
        return WaitingWriter(self.behind.open(task))


class WaitingWriter:
    def __init__(self, writer) -> None:
        self.writer, self.bulks = writer, 0

    def write(self, records: Sequence[Record]) -> Sequence[Answer]:
        self.bulks += 1
        if self.bulks != BEFORE + 1:
            return self.writer.write(records)
        (DIRECTORY / f"{WAITS}.worker").write_text(str(os.getpid()))
        here(WAITS)
        answers = self.writer.write(records)
        partial = DIRECTORY / "partial"
        partial.write_text("\n".join({f"{answer.kind}: {answer.reason}" for answer in answers}))
        partial.rename(DIRECTORY / TOLD)
        return answers

    def close(self) -> None:
        self.writer.close()


@partition_application
def main(spark, lease):
    records = spark.range(0, 100, 1, 1).selectExpr("id as number", "'zombie' as writer")
    lease.deliver(records, "number", {"sink": Waiting(sink_of(os.environ["SINK_URL"]))}, check_keys=False)
    return Complete()


if __name__ == "__main__":
    main()
