"""The reports of a running driver, read as text from a process that prints other people's data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Never
from urllib.parse import urlsplit

import structlog

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.links.spark_ui import SparkUILink
from airflow_coordination.protocol.metrics import Metric, WorkGauge, full_name
from airflow_coordination.submission.task_instance import Label
from airflow_coordination.submission.tenure_book import has_begun, is_of_task
from airflow_coordination.submission.watch import Watch
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.input_errors import CoordinationError, InvalidInputError, printable, shown
from airflow_coordination.values.names import check_key
from airflow_coordination.values.status import Outcome

if TYPE_CHECKING:
    from airflow.sdk.definitions.context import Context


LONGEST_REPORT: Final = 65_536
LONGEST_ADDRESS: Final = 2_000
MOST_COUNTS: Final = 100
LARGEST_COUNT: Final = 10**15
"""Of records, as many as one accounting holds."""
_FENCE: Final = re.compile(r"\d{1,18}-[0-9A-Za-z_.:-]{1,100}", re.ASCII)


class BadReportError(ValueError):
    """A line that bears the marker, but is no report."""


def read_report(text: str) -> dict[str, Any]:
    """Return the event and its known facts: the fence as a :class:`Fence`, the outcome as an :class:`Outcome`.

    :raises BadReportError: saying what is wrong, in one printable line.
    """
    if len(text) > LONGEST_REPORT:
        raise BadReportError(f"it has {len(text)} characters")
    try:
        report = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise BadReportError(f"{shown(text.strip())} is no JSON") from None
    event = report.get("event") if isinstance(report, dict) else None
    if not isinstance(event, str) or event not in _FACTS:
        raise BadReportError(f"{shown(event)} is no event")
    lacking = sorted(name for name in _NEEDED.get(event, ()) if report.get(name) is None)
    if lacking:
        raise BadReportError(f"{event} without {', '.join(lacking)}")
    given = {name: check(name, report[name]) for name, check in _FACTS[event].items() if report.get(name) is not None}
    return {"event": event, **given}


def _no_number(text: str) -> Never:
    raise ValueError(text)


def _wrong(name: str, value: object) -> BadReportError:
    return BadReportError(f"{name} is {shown(value)}")


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(name, value)
    return printable(value)


def _count(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST_COUNT:
        raise _wrong(name, value)
    return value


def _number(name: str, value: object) -> int:
    number = _count(name, value)
    if number == 0:
        raise _wrong(name, value)
    return number


def _key(name: str, value: object) -> str:
    try:
        return check_key(value)
    except InvalidInputError:
        raise _wrong(name, value) from None


def _fence(name: str, value: object) -> Fence:
    if not isinstance(value, str) or not _FENCE.fullmatch(value):
        raise _wrong(name, value)
    return Fence.parse(value)


def _outcome(name: str, value: object) -> Outcome:
    if not isinstance(value, str) or value not in list(Outcome):
        raise _wrong(name, value)
    return Outcome(value)


def _address(name: str, value: object) -> str:
    """Return the address of a page, as a link may lead to: any other scheme could run a script in the reader's page."""
    text = value if isinstance(value, str) and value.isprintable() and " " not in value else ""
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        good = False
    if not good or len(text) > LONGEST_ADDRESS:
        raise _wrong(name, value)
    return text


def _counts(name: str, value: object) -> dict[str, int]:
    if not isinstance(value, dict) or len(value) > MOST_COUNTS:
        raise _wrong(name, value)
    return {metric: _count(printable(metric, 100), count) for metric, count in value.items()}


_Facts = Mapping[str, Callable[[str, object], Any]]
_TENURE: Final[_Facts] = {"key": _key, "fence": _fence}
_FACTS: Final[Mapping[str, _Facts]] = {
    "spark": {"application": _text, "url": _address},
    "began": {**_TENURE, "owner": _text, "branch": _count},
    "saved": {**_TENURE, "blocks": _count, "progress": _text},
    "refused": {**_TENURE, "message": _text},
    "ended": {**_TENURE, "outcome": _outcome, "message": _text, "rows": _count},
    "passed": {**_TENURE, "tenures": _number, "rows": _count},
    "metrics": {"counts": _counts},
    "gauges": {"gauges": _counts},
}
_NEEDED: Final = {
    "began": ("key", "fence"),
    "saved": ("key", "fence"),
    "ended": ("key", "fence", "outcome"),
    "passed": ("key", "fence", "tenures"),
    "metrics": ("counts",),
    "gauges": ("gauges",),
}


log = structlog.get_logger(__name__)

SAID: Final = {
    "spark": "The Spark application runs",
    "began": "The driver works on the partition",
    "saved": "Progress is saved",
    "ended": "The tenure has ended",
    "passed": "Short partitions were completed",
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
        if event in ("began", "passed"):
            self._check_number(report.get("tenures", 1))
            self._begin(report["key"], report["fence"])
            self._watch.tenures.runs_in(report["key"], report["fence"], report.get("branch"))
        elif event != "spark" and "key" in report and "fence" in report:
            self._know(report["key"], report["fence"])
        if event == "refused" and "key" not in report:
            self._watch.problem = report["message"]
        if event in ("ended", "passed"):
            self._ended(report)
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
            self._watch.tenures.runs_in(key, fence, partition.branch)
            at_work = has_begun(partition) or fence != self._handed_over  # what it acquired itself, it works on
            ours = at_work and is_of_task(partition, self._coordinator.owner)
        else:
            ours = partition.ending_of(fence) is not None
        if not ours:
            raise BadReportError(f"this task does not hold partition {shown(key)} under fence {fence}")
        self._watch.driver_holds(key, fence)
        self._label.show(key)

    def _check_number(self, tenures: int) -> None:
        if self._only is not None and tenures > 1:
            raise BadReportError(f"this task has one partition, not {tenures}")

    def _ended(self, report: Mapping[str, Any]) -> None:
        """Note how a tenure ended, or how many of them have come and gone: the last of these has been looked up."""
        tenures, rows = self._watch.tenures, report.get("rows", 0)
        tenures.ended(report["key"], report.get("outcome", Outcome.COMPLETED), rows=rows)
        tenures.passed(report.get("tenures", 1) - 1)

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
