"""The reports of a driver, read as what they are: text from a process that prints other people's data.

Known events, known facts, known types. What is named in a report is no more than named: whether this task holds it,
only the store can say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Never
from urllib.parse import urlsplit

from airflow_coordination.values.fence import Fence
from airflow_coordination.values.input_errors import InvalidInputError, printable, shown
from airflow_coordination.values.names import check_key
from airflow_coordination.values.status import Outcome

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
    "began": {**_TENURE, "owner": _text},
    "saved": {**_TENURE, "blocks": _count, "progress": _text},
    "refused": {**_TENURE, "message": _text},
    "ended": {**_TENURE, "outcome": _outcome, "message": _text},
    "metrics": {"counts": _counts},
    "gauges": {"gauges": _counts},
}
_NEEDED: Final = {
    "began": ("key", "fence"),
    "saved": ("key", "fence"),
    "ended": ("key", "fence", "outcome"),
    "metrics": ("counts",),
    "gauges": ("gauges",),
}
