"""Case files of Druid's form: what a case asks goes by its area and keys, and it passes only by what was compared."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path

import pytest

from airflow_coordination.testing.cases.druid.running import AREAS
from airflow_coordination.testing.cases.results import Verdict
from airflow_coordination.testing.cases.running import run_file

DRUID = Path(__file__).parents[3] / "cases" / "druid_coordinator.json"
FILE = json.loads(DRUID.read_text())
CASES = [case for case in FILE["cases"] if case["area"] in AREAS]
INPUTS = {"test", "note", "basis", "add", "add_partitions", "lookup", "capacity", "ratio", "max_slots", "busy"}
INPUTS |= {"max_subtasks", "range_partitioned", "see"}


@pytest.fixture
def written(tmp_path):
    """Return a function that writes cases into a file."""

    def write(*cases):
        path = tmp_path / "cases.json"
        path.write_text(json.dumps({"meta": {}, "cases": cases}))
        return path

    return write


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_it_is_as_expected_under_any_name(written, case):
    """The name is no matter; E4 stands on E3, so all of the file is there."""
    others = [one for one in CASES if one is not case]
    results = run_file(written(case | {"id": "any name"}, *others), keep_malformed=True)
    assert (results[0].verdict, results[0].expected) == (Verdict.AS_EXPECTED, results[0].answer)


def expectations(value, way=()):
    """Yield the ways to all values that are expected; rows may hold what is given, too."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in INPUTS:
                yield from expectations(inner, (*way, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from expectations(inner, (*way, number))
    else:
        yield way


def changed(value):
    """Return another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str) and value.isdecimal():
        return str(int(value) + 1)
    return f"{value} otherwise"


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_whatever_of_it_is_expected_otherwise_it_is_no_longer_as_expected(written, case):
    """Twelve values of each case, each changed by itself: no answer is taken from the file."""
    chance = random.Random(case["id"])
    ways = [("expect", *way) for way in expectations(case["expect"])]
    ways += [("given", "steps", *way) for way in expectations(case["given"].get("steps", []))]
    others = [one for one in CASES if one is not case and "as" in case["given"]]
    for way in chance.sample(ways, min(12, len(ways))):
        broken = copy.deepcopy(case)
        place = broken
        for step in way[:-1]:
            place = place[step]
        place[way[-1]] = changed(place[way[-1]])
        [result, *_] = run_file(written(broken, *others), keep_malformed=True)
        assert result.verdict in (Verdict.DIFFERENT, Verdict.MALFORMED), way
