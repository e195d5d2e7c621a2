"""What a partition costs in a running Spark application beside its work, counted: calls to the JVM and threads."""

from __future__ import annotations

import threading
from collections import Counter

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.spark import Complete, Publish, drain
from airflow_coordination.systems.spark.listing import load
from benchmarks.spark.costs import counted


def published(spark, lease):
    with lease.publish("clean", format="json") as block:
        spark.range(1).write.json(block.path)
    return Complete()


def over(thread: threading.Thread) -> bool:
    thread.join(30)
    return not thread.is_alive()


@pytest.fixture
def drained(spark, store: PartitionStore, output_root: str):
    """Drain so many partitions, and return what that cost."""
    SourceCoordinator(store, "s", "supplier").create_partitions(map(str, range(20)))

    def drained(number: int, work=lambda spark, lease: Complete()):
        with counted() as costs:
            done = drain(work, store=store, source="s", spark=spark, output_root=output_root, max_leases=number)
        assert done.completed == number, done.errors
        return costs

    drained(1)
    return drained


def test_a_partition_is_two_calls_to_the_jvm_and_no_thread(drained) -> None:
    few, more = drained(2), drained(7)
    calls = more.calls - few.calls
    del calls["release"]  # when Python collects its garbage
    assert calls == Counter(setJobGroup=5, isStopped=5)
    assert more.threads == few.threads == Counter(pool=1, renewals=1)


def test_publishing_one_file_starts_no_thread(drained) -> None:
    """There are the drain's own: one waits for first renewals, one passes SIGTERM on (E5)."""
    assert drained(2, published).threads == Counter(pool=1, renewals=1)
    assert not [thread.name for thread in threading.enumerate() if thread.name == "renewals" and not over(thread)]


def test_the_marks_are_gone_when_it_is_over(spark, drained) -> None:
    seen = []

    def look(spark, lease):
        context = spark.sparkContext
        seen.append((context.getLocalProperty("spark.jobGroup.id"), set(context.getJobTags())))
        return Complete()

    drained(1, look)
    [(group, tags)] = seen
    assert group.startswith("lease-")
    assert len(tags) == 1
    context = spark.sparkContext
    names = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")
    assert [context.getLocalProperty(name) for name in names] == [None] * 3
    assert not set(context.getJobTags())


def test_a_delivery_is_as_few_calls_for_many_columns_as_for_some(spark, drained) -> None:
    def calls(columns: int) -> int:
        records = spark.range(3).selectExpr("id", *(f"id as c{number}" for number in range(columns)))

        def deliver(spark, lease):
            done = lease.deliver(records, "id", {"clean": Publish("clean")}, drop={"last": "id = 2"})
            assert done.accounting.read == 3
            return Complete()

        made = drained(1, deliver).calls
        return made.total() - made["release"]

    calls(2)
    assert calls(30) == calls(2)


def test_many_paths_are_as_few_calls_as_some(spark, tmp_path) -> None:
    names = [f"{number} ü'\"$ {number % 7}.json" for number in range(40)]
    for number, name in enumerate(names):
        (tmp_path / name).write_text(f'{{"k": {number}}}\n')
    paths = [str(tmp_path / name) for name in names]

    def read(some):
        with counted() as costs:
            frame = load(spark.read.format("json").schema("k long"), some)
        assert sorted(row.k for row in frame.collect()) == list(range(len(some)))
        return costs.calls.total() - costs.calls["release"]

    read(paths)
    assert read(paths) == read(paths[:2])
