"""The reports of a running driver to its task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import structlog

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.links.spark_ui import SparkUILink
from airflow_coordination.protocol.metrics import Metric, WorkGauge, full_name
from airflow_coordination.submission.labels import Label
from airflow_coordination.submission.report_parsing import BadReportError, read_report
from airflow_coordination.submission.tenure_book import has_begun, is_of_task
from airflow_coordination.submission.watch import Watch
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.input_errors import CoordinationError, printable, shown

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context

log = structlog.get_logger(__name__)

SAID: Final = {
    "spark": "The Spark application runs",
    "began": "The driver works on the partition",
    "saved": "Progress is saved",
    "ended": "The tenure has ended",
    "refused": "The store refused a write of the driver",
}
"""The line in the task's log for each event; its facts are the line's own fields."""


class DriverReports:
    """Takes a driver's reports: for the watch, for the metrics, for the link to the Spark UI, the label and the log.

    A report is a reason to look, never an authority: a tenure that it names counts if the store shows that this task
    holds it. A report that makes no sense, or that cannot be looked into, is logged and passed over.

    :param context: of the running task.
    :param watch: over this submission.
    :param coordinator: in the name of the task; counts go to its metrics.
    :param several: whether the driver may go on with further partitions.
    """

    def __init__(self, context: Context, watch: Watch, coordinator: SourceCoordinator, *, several: bool) -> None:
        self._context, self._watch, self._coordinator = context, watch, coordinator
        key, self._handed_over = watch.tenures.current
        self._only = None if several else key
        self._label = Label(context, key)
        self._metrics = {full_name(coordinator.source, metric) for metric in Metric}
        self._gauges = {full_name(coordinator.source, gauge) for gauge in WorkGauge}

    def __call__(self, text: str) -> None:
        """Take one report as it was printed, without its marker. Never raises for what it says."""
        try:
            report = read_report(text)
            self._take(report)
        except BadReportError as error:
            log.warning("A report of the driver was passed over", why=str(error))
        except Exception as error:  # the store, or Airflow, does not answer now; the end is looked up in the store
            log.warning("A report of the driver could not be followed", why=printable(f"{error!r}"))
        else:
            if report["event"] not in ("metrics", "gauges"):
                log_report(report["event"], report)

    def _take(self, report: Mapping[str, Any]) -> None:
        event = report["event"]
        if event == "began":
            self._begin(report["key"], report["fence"])
        elif event != "spark" and "key" in report and "fence" in report:
            self._know(report["key"], report["fence"])
        if event == "refused" and "key" not in report:
            self._watch.problem = report["message"]
        if event == "ended":
            self._watch.tenures.ended(report["key"], report["outcome"])
        for name, count in report.get("counts", {}).items():
            self._count(name, count)
        for name, value in report.get("gauges", {}).items():
            self._gauge(name, value)
        if event == "spark" and "url" in report:
            SparkUILink.push(self._context, report["url"])

    def _begin(self, key: str, fence: Fence) -> None:
        """Note a tenure that this task's driver has, or had a moment ago: then the ring knows its fence."""
        if self._only not in (None, key):
            raise BadReportError(f"this task has no partition {shown(key)}")
        try:
            partition = self._coordinator.partition(key)
        except CoordinationError as error:
            # The driver works on, and what it does must not be lost: the store is asked before anything is settled.
            log.warning("A tenure could not be looked at", partition=shown(key), why=printable(str(error)))
            self._watch.driver_holds(key, fence)
            return
        if partition is None:
            raise BadReportError(f"this task has no partition {shown(key)}")
        if partition.held_under(fence):
            at_work = has_begun(partition) or fence != self._handed_over  # what it acquired itself, it works on
            ours = at_work and is_of_task(partition, self._coordinator.owner)
        else:
            ours = partition.ending_of(fence) is not None
        if not ours:
            raise BadReportError(f"this task does not hold partition {shown(key)} under fence {fence}")
        self._watch.driver_holds(key, fence)
        self._label.show(key)

    def _know(self, key: str, fence: Fence) -> None:
        if self._watch.tenures.open.get(key) != fence:
            raise BadReportError(f"no tenure of partition {shown(key)} under fence {fence} is open")

    def _count(self, name: str, count: int) -> None:
        if name not in self._metrics:
            raise BadReportError(f"there is no metric {shown(name)}")
        self._coordinator.metrics.incr(name, count)

    def _gauge(self, name: str, value: int) -> None:
        if name not in self._gauges:
            raise BadReportError(f"there is no gauge {shown(name)}")
        if (tell := getattr(self._coordinator.metrics, "gauge", None)) is not None:
            tell(name, value)


def log_report(event: str, facts: Mapping[str, Any]) -> None:
    """Log what is reported as one line with fields of its own."""
    log.info(SAID.get(event, event), **_facts(facts))


def _facts(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a report says, under names that a log line may have, as values that cannot forge another line."""
    names = {"key": "partition", "event": None}
    return {
        named: value if isinstance(value, int) else printable(str(value))
        for name, value in report.items()
        if (named := names.get(name, name)) and value is not None
    }
