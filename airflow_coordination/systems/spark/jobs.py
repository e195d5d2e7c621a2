"""The Spark jobs of one tenure: marked, tagged, counted, cancelled, on classic sessions and on Spark Connect."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
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

    def over(self) -> None:
        """Do nothing."""

    def unmark(self) -> None:
        """Do nothing."""

    def cancel(self) -> None:
        """Do nothing."""

    def progress(self) -> object:
        """Return that nothing is seen: such a function says ``lease.alive()``."""
        return None


def jobs_of(spark: Any, fence: Fence, *, alone: bool, pooled: bool) -> Jobs:
    """Return the jobs of a tenure.

    Jobs that the function starts in threads of its own carry the marks only if these are
    ``pyspark.InheritableThread``; where the whole Spark application is the tenure's (``alone``), every job
    is cancelled. Beside other tenures (``pooled``), only what carries the marks counts as progress.

    :param spark: the session, classic or Connect; ``None`` for none.
    :param fence: the tenure.
    :param alone: nothing else runs in this Spark application.
    :param pooled: other tenures run in it, whose progress says nothing of this one.
    """
    if spark is None:
        return NoJobs()
    kind = ConnectJobs if context_of(spark) is None else SparkJobs
    return kind(spark, fence, alone=alone, pooled=pooled)


class ConnectJobs:
    """Marks the operations of one tenure with a tag ``lease-<fence>``; a tag costs no request.

    The parameters are those of :func:`jobs_of`.
    """

    def __init__(self, spark: Any, fence: Fence, *, alone: bool, pooled: bool = False) -> None:
        self._spark, self._alone, self._pooled = spark, alone, pooled
        self._tag, self._tags = f"lease-{fence}", JobTags(spark)
        self._seen: tuple[Any, ...] = ()

    def mark(self, description: str) -> None:
        """Mark the operations that the calling thread starts from now on; they show no description."""
        self._spark.registerProgressHandler(self._on_progress)
        self._tags.add(self._tag)

    def over(self) -> None:
        """Take the marks away from the calling thread."""
        self._tags.remove(self._tag)
        self._spark.removeProgressHandler(self._on_progress)

    def unmark(self) -> None:
        """Do nothing: none is left."""

    def cancel(self) -> None:
        """Interrupt what runs now. Operations started later are not touched; call again."""
        self._spark.interruptAll() if self._alone else self._tags.cancel(self._tag)

    def progress(self) -> object:
        """Return a value that changes when a task of these operations ends."""
        return self._seen

    def _on_progress(self, stages: Any, inflight_tasks: int, done: bool, **_: Any) -> None:
        if self._pooled and self._tag not in self._spark.getTags():
            return  # the session tells every handler of each tenure's work, in that tenure's thread
        self._seen = (str(stages), inflight_tasks, done)


class _Place:
    """A thread that works one tenure after the other. It keeps its tag, since each call to the JVM is a round trip."""

    def __init__(self, context: Any) -> None:
        self.context, self.tag = context, f"lease-place-{secrets.token_hex(8)}"
        self.lock = threading.Lock()
        self.holder: SparkJobs | None = None
        """Whose jobs carry the tag now: who is late must not cancel those of who comes next."""


_here = threading.local()


def _place_of_this_thread() -> _Place | None:
    return getattr(_here, "place", None)


class SparkJobs:
    """Marks the Spark jobs of one tenure with a group ``lease-<fence>`` and with a tag of the thread it is worked in.

    What the function starts under a group of its own has the tag, and what it starts after it took all tags away has
    the group. The marks stay until the tenure that follows in
    the same thread has marked its own, or until :meth:`unmark`. The parameters are those of :func:`jobs_of`.
    """

    def __init__(self, spark: Any, fence: Fence, *, alone: bool, pooled: bool = False) -> None:
        self._context: Any = context_of(spark)
        self._alone, self._pooled = alone, pooled
        self._group = f"lease-{fence}"
        self._place: _Place | None = None
        self._jobs_over: set[int] = set()

    def mark(self, description: str) -> None:
        """Mark the jobs that the calling thread starts from now on.

        :param description: their text in Spark's own pages.
        """
        place = _place_of_this_thread()
        if place is None or place.context is not self._context:
            place = _Place(self._context)
            self._context.addJobTag(place.tag)
            _here.place = place
        self._context.setJobGroup(self._group, description, interruptOnCancel=True)
        with place.lock:
            self._place, place.holder = place, self

    def over(self) -> None:
        """Cancel nothing any more: from here on the thread's jobs are not this tenure's."""
        place = self._place
        if place is not None:
            with place.lock:
                place.holder = None

    def unmark(self) -> None:
        """Take the marks away from the calling thread."""
        self.over()
        _unmark_this_thread()

    def cancel(self) -> None:
        """Cancel what runs now. Jobs started later are not touched; call again."""
        place = self._place
        if place is None:
            return
        with place.lock:
            if place.holder is not self:
                return
            if self._alone:
                self._context.cancelAllJobs()
            else:
                self._context.cancelJobsWithTag(place.tag)
                self._context.cancelJobGroup(self._group)

    def progress(self) -> object:
        """Return a value that changes when a task of these jobs ends (no accumulator, no listener)."""
        tracker = self._context.statusTracker()
        jobs = tracker.getJobIdsForGroup(self._group)
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


Jobs = NoJobs | ConnectJobs | SparkJobs
"""The jobs of one call of a function."""


@contextmanager
def unmarked_at_the_end() -> Iterator[None]:
    """Leave the calling thread without marks, also where a tenure that was to follow has not begun."""
    try:
        yield
    finally:
        _unmark_this_thread()


def _unmark_this_thread() -> None:
    """Take away whatever marks a tenure has left on the calling thread for the next one."""
    place = _place_of_this_thread()
    if place is None:
        return
    _here.place = None
    try:
        place.context.removeJobTag(place.tag)
        place.context._jsc.clearJobGroup()
    except Exception as error:
        log.debug("The JVM is gone, and the marks with it: %s", error)
