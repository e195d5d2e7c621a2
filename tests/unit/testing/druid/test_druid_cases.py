"""Case files of Druid's form: what a case asks goes by its area and keys, and it passes only by what was compared."""

from __future__ import annotations

import copy
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_coordination.testing.cases.__main__ import main
from airflow_coordination.testing.cases.druid.running import AREAS
from airflow_coordination.testing.cases.results import Verdict
from airflow_coordination.testing.cases.running import run_file
from airflow_coordination.values.input_errors import InvalidInputError
from tests.unit.testing.changing import change_one
from tests.unit.testing.druid.generated import druid_file

DRUID = Path(__file__).parents[3] / "cases" / "druid_coordinator.json"
FILE = json.loads(DRUID.read_text())
CASES = FILE["cases"]
INPUTS = {"test", "note", "basis", "add", "add_partitions", "lookup", "capacity", "ratio", "max_slots", "busy"}
INPUTS |= {"max_subtasks", "range_partitioned", "see", "rule", "now", "segment", "tiers", "rules", "segments", "cfg"}
INPUTS |= {"already_on", "max_non_primary_replicas", "marked", "only", "running", "A", "B", "at", "event"}


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
    ways = [way for way in ways if "rows" not in way[1] or way[-1] != 0]  # in tables of pairs the first is given
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


