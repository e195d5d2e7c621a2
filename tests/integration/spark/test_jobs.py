"""One tenure after the other marks its jobs in the same thread, and cancels its own only."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from airflow_coordination.leases import Fence
from airflow_coordination.systems.spark.jobs import SparkJobs, unmarked_at_the_end

A_LONG_TIME = "java_method('java.lang.Thread', 'sleep', 600000L)"


def _jobs(spark: Any, token: int) -> SparkJobs:
    return SparkJobs(spark, Fence(token, "0" * 32), alone=False)


class Work:
    """A job that takes ten minutes if nobody cancels it, in a thread that carries the marks of this one."""

    def __init__(self, spark: Any, before: Any = lambda context: None) -> None:
        from pyspark import InheritableThread

        self._spark, self._before = spark, before
        self.error: Exception | None = None
        self.thread = InheritableThread(target=self._run, session=spark)
        self.thread.start()

    def _run(self) -> None:
        self._before(self._spark.sparkContext)
        try:
            self._spark.sql(f"select {A_LONG_TIME} from range(1)").collect()
        except Exception as error:
            self.error = error

    def wait_until_it_runs(self) -> None:
        tracker = self._spark.sparkContext.statusTracker()
        while not tracker.getActiveJobsIds():
            assert self.thread.is_alive(), self.error
            threading.Event().wait(0.02)


@pytest.fixture
def both(spark: Any) -> Iterator[tuple[SparkJobs, SparkJobs]]:
    """A tenure that is over, and the one that follows it in this thread."""
    with unmarked_at_the_end():
        first, second = _jobs(spark, 1), _jobs(spark, 2)
        first.mark("the first")
        first.over()
        second.mark("the second")
        yield first, second
        second.unmark()
    assert not spark.sparkContext.getJobTags()
    # Whoever left a task that sleeps would hold up all that follow in this process.
    assert spark.range(1).count() == 1


@pytest.fixture
def asked(spark: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What Spark is asked to cancel; it does so a moment later."""
    seen: list[str] = []
    for name in ("cancelJobsWithTag", "cancelJobGroup", "cancelAllJobs"):
        act = getattr(spark.sparkContext, name)
        said = lambda *given, act=act, name=name: (seen.append(name), act(*given))  # noqa: E731
        monkeypatch.setattr(spark.sparkContext, name, said)
    return seen


def test_who_is_late_cancels_nothing_of_the_next(spark: Any, both: Any, asked: list[str]) -> None:
    late, marked = both
    work = Work(spark)
    work.wait_until_it_runs()
    late.cancel()
    _jobs(spark, 3).cancel()  # nor does who has marked nothing yet
    assert asked == []
    marked.cancel()
    work.thread.join(60)
    assert "cancelled" in str(work.error).lower()
    marked.over()
    asked.clear()
    marked.cancel()
    assert asked == []


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(
            lambda context: context.setJobGroup("mine", "a group of its own", interruptOnCancel=True),
            id="another group",
        ),
        pytest.param(lambda context: context.clearJobTags(), id="no tag"),
    ],
)
def test_what_the_function_marks_otherwise_is_cancelled_too(spark: Any, both: Any, before: Any) -> None:
    _, marked = both
    work = Work(spark, before)
    work.wait_until_it_runs()
    marked.cancel()
    work.thread.join(60)
    assert "cancelled" in str(work.error).lower()
