"""The sections ``coverage_cases`` and ``coverage_confidence``: whether a lease is missing, and when that counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from airflow_coordination.planning.shards.coverage import Findings, holes, look
from airflow_coordination.planning.shards.shard import MAX_HASH_KEY, HashRange
from airflow_coordination.testing.cases.kcl import kcl_sees_a_hole
from airflow_coordination.testing.cases.reading import Fields, refuse
from airflow_coordination.testing.cases.results import Result, compared, each
from airflow_coordination.testing.cases.syncing import hash_range

_WHOLE: Final = HashRange(0, MAX_HASH_KEY)


def coverage_cases(file: Fields) -> Iterator[Result]:
    """Yield what became of each case."""
    return each("coverage_cases", file.cases("coverage_cases"), _coverage_case)


def _coverage_case(case: Fields) -> Result:
    ranges = _ranges(case, "ranges", case.items("ranges"))
    for ended in _ranges(case, "ended", case.items("ended", ())):
        if ended not in ranges:
            refuse(case.at("ended"), [ended.first, ended.last], "is not among the ranges", "Name a range again.")
        ranges.remove(ended)
    expected = case.truth("hole")
    case.done()
    answer = bool(holes(ranges))
    reason = "exact coverage" if kcl_sees_a_hole(ranges) is not answer else ""
    return compared("coverage_cases", case.text("id"), expected, answer, reason)


def _ranges(case: Fields, name: str, values: list[Any]) -> list[HashRange]:
    found = [hash_range(f"{case.at(name)}[{number}]", value) for number, value in enumerate(values)]
    if None in found:
        refuse(case.at(name), values, "has null in it", "Write each range as [first, last].")
    return [one for one in found if one is not None]


def confidence_cases(file: Fields) -> Iterator[Result]:
    """Yield what became of each sequence of looks; ``none`` is a stream without leases, ``ok`` one without a hole.

    :raises InvalidInputError: when the section is malformed.
    """
    section = file.inner("coverage_confidence")
    threshold = section.whole("threshold")
    if not threshold:
        refuse(section.at("threshold"), threshold, "is less than 1", "Give a whole number from 1 on.")
    yield from each("coverage_confidence", section.cases("cases"), lambda case: _confidence_case(case, threshold))
    section.done()


def _confidence_case(case: Fields, threshold: int) -> Result:
    sequence = case.items("sequence")
    expected = case.items("sync_on")
    for one in expected:
        if not isinstance(one, int) or isinstance(one, bool) or not 1 <= one <= len(sequence):
            refuse(case.at("sync_on"), expected, f"has {one!a}, which is no look", "Count the looks from 1.")
    case.done()
    return compared("coverage_confidence", case.text("id"), expected, _synced(case, sequence, threshold))


def _synced(case: Fields, sequence: list[Any], threshold: int) -> list[int]:
    """Return at which looks the stream is listed and planned."""
    findings, found = Findings(), []
    named = list[str]()
    for number, label in enumerate(sequence, start=1):
        if not isinstance(label, str) or not label:
            refuse(case.at("sequence"), sequence, f"has {label!a}, which is no text", "Write none, ok or a name.")
        named.append(label)
        findings, sure = look(findings, _seen(label, named.index(label)), threshold)
        if sure:
            found.append(number)
    return found


def _seen(label: str, number: int) -> list[HashRange]:
    """Return the ranges of a look; each name of a hole is a hole of its own."""
    if label == "none":
        return []
    if label == "ok":
        return [_WHOLE]
    return [HashRange(0, 10 * number), HashRange(10 * number + 5, MAX_HASH_KEY)]
