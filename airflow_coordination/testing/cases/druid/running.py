"""Runs the cases of a file of Druid's form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import Final

from airflow_coordination.testing.cases.druid.lines import Checks, lines
from airflow_coordination.testing.cases.druid.searching import search_line
from airflow_coordination.testing.cases.druid.timelines import timeline_line
from airflow_coordination.testing.cases.reading import Fields
from airflow_coordination.testing.cases.results import Result, each

AREAS: Final[MappingProxyType[str, Callable[[Fields, Checks], None]]] = MappingProxyType(
    {
        "timeline": timeline_line,
        "compaction_search": search_line,
    }
)
"""What a case can be about, and what runs a line of it."""


def druid_cases(file: Fields) -> Iterator[Result]:
    """Yield what became of each case of the file, in its order.

    :raises InvalidInputError: when the cases are no list of objects with ids.
    """
    file.pass_over("meta")
    for case in file.cases("cases"):
        area = case.raw("area", "one of " + ", ".join(AREAS))
        yield from each(area if isinstance(area, str) else "cases", [case], _case)


def _case(case: Fields) -> Result:
    area = case.text("area", among=AREAS)
    case.pass_over("basis")
    checks = Checks()
    for line in lines(case):
        AREAS[area](line, checks)
        line.done()
    case.done()
    return checks.result(area, case)
