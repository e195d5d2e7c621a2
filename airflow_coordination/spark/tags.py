"""Tags by which the Spark jobs of a thread are cancelled, on classic sessions and on Spark Connect."""

from __future__ import annotations

from typing import Any

from airflow_coordination.spark.session import context_of


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
