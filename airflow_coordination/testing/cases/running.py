"""Runs all sections of a case file of the KCL's form, or all cases of one of Druid's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Final

from airflow_coordination.testing.cases.assigning import assignment_cases
from airflow_coordination.testing.cases.covering import confidence_cases, coverage_cases
from airflow_coordination.testing.cases.druid.running import druid_cases
from airflow_coordination.testing.cases.ending import cleanup_cases, shard_end_cases
from airflow_coordination.testing.cases.reading import Fields, load, refuse
from airflow_coordination.testing.cases.results import Result, malformed
from airflow_coordination.testing.cases.syncing import Graphs, graphs, known_gaps, sync_cases
from airflow_coordination.testing.cases.taking import taker_cases
from airflow_coordination.values.input_errors import InvalidInputError


def _alone(run: Callable[[Fields], Iterator[Result]]) -> Callable[[Fields, Graphs], Iterator[Result]]:
    """Return a section that looks at no graph."""
    return lambda file, _: run(file)


SECTIONS: Final = MappingProxyType(
    {
        "sync_cases": sync_cases,
        "kcl_known_gaps": known_gaps,
        "coverage_cases": _alone(coverage_cases),
        "coverage_confidence": _alone(confidence_cases),
        "cleanup_cases": _alone(cleanup_cases),
        "taker_cases": _alone(taker_cases),
        "assignment_cases": _alone(assignment_cases),
        "shard_end_cases": _alone(shard_end_cases),
    }
)
"""What a file may have, and what runs it."""


def run_file(path: str | Path, *, keep_malformed: bool = False) -> list[Result]:
    """Return what became of each case of a file, in the order of :data:`SECTIONS`, or of the file.

    :param keep_malformed: what is malformed is a result, too, and the others are run.
    :raises InvalidInputError: when the file is malformed, unless that is kept; when it cannot be read or has no case.
    """
    file = load(path)
    results = _druids(file) if file.has("cases") else _sections(file)
    results += _tried("FILE", file.done)
    if not results:
        refuse("FILE", str(path), "has no case", f"Give at least one of {', '.join((*SECTIONS, 'cases'))}.")
    for one in results:
        if one.problem is not None and not keep_malformed:
            raise one.problem
    return results


def _druids(file: Fields) -> list[Result]:
    """Return what became of a file of Druid's form, ``{"meta": …, "cases": […]}``."""
    found: list[Result] = []
    problems = _tried("cases", lambda: found.extend(druid_cases(file)))
    return found + problems


def _sections(file: Fields) -> list[Result]:
    listings = graphs(file)
    return [one for name in SECTIONS if file.has(name) for one in _section(name, file, listings)]


def _section(name: str, file: Fields, listings: Graphs) -> list[Result]:
    found: list[Result] = []
    problems = _tried(name, lambda: found.extend(SECTIONS[name](file, listings)))
    return found + problems


def _tried(section: str, run: Callable[[], None]) -> list[Result]:
    """Return what is malformed about a section as a whole."""
    try:
        run()
    except InvalidInputError as problem:
        return [malformed(section, "", problem)]
    return []
