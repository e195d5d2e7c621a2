"""What a driver tells its task while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import structlog

from airflow_coordination.leases import Fence, Outcome
from airflow_coordination.leases.metrics import Metrics
from airflow_coordination.links.spark_ui import SparkUILink
from airflow_coordination.operators.labels import Label
from airflow_coordination.operators.watch import Watch

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

    :param context: of the running task.
    :param watch: over this submission.
    :param metrics: where the driver's counts go.
    """

    def __init__(self, context: Context, watch: Watch, metrics: Metrics) -> None:
        self._context, self._watch, self._metrics = context, watch, metrics
        self._label = Label(context, watch.tenures.current[0])

    def __call__(self, report: Mapping[str, Any]) -> None:
        """Take one report."""
        event = str(report.get("event"))
        if "key" in report and "fence" in report:
            self._take_tenure(event, str(report["key"]), Fence.parse(str(report["fence"])), report)
        if isinstance(counts := report.get("counts"), Mapping):
            for name, count in counts.items():
                self._metrics.incr(name, int(count))
        if event == "spark" and (url := report.get("url")):
            SparkUILink.push(self._context, str(url))
        if event != "metrics":
            log_report(event, report)

    def _take_tenure(self, event: str, key: str, fence: Fence, report: Mapping[str, Any]) -> None:
        if event == "ended":
            self._watch.tenures.ended(key, Outcome(report["outcome"]))
        else:
            self._watch.driver_holds(key, fence)
            self._label.show(key)


def log_report(event: str, facts: Mapping[str, Any]) -> None:
    """Log what is reported as one line with fields of its own."""
    log.info(SAID.get(event, event), **_facts(facts))


def _facts(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a report says, under names that a log line may have."""
    names = {"key": "partition", "event": None}
    return {named: value for name, value in report.items() if (named := names.get(name, name)) and value is not None}
