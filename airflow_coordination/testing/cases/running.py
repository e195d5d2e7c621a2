"""Runs all sections of a case file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Final

from airflow_coordination.testing.cases.assigning import assignment_cases
from airflow_coordination.testing.cases.covering import confidence_cases, coverage_cases
from airflow_coordination.testing.cases.ending import cleanup_cases, shard_end_cases
from airflow_coordination.testing.cases.reading import Fields, load, refuse
from airflow_coordination.testing.cases.results import Result
from airflow_coordination.testing.cases.syncing import Graphs, graphs, known_gaps, sync_cases
from airflow_coordination.testing.cases.taking import taker_cases


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


def run_file(path: str | Path) -> list[Result]:
    """Return what became of each case of a file, in the order of :data:`SECTIONS`.

    :raises InvalidInputError: when the file is malformed, or has no case.
    """
    file = load(path)
    listings = graphs(file)
    results = [one for name, run in SECTIONS.items() if file.has(name) for one in run(file, listings)]
    file.done()
    if not results:
        refuse("FILE", str(path), "has no case", f"Give at least one of {', '.join(SECTIONS)}.")
    return results
