"""What a driver tells its task while it runs."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow.sdk.observability.stats import Stats

from airflow_coordination.leases import Fence, Outcome
from airflow_coordination.links.spark_ui import SparkUILink
from airflow_coordination.operators.watch import Watch

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context

log = logging.getLogger(__name__)


class DriverReports:
    """Takes a driver's reports: for the watch, for Airflow's metrics, for the link to the Spark UI, and for the log."""

    def __init__(self, context: Context, watch: Watch) -> None:
        self._context, self._watch = context, watch

    def __call__(self, report: Mapping[str, Any]) -> None:
        """Take one report."""
        if "key" in report and "fence" in report:
            self._take_tenure(str(report["key"]), Fence.parse(str(report["fence"])), report)
        if isinstance(counts := report.get("counts"), Mapping):
            for name, count in counts.items():
                Stats.incr(name, int(count))
        if report.get("event") == "spark" and (url := report.get("url")):
            SparkUILink.push(self._context, str(url))
        log.info("The driver reports %s", _told(report))

    def _take_tenure(self, key: str, fence: Fence, report: Mapping[str, Any]) -> None:
        if report["event"] == "ended":
            self._watch.tenures.ended(key, Outcome(report["outcome"]))
        else:
            self._watch.driver_holds(key, fence)


def _told(report: Mapping[str, Any]) -> str:
    facts = ", ".join(f"{name} {value!a}" for name, value in report.items() if name != "event")
    return f"{report.get('event', '?')}: {facts}" if facts else str(report.get("event"))
