"""Many paths are listed in few tasks, by readers and by partition functions, unless the session says otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_coordination.spark import Complete, read_completed
from airflow_coordination.systems.spark.listing import LEAST_TASKS, PARALLELISM, capped_listing
from tests.integration.spark.one_partition import coordinator, run, store

__all__ = ["coordinator", "run", "store"]

FILES = 40
"""More than the 32 that Spark lists without a job, and fewer than its jobs for listing have tasks by default."""


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    (tmp_path / "in").mkdir()
    files = [tmp_path / "in" / f"{number}.csv" for number in range(FILES)]
    for number, file in enumerate(files):
        file.write_text(f"{number}\n")
    return [str(file) for file in files]


@pytest.fixture
def own(spark: Any) -> Iterator[str]:
    """What somebody has said about listing in this session."""
    spark.conf.set(PARALLELISM, "5")
    yield "5"
    spark.conf.unset(PARALLELISM)


def _tasks(spark: Any, paths: list[str]) -> int:
    """Return how many tasks listed the paths, seen by the job group of the thread."""
    context = spark.sparkContext
    group = context.getLocalProperty("spark.jobGroup.id")
    tracker = context.statusTracker()
    before = set(tracker.getJobIdsForGroup(group))
    spark.read.schema("n int").csv(paths)  # is planned, which lists, and not read
    [job] = set(tracker.getJobIdsForGroup(group)) - before
    [stage] = tracker.getJobInfo(job).stageIds
    return tracker.getStageInfo(stage).numTasks


def test_a_function_s_paths_are_listed_in_few_tasks(spark: Any, run: Any, paths: list[str]) -> None:
    seen = []

    def main(spark: Any, lease: Any) -> Complete:
        seen.append(_tasks(spark, paths))
        return Complete()

    run(main)
    assert seen == [LEAST_TASKS]
    assert spark.conf.get(PARALLELISM, None) is None
    assert _tasks(spark, paths) == FILES  # as before, and as it would have been


def test_what_the_session_says_holds(spark: Any, run: Any, store: Any, paths: list[str], own: str) -> None:
    seen = []

    def main(spark: Any, lease: Any) -> Complete:
        seen.append(_tasks(spark, paths))
        with lease.publish("d") as block:
            spark.range(1).write.parquet(block.path)
        return Complete()

    run(main)
    assert seen == [int(own)]
    assert read_completed(spark, store=store, source="s", dataset="d").count() == 1
    assert spark.conf.get(PARALLELISM) == own


def test_without_a_session_or_with_one_that_was_stopped_nothing_is_said() -> None:
    class Stopped:
        @property
        def conf(self) -> Any:
            raise RuntimeError("the session was stopped")

    for spark in (None, Stopped()):
        with capped_listing(spark):
            pass
