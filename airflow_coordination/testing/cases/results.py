"""What became of a case, and what is different by design."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from airflow_coordination.testing.cases.reading import Fields
from airflow_coordination.values.input_errors import InvalidInputError

BY_DESIGN: Final = MappingProxyType(
    {
        "no restart": "a shard with a leased descendant is never started again; the KCL reads twice what is before it",
        "exact coverage": "holes are the exact union; the KCL looks only at the end of the range that sorts last",
        "leases, not CPU": "shares count leases, as a worker's tasks do; the KCL moves them by CPU and throughput",
        "no waiting end": "a shard's end waits for no child, the next plan starts its other parent; the KCL retries",
    }
)
"""Why we differ from the KCL on purpose; a test pins which cases do (docs/decisions/0048)."""


class Verdict(StrEnum):
    """What became of a case."""

    AS_EXPECTED = "as expected"
    BY_DESIGN = "different by design"
    DIFFERENT = "DIFFERENT"
    MALFORMED = "malformed"


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table.

    :param section: the section of the file.
    :param case: the case's id.
    :param verdict: how our answer and the file's compare.
    :param expected: what the file says.
    :param answer: what we do.
    :param reason: a key of :data:`BY_DESIGN`, also where the file wants what we do and the KCL does not.
    :param problem: why it could not be run.
    """

    section: str
    case: str
    verdict: Verdict
    expected: str
    answer: str
    reason: str = ""
    problem: InvalidInputError | None = None


def malformed(section: str, case: str, problem: InvalidInputError) -> Result:
    """Return a case, or with an empty name a section, that could not be run."""
    return Result(section, case, Verdict.MALFORMED, "", str(problem), problem=problem)


def each(section: str, cases: Iterable[Fields], run: Callable[[Fields], Result]) -> Iterator[Result]:
    """Yield what became of each case: one that is malformed hides no other."""
    for case in cases:
        try:
            yield run(case)
        except InvalidInputError as problem:
            yield malformed(section, case.text("id"), problem)


def compared(section: str, case: str, expected: object, answer: object, reason: str = "") -> Result:
    """Return what became of a case.

    :param reason: why another answer than the file's is right, by design; empty where nothing is said.
    """
    otherwise = Verdict.BY_DESIGN if reason else Verdict.DIFFERENT
    verdict = Verdict.AS_EXPECTED if expected == answer else otherwise
    return Result(section, case, verdict, written(expected), written(answer), reason)


def written(value: object) -> str:
    """Return an answer as people read it."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {written(each)}" for name, each in value.items()) or "nothing"
    if isinstance(value, list | tuple):
        return ", ".join(written(each) for each in value) or "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "nothing" if value is None else str(value)
