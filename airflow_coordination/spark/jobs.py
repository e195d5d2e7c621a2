"""The Spark jobs of one tenure: marked, counted, cancelled."""

from __future__ import annotations

import logging
from typing import Any

from airflow_coordination.leases.fence import Fence
from airflow_coordination.spark.session import context_of
from airflow_coordination.spark.tags import JobTags

log = logging.getLogger(__name__)


class SparkJobs:
    """Marks the Spark jobs of one tenure with a group and a tag ``lease-<fence>``.

    Jobs that the function starts in threads of its own carry the marks only if these are
    ``pyspark.InheritableThread``; where the whole Spark application is the tenure's (``alone``), every job
    is cancelled.

    :param spark: the session, classic or Connect.
    :param fence: the tenure.
    :param alone: nothing else runs in this Spark application.
    """

    def __init__(self, spark: Any, fence: Fence, *, alone: bool) -> None:
        self._spark, self._alone = spark, alone
        self._context = context_of(spark)
        self._tag, self._tags = f"lease-{fence}", JobTags(spark)
        self._connect_progress: tuple[Any, ...] = ()

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
        stages = {stage: tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()}
        done = tuple((stage, info.numCompletedTasks) for stage, info in sorted(stages.items()) if info)
        return len(tracker.getJobIdsForGroup(self._tag)), done

    def _on_progress(self, stages: Any, inflight_tasks: int, done: bool, **_: Any) -> None:
        self._connect_progress = (str(stages), inflight_tasks, done)
