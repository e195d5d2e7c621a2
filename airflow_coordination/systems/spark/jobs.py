"""The Spark jobs of one tenure: marked, tagged, counted, cancelled, on classic sessions and on Spark Connect."""

from __future__ import annotations

import logging
from typing import Any

from airflow_coordination.systems.spark.session import context_of
from airflow_coordination.values.fence import Fence


class JobTags:
    """The tags of the calling thread's jobs in one session.

    :param spark: the session, classic or Connect.
    """

    def __init__(self, spark: Any) -> None:
        self._spark, self._context = spark, context_of(spark)

    def add(self, tag: str) -> None:
        """Mark the jobs that the calling thread starts from now on."""
        self._spark.addTag(tag) if self._context is None else self._context.addJobTag(tag)

    def remove(self, tag: str) -> None:
        """Mark its jobs no more."""
        self._spark.removeTag(tag) if self._context is None else self._context.removeJobTag(tag)

    def cancel(self, tag: str) -> None:
        """Cancel what runs under a tag now; jobs that are started later are not touched."""
        self._spark.interruptTag(tag) if self._context is None else self._context.cancelJobsWithTag(tag)


log = logging.getLogger(__name__)


class NoJobs:
    """The jobs of a function that is given no session."""

    def mark(self, description: str) -> None:
        """Do nothing."""

    def unmark(self) -> None:
        """Do nothing."""

    def cancel(self) -> None:
        """Do nothing."""

    def progress(self) -> object:
        """Return that nothing is seen: such a function says ``lease.alive()``."""
        return None


def jobs_of(spark: Any, fence: Fence, *, alone: bool, pooled: bool) -> NoJobs | SparkJobs:
    """Return the jobs of a tenure; see :class:`SparkJobs`."""
    return NoJobs() if spark is None else SparkJobs(spark, fence, alone=alone, pooled=pooled)


class SparkJobs:
    """Marks the Spark jobs of one tenure with a group and a tag ``lease-<fence>``.

    Jobs that the function starts in threads of its own carry the marks only if these are
    ``pyspark.InheritableThread``; where the whole Spark application is the tenure's (``alone``), every job
    is cancelled. Beside other tenures (``pooled``), only what carries the marks counts as progress.

    :param spark: the session, classic or Connect.
    :param fence: the tenure.
    :param alone: nothing else runs in this Spark application.
    :param pooled: other tenures run in it, whose progress says nothing of this one.
    """

    def __init__(self, spark: Any, fence: Fence, *, alone: bool, pooled: bool = False) -> None:
        self._spark, self._alone, self._pooled = spark, alone, pooled
        self._context = context_of(spark)
        self._tag, self._tags = f"lease-{fence}", JobTags(spark)
        self._connect_progress: tuple[Any, ...] = ()
        self._jobs_over: set[int] = set()

    def mark(self, description: str) -> None:
        """Mark the jobs that the calling thread starts from now on.

        :param description: their text in Spark's own pages.
        """
        if self._context is None:
            self._spark.registerProgressHandler(self._on_progress)
        else:
            self._context.setJobGroup(self._tag, description, interruptOnCancel=True)
        self._tags.add(self._tag)

    def unmark(self) -> None:
        """Take the marks away from the calling thread."""
        if self._context is None:
            self._tags.remove(self._tag)
            self._spark.removeProgressHandler(self._on_progress)
            return
        try:
            self._tags.remove(self._tag)
            self._context._jsc.clearJobGroup()  # each call to the JVM is a round trip
        except Exception as error:
            log.debug("The JVM is gone, and the marks with it: %s", error)

    def cancel(self) -> None:
        """Cancel what runs now. Jobs started later are not touched; call again."""
        if not self._alone:
            self._tags.cancel(self._tag)
        elif self._context is None:
            self._spark.interruptAll()
        else:
            self._context.cancelAllJobs()

    def progress(self) -> object:
        """Return a value that changes when a task of these jobs ends (no accumulator, no listener)."""
        if self._context is None:
            return self._connect_progress
        tracker = self._context.statusTracker()
        jobs = tracker.getJobIdsForGroup(self._tag)
        active = self._own_stages(tracker, jobs) if self._pooled else tracker.getActiveStageIds()
        stages = {stage: tracker.getStageInfo(stage) for stage in active}
        done = tuple((stage, info.numCompletedTasks) for stage, info in sorted(stages.items()) if info)
        return len(jobs), done

    def _own_stages(self, tracker: Any, jobs: list[int]) -> set[int]:
        """Return the stages of the jobs that run; each look is a call to the JVM, so jobs that are over get no more."""
        stages: set[int] = set()
        for job in jobs:
            info = None if job in self._jobs_over else tracker.getJobInfo(job)
            if info is not None and info.status == "RUNNING":
                stages.update(info.stageIds)
            else:
                self._jobs_over.add(job)
        return stages

    def _on_progress(self, stages: Any, inflight_tasks: int, done: bool, **_: Any) -> None:
        if self._pooled and self._tag not in self._spark.getTags():
            return  # the session tells every handler of each tenure's work, in that tenure's thread
        self._connect_progress = (str(stages), inflight_tasks, done)
