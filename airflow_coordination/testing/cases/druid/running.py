"""Runs the cases of a file of Druid's form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from airflow_coordination.testing.cases.druid.balancing import balancing_line
from airflow_coordination.testing.cases.druid.cleaning import cleanup_line
from airflow_coordination.testing.cases.druid.lines import Checks, lines
from airflow_coordination.testing.cases.druid.losing import availability_line
from airflow_coordination.testing.cases.druid.ruling import rules_line
from airflow_coordination.testing.cases.druid.runs import runs_line
from airflow_coordination.testing.cases.druid.searching import search_line
from airflow_coordination.testing.cases.druid.slots import slots_line
from airflow_coordination.testing.cases.druid.timelines import timeline_line
from airflow_coordination.testing.cases.reading import Fields, refuse
from airflow_coordination.testing.cases.results import Result, each

AREAS: Final[MappingProxyType[str, Callable[[Fields, Checks], None]]] = MappingProxyType(
    {
        "timeline": timeline_line,
        "compaction_search": search_line,
        "compaction_slots": slots_line,
        "compaction_run": runs_line,
        "rules": rules_line,
        "cleanup": cleanup_line,
        "balancing": balancing_line,
        "availability": availability_line,
    }
)
"""What a case can be about, and what runs a line of it."""


def druid_cases(file: Fields) -> Iterator[Result]:
    """Yield what became of each case of the file, in its order.

    :raises InvalidInputError: when the cases are no list of objects with ids.
    """
    file.pass_over("meta")
    cases = file.cases("cases")
    for case in cases:
        area = case.raw("area", "one of " + ", ".join(AREAS))
        yield from each(area if isinstance(area, str) else "cases", [case], lambda one: _case(one, cases))


def _case(case: Fields, cases: list[Fields]) -> Result:
    area = case.text("area", among=AREAS)
    case.pass_over("basis")
    checks = Checks()
    for line in lines(case, _as_another(case, cases)):
        AREAS[area](line, checks)
        line.done()
    case.done()
    return checks.result(area, case)


def _as_another(case: Fields, cases: list[Fields]) -> Mapping[str, Any]:
    """Return what is given of the case that this one names in ``as``, by the first part of its name.

    :raises InvalidInputError: when there is none.
    """
    given = case.inner("given")
    if not given.has("as"):
        return {}
    name = given.text("as").partition(" ")[0]
    others = (one for one in cases if one is not case and one.text("id").partition("_")[0] == name)
    other = next(others, None)
    if other is None:
        problem = f"begins with {name!a}, which is no other case"
        refuse(given.at("as"), given.text("as"), problem, "Begin with the name of one, up to its first underscore.")
    return other.mapping("given")