def test_the_file_is_30_of_30():
    command = [sys.executable, "-m", "airflow_coordination.testing.cases", str(DRUID)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("30 of 30 cases as expected, 0 different by design, 0 DIFFERENT, 0 malformed.\n")
    assert {case["area"] for case in CASES} == set(AREAS)


@pytest.mark.parametrize("seed", range(6))
def test_a_second_file_that_is_made_by_chance(written, seed):
    """Of the same form, with expectations that are counted plainly; one of them changed is one that is different."""
    made = druid_file(random.Random(seed))
    assert {case["area"] for case in made["cases"]} == set(AREAS)
    path = written(*made["cases"])
    assert main([str(path)]) == 0
    assert {(one.verdict, one.expected == one.answer) for one in run_file(path)} == {(Verdict.AS_EXPECTED, True)}
    [slots, *_] = [case for case in made["cases"] if case["area"] == "compaction_slots" and "formula" in case["given"]]
    slots["expect"]["rows"][3]["limit"] += 1
    assert main([str(written(*made["cases"]))]) == 1
    slots["expect"]["rows"][3]["limmit"] = 1
    assert main([str(written(*made["cases"]))]) == 2


def one(area, given, expect, **more):
    return {"id": "one", "area": area, "given": given, "expect": expect} | more


SEARCH = {"config": {}, "segments": [{"total": "2020-01-01/P1D", "period": "P1D", "size": 1}]}
SLOTS = {"capacity": 1, "ratio": 0.1, "max_slots": 1, "busy": 0}
RUN = next(case["given"] for case in CASES if case["id"].startswith("E3"))
GRACE = {"lifetime_s": 10, "events": [["t0", "worker w owns p"], ["t0+5", "w disappears"]]}


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (one("weather", {}, {}), r"cases\[one\]\.area='weather': is unknown. Use timeline or compaction_search"),
        (one("timeline", {}, {}), r"cases\[one\]=.*expects nothing that is compared. Give a key of 'expect'"),
        (one("timeline", {"add": []}, {"error": False}, extra=1), r"cases\[one\]\.extra=1: is unknown here"),
        (one("timeline", {"add": []}, {"note": "nothing"}), "expects nothing that is compared"),
        (one("timeline", {"add": []}, {"eror": True}), r"cases\[one\]\.eror=True: is unknown here. Use .*error"),
        (one("timeline", {"add": [["2020/2021", 1, 1]]}, {"error": True}), r"\.add\[0\]=.*is no entry. Write"),
        (one("timeline", {"add": [["2020", "1", 1]]}, {"error": True}), r"\.add\[0\]='2020': has no slash"),
        (
            one("timeline", {"add": [["2020/2021", "1", []]]}, {"error": True}),
            r"\.add\[0\]=\[\]: is no name of an object",
        ),
        (one("timeline", {"remove": [["2020/2021", "1", 1]]}, {"error": True}), r"\.remove=.*names what was not added"),
        (
            one("timeline", {"add": [["2020/2022", "1", 1], ["2021/2023", "1", 2]]}, {"fully_overshadowed": []}),
            r"piece\.interval=.*overlaps 2020-01-01/2022-01-01 of the same version",
        ),
        (one("timeline", {"rows": []}, {}), r"cases\[one\]\.given\.rows=\[\]: is no list of rows"),
        (one("timeline", {"rows": [{}, {}]}, {"rows": [{}]}), "has 2 rows in given and 1 in expect. Give each row"),
        (one("compaction_search", SEARCH, {}), "expects nothing that is compared"),
        (one("compaction_search", SEARCH | {"polcy": 1}, {"count": 1}), r"\.polcy=1: is unknown here"),
        (
            one("compaction_search", SEARCH | {"config": {"skipOffsetFromLatest": "1D"}}, {"count": 1}),
            "does not begin with P",
        ),
        (one("compaction_search", SEARCH | {"policy": "luck"}, {"count": 1}), "is unknown. Use newestSegmentFirst or"),
        (
            one("compaction_search", SEARCH | {"segments": [["2020/2021", "V"]]}, {"count": 1}),
            r"\.segment_size=None: is missing",
        ),
        (
            one("compaction_search", SEARCH | {"skip_intervals": {"other": []}}, {"count": 1}),
            r"\.skip_intervals=\['other'\]: names no dataset",
        ),
        (one("compaction_search", SEARCH, {"skipped": [["2020/2021", "luck"]]}), r"is nothing that is left out. Write"),
        (
            one("compaction_search", {"datasets": {"a": {}}, "config": {}}, {"count": 1}),
            r"\.datasets\.a={}: is no list of segments",
        ),
        (
            one(
                "compaction_search", SEARCH, {"groups": [{"newest": "2020/2021", "oldest": "2022/2023", "step": "P1D"}]}
            ),
            "is newer than the newest. Exchange newest and oldest",
        ),
        (one("compaction_slots", SLOTS | {"ratio": 2}, {"limit": 1}), r"slots\.ratio=2: is no part of a whole"),
        (
            one("compaction_slots", SLOTS | {"ratio": "half"}, {"limit": 1}),
            r"\.ratio='half': is no number. Write digits",
        ),
        (
            one("compaction_slots", SLOTS | {"capacity": -1}, {"limit": 1}),
            r"\.capacity=-1: is no whole number from 0 on",
        ),
        (
            one("compaction_run", RUN | {"task_effect": "?"}, {"runs": 1}),
            r"\.task_effect='\?': says nothing that is understood",
        ),
        (one("compaction_run", RUN | {"days": [32]}, {"runs": 1}), r"\.days\[0\]=32: is no day of a month"),
        (
            one("compaction_run", RUN, {"final": {"bytes": 1}}),
            r"\.final\.bytes=1: is nothing of a snapshot. Use bytesAwaiting",
        ),
        (
            one("compaction_run", RUN, {"final": {"bytesAwaiting": "440/r"}}),
            "is neither a number nor a formula in r. Write",
        ),
        (
            one("compaction_run", RUN, {"final": {"bytesAwaiting": "__import__('os')"}}),
            "is neither a number nor a formula",
        ),
        (
            one("compaction_run", {"as": "E9 for one dataset"}, {"runs": 1}),
            r"\.as='E9 .*begins with 'E9', which is no other",
        ),
        (one("rules", {"rule": {"type": "keep"}}, {"applies": True}), r"\.rule\.type='keep': is no type of a rule"),
        (one("rules", {"segments": "some"}, {"unmatched": 0}), r"\.segments='some': says nothing that is understood"),
        (
            one("rules", {"segments": "v1 and v2 of 2020/2021", "rules": [["loadByPeriod", "P1D"]]}, {"unmatched": 0}),
            r"\.now=None: is missing, and a rule goes by period",
        ),
        (
            one("rules", {"segments": "v1 and v2 of 2020/2021", "rules": ["all"]}, {"unmatched": 0}),
            r"\.rules\[0\]='all': is no rule",
        ),
        (
            one("cleanup", {"unused": {"A": {"end": "yesterday"}}}, {"eligible": []}),
            "is no offset from now. Write such as -30d",
        ),
        (one("cleanup", {"unused": {}, "only": ["A"]}, {"eligible": []}), r"\.unused=\[\]: has no 'A', which is named"),
        (one("cleanup", {"unused": {}, "cfg": {"keep": 1}}, {"eligible": []}), r"\.cfg\.keep=1: is unknown here"),
        (
            one("cleanup", SLOTS | {"running": 0}, {"limit": 0, "with_many_datasets_only_two_get_a_task": True}),
            "='many': is no number that is understood",
        ),
        (one("balancing", {"queue": [["JUMP", "2020/2021"]]}, {"order": []}), r"\.order|is nothing to ask for. Write"),
        (one("balancing", {}, {"min_rows": [[1]]}), r"\.min_rows\[0\]=\[1\]: is no pair"),
        (
            one("availability", GRACE | {"lifetime_s": 0}, {"lifetime 0": "reassignable at once"}),
            "is no lifetime of a lease",
        ),
        (
            one("availability", GRACE | {"events": [["t0", "rain"]]}, {}),
            r"\.events\[0\]='rain': says nothing that is understood",
        ),
        (one("availability", GRACE | {"events": [["noon", "w disappears"]]}, {}), "='noon': is no moment of the case"),
        (one("availability", GRACE, {"at": "t0", "event": "w is back", "result": "…"}), "is before the last event"),
        (one("availability", GRACE, {"at": "t0+9", "event": "rain", "result": "…"}), r"\.event='rain': says nothing"),
    ],
)
def test_a_malformed_case_is_refused_by_field_value_and_remedy(written, case, message):
    with pytest.raises(InvalidInputError, match=message):
        run_file(written(case))


def test_a_malformed_case_hides_no_other(written, capsys):
    broken = one("weather", {}, {}) | {"id": "broken"}
    assert main([str(written(*CASES, broken))]) == 2
    told = capsys.readouterr()
    assert "30 of 31 cases as expected, 0 different by design, 0 DIFFERENT, 1 malformed." in told.out
    assert "error: cases[broken].area='weather': is unknown" in told.err


def test_whatever_is_changed_in_the_file_it_is_run_or_refused(written):
    """120 times one value somewhere is another, or gone: no crash."""
    chance, refused = random.Random(7), 0
    others = [None, True, -1, 1.5, "", "x", "2020/2021", "P1D", [], {}, [[]], {"x": None}]
    for _ in range(120):
        broken = copy.deepcopy(chance.choice([case for case in CASES if case["area"] != "compaction_run"]))
        change_one(broken, chance, others)
        try:
            run_file(written(broken))
        except InvalidInputError:
            refused += 1
    assert 20 < refused < 120
