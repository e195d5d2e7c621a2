"""Metrics and traces in Airflow, tagged with the dag, the task and the source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import Stats
from opentelemetry import trace

from airflow_coordination.leases.lease import Lease
from airflow_coordination.systems.spark.error_text import error_text

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context

tracer = trace.get_tracer("airflow_coordination")


class TaggedStats:
    """Airflow's ``Stats`` with fixed tags.

    :param tags: added to every count.
    """

    def __init__(self, tags: Mapping[str, str]) -> None:
        self.tags = dict(tags)

    def incr(self, stat: str, count: int = 1) -> None:
        """Add ``count`` to the counter named ``stat``."""
        Stats.incr(stat, count, tags=self.tags)

    def gauge(self, stat: str, value: int) -> None:
        """Set the gauge named ``stat``."""
        Stats.gauge(stat, value, tags=self.tags)


def task_stats(context: Context, source: str) -> TaggedStats:
    """Return the metrics of a running task: ``dag_id``, ``task_id``, ``team_name`` if there is one, and ``source``."""
    ti = context["ti"]
    tags = getattr(ti, "stats_tags", None)  # Airflow 3.2 and 3.1 keep them to themselves
    return TaggedStats({**({"dag_id": ti.dag_id, "task_id": ti.task_id} if tags is None else tags), "source": source})


@contextmanager
def lease_span(context: Context, source: str, lease: Lease) -> Iterator[trace.Span]:
    """Trace the time that a task spends on a lease, as a child of Airflow's span of the task, with its metrics' tags.

    An error is noted as the store keeps it: what it was raised with, and its stack, may hold secrets (promise X4).

    :param lease: the first one; a drain has several.
    """
    facts = {"partition": lease.key, "fence": str(lease.fence), **task_stats(context, source).tags}
    attributes = {f"coordination.{name}": value for name, value in facts.items()}
    with tracer.start_as_current_span(
        "coordination.lease", attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield span
        except BaseException as error:
            span.set_status(trace.StatusCode.ERROR, error_text(error))
            raise
