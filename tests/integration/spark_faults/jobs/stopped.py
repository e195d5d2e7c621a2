"""Works through partitions; in each it waits at the point that the partition is named after, to be stopped there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from blocks import ROWS, numbered, work
from signs import here

from airflow_coordination.protocol.results import Answer, FusedAnswer
from airflow_coordination.protocol.writes import AcquireNext, End, OwnerWrite, Save
from airflow_coordination.spark import application, partition_application
from airflow_coordination.spark.draining import opened
from airflow_coordination.testing.forwarding import ForwardingStore


class WatchedStore(ForwardingStore):
    """Waits before and after the calls that save and end. ``partition`` is the one being worked on.

    Only those that are named so are completed and followed in one step.
    """

    partition = ""
    reads = count()

    def write(self, write: OwnerWrite) -> Answer:
        with waiting(write.key, step(write)):
            return super().write(write)

    def complete_and_acquire(self, end: End, following: AcquireNext) -> FusedAnswer:
        if not end.key.startswith("fused"):
            ended = self.write(end)
            return FusedAnswer(ended, self.acquire_next(following) if ended.applied else None)
        with waiting(end.key, "fused completion"):
            return super().complete_and_acquire(end, following)

    def heads(self, source, dataset=None, *more, **named):
        if dataset is None and next(self.reads) == 0:  # reads of one dataset are the block's, this is the completion's
            at(self.partition, "heads to be read")
        return super().heads(source, dataset, *more, **named)


def step(write: OwnerWrite) -> str:
    if isinstance(write, Save) and write.progress_text == '{"blocks":2}':
        return "save"
    if isinstance(write, End):
        return {"completed": "completion", "closed": "close"}.get(write.outcome, write.outcome)
    return "other"


@contextmanager
def waiting(key: str, name: str) -> Iterator[None]:
    at(key, f"{name} to be sent")
    yield
    at(key, f"{name} applied")


def at(key: str, point: str) -> None:
    if key == point:
        here(point)


@contextmanager
def watched(url: str) -> Iterator[WatchedStore]:
    with opened(url) as store:
        stores.append(WatchedStore(store))
        yield stores[-1]


def halting(rows):
    """Wait in the task that writes the second half of the block."""
    for row in rows:
        if row.number == ROWS + ROWS // 2:
            here("tasks running")
        yield row


def rows(spark, lease, block: int):
    frame = numbered(spark, lease, block)
    if (lease.partition.key, block) != ("tasks running", 1):
        return frame
    return frame.rdd.mapPartitions(halting).toDF(frame.schema)


@partition_application
def main(spark, lease):
    stores[-1].partition = lease.partition.key
    return work(spark, lease, lambda point: at(lease.partition.key, point), rows)


stores: list[WatchedStore] = []
if __name__ == "__main__":
    application.opened = watched
    main()
