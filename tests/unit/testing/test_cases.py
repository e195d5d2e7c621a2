"""Case files: the KCL's own, files from elsewhere, and malformed ones."""

from __future__ import annotations

import copy
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_coordination.testing.cases.__main__ import main
from airflow_coordination.testing.cases.results import BY_DESIGN, Verdict
from airflow_coordination.testing.cases.running import run_file
from airflow_coordination.values.input_errors import InvalidInputError
from tests.unit.testing.changing import change_one

KCL = Path(__file__).parents[2] / "cases" / "kcl_leases.json"
CASES = json.loads(KCL.read_text())
LINE = [{"id": "a", "parents": [], "start": 0, "end": 9}, {"id": "b", "parents": ["a"], "start": 10, "end": 19}]
LINE += [
    {"id": "c", "parents": ["b"], "start": 20, "end": None},
    {"id": "d", "parents": ["b"], "start": 20, "end": None},
]


@pytest.fixture
def written(tmp_path):
    """Return a function that writes a case file."""

    def write(content):
        path = tmp_path / "cases.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


def sync_case(**fields):
    case = {
        "id": "one",
        "graph": "G",
        "table": "nonempty",
        "existing_leases": ["c"],
        "initial_position": "TRIM_HORIZON",
    }
    case |= {"timestamp": None, "inconsistent_children": [], "expected_new_leases": {"d": "TRIM_HORIZON"}}
    return {"graphs": {"G": LINE}, "sync_cases": [case | fields]}


def test_what_differs_from_the_kcl_by_design():
    """This list is the promise: whoever changes it changes docs/decisions/0048."""
    results = run_file(KCL)
    assert [one for one in results if one.verdict is Verdict.DIFFERENT] == []
    assert {(one.section, one.case): one.reason for one in results if one.reason} == {
        ("kcl_known_gaps", "B-trim_horizon-6"): "no restart",
        ("kcl_known_gaps", "B-at_timestamp-6"): "no restart",
        ("coverage_cases", "not-in-kcl-tests-false-alarm"): "exact coverage",
        ("assignment_cases", "util-take-throughput"): "leases, not CPU",
        ("assignment_cases", "util-overshoot-on"): "leases, not CPU",
    }
    assert {one.case for one in results if one.verdict is Verdict.BY_DESIGN} == {
        "util-take-throughput",
        "util-overshoot-on",
    }
    assert {one.reason for one in results if one.reason} | {"no waiting end"} == BY_DESIGN.keys()
    assert (
        len(results)
        == sum(len(CASES[name]) for name in CASES if name.endswith(("_cases", "_gaps")) and name != "taker_cases") + 11
    )


def test_the_command_prints_a_table_and_leaves_with_0():
    command = [sys.executable, "-m", "airflow_coordination.testing.cases", str(KCL)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "| sync_cases          | A-latest-457 " in done.stdout
    assert "different by design, leases, not CPU: shares count leases" in done.stdout
    assert done.stdout.endswith("59 of 61 cases as expected, 2 different by design, 0 DIFFERENT, 0 malformed.\n")


@pytest.mark.parametrize("worker", ["aaa", "zzz"])
def test_takers_answers_do_not_hang_on_their_names(written, worker):
    text = json.dumps({"taker_cases": CASES["taker_cases"]}).replace('"foo"', f'"{worker}"')
    assert {one.verdict for one in run_file(written(text))} == {Verdict.AS_EXPECTED}


def different(written, capsys, content):
    assert main([str(written(content))]) == 1
    return capsys.readouterr().out


def test_a_difference_leaves_with_1(written, capsys):
    said = different(written, capsys, sync_case(expected_new_leases={}))
    assert "| sync_cases | one  | DIFFERENT | nothing  | d: TRIM_HORIZON |" in said
    assert "0 of 1 cases as expected, 0 different by design, 1 DIFFERENT" in said


def test_another_order_is_a_difference(written, capsys):
    case = sync_case(existing_leases=[], initial_position="LATEST", expected_new_leases={"c": "LATEST", "d": "LATEST"})
    case["sync_cases"][0]["expected_order"] = ["d", "c"]
    assert "DIFFERENT" in different(written, capsys, case)


def test_an_inconsistent_listing_is_a_difference_unless_it_is_named(written, capsys):
    torn = [*LINE, {"id": "e", "parents": ["d"], "start": 30, "end": None}]
    case = sync_case() | {"graphs": {"G": torn}}
    assert "inconsistent: e" in different(written, capsys, case)
    case["sync_cases"][0]["inconsistent_children"] = ["c"]
    assert "inconsistent: e" in different(written, capsys, case)
    case["sync_cases"][0]["inconsistent_children"] = ["e"]
    assert main([str(written(case))]) == 0


def test_what_the_kcl_s_own_rule_gives_is_different_by_design(written):
    """A file that nobody here has seen: explained by the rule, not by the case's name."""
    (one,) = run_file(written(sync_case(expected_new_leases={"a": "TRIM_HORIZON"})))
    assert (one.verdict, one.reason) == (Verdict.BY_DESIGN, "no restart")
    (other,) = run_file(written(sync_case(expected_new_leases={"b": "TRIM_HORIZON"})))
    assert other.verdict is Verdict.DIFFERENT


def test_a_gap_whose_kcl_is_not_the_kcl_is_a_difference(written):
    gap = {"id": "g", "graph": "G", "existing_leases": ["c"], "initial_position": "TRIM_HORIZON", "timestamp": None}
    gap |= {"wanted": {"d": "TRIM_HORIZON"}, "model_of_kcl_gives": {"a": "TRIM_HORIZON"}}
    (one,) = run_file(written({"graphs": {"G": LINE}, "kcl_known_gaps": [gap]}))
    assert one.verdict is Verdict.AS_EXPECTED
    (one,) = run_file(written({"graphs": {"G": LINE}, "kcl_known_gaps": [gap | {"model_of_kcl_gives": {}}]}))
    assert one.verdict is Verdict.DIFFERENT
    (one,) = run_file(written({"graphs": {"G": LINE}, "kcl_known_gaps": [gap | {"wanted": {}}]}))
    assert one.verdict is Verdict.DIFFERENT


@pytest.mark.parametrize(
    ("expect", "verdict"),
    [("error, retried", Verdict.BY_DESIGN), ("create child", Verdict.DIFFERENT), ("complete", Verdict.AS_EXPECTED)],
)
def test_a_merge_whose_other_parent_has_no_lease(written, expect, verdict):
    case = {"id": "m", "children": ["c"], "parent_leases": [True, False], "expect": expect}
    assert [one.verdict for one in run_file(written({"shard_end_cases": [case]}))] == [verdict]


@pytest.mark.parametrize(
    ("section", "change"),
    [
        ("coverage_cases", {"hole": True}),
        ("cleanup_cases", {"delete": False}),
        ("shard_end_cases", {"expect": "error, retried"}),
    ],
)
def test_a_wrong_expectation_is_a_difference(written, section, change):
    whole = copy.deepcopy({section: [next(one for one in CASES[section] if one.get("hole") is not True)]})
    assert [one.verdict for one in run_file(written(whole))] == [Verdict.AS_EXPECTED]
    whole[section][0] |= change
    assert [one.verdict for one in run_file(written(whole))] == [Verdict.DIFFERENT]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "FILE=.*is no JSON"),
        ('{"a": 1, "a": 2}', "FILE=.*is no JSON: names 'a' twice"),
        ([], r"FILE=\[\]: is no object"),
        ({}, "FILE=.*has no case. Give at least one of sync_cases, kcl_known_gaps"),
        ({"sync_cases": []}, "has no case"),
        ({"sync_case": []}, r"sync_case=\[\]: is unknown here. Use .*sync_cases"),
        ({"sync_cases": {}}, r"sync_cases={}: is no list"),
        ({"sync_cases": [7]}, r"sync_cases\[0\]=7: is no object"),
        ({"sync_cases": [{}]}, r"sync_cases\[0\]\.id=None: is missing. Give it as a text"),
        (sync_case(graph="H"), r"sync_cases\[one\]\.graph='H': is not among the graphs. Use G"),
        (sync_case(table="full"), r"\.table='full': is unknown. Use empty or nonempty"),
        (sync_case(table="empty"), r"\.existing_leases=\['c'\]: are there, but table is empty"),
        (sync_case(initial_position="NOW"), r"\.initial_position='NOW': is unknown. Use TRIM_HORIZON or LATEST"),
        (sync_case(timestamp=5), r"\.timestamp=5: does not go with TRIM_HORIZON"),
        (sync_case(initial_position="AT_TIMESTAMP"), r"\.timestamp=None: does not go with AT_TIMESTAMP"),
        (sync_case(initial_position="AT_TIMESTAMP", timestamp=10**15), r"\.timestamp=10+: is no time"),
        (sync_case(timestamp="noon"), r"\.timestamp='noon': is no whole number"),
        (sync_case(existing_leases=["c", "c"]), r"\.existing_leases=.*has 'c' twice"),
        (sync_case(existing_leases=[1]), r"\.existing_leases=\[1\]: has 1, which is no text"),
        (
            sync_case(expected_new_leases={"d": "HERE"}),
            r"\.expected_new_leases\.d='HERE': is no checkpoint to begin at",
        ),
        (sync_case(expected_order=["c"]), r"\.expected_order=\['c'\]: does not name exactly"),
        (sync_case(expected=1), r"sync_cases\[one\]\.expected=1: is unknown here. Use .*expected_new_leases"),
        (sync_case() | {"graphs": {"G": [LINE[0], LINE[0]]}}, r"graphs\.G\[1\]\.id='a': is there twice"),
        (
            sync_case() | {"graphs": {"G": [LINE[0] | {"parents": ["a"]}]}},
            r"graphs\.G\[a\]\.parents=.*names shard a itself",
        ),
        (
            sync_case() | {"graphs": {"G": [LINE[0] | {"parents": ["b"]}, LINE[1]]}},
            r"graphs\.G\.parents='.*is a circle",
        ),
        (
            sync_case() | {"graphs": {"G": [LINE[0] | {"hash": ["9", "1"]}]}},
            r"graphs\.G\[a\]\.hash=.*is no range inside",
        ),
        (
            sync_case() | {"graphs": {"G": [LINE[0] | {"hash": "all"}]}},
            r"\.hash='all': is no range. Write \[first, last\]",
        ),
        (
            {"coverage_cases": [{"id": "x", "ranges": [["0", "x"]], "hole": True}]},
            r"\.ranges\[0\]=\['0', 'x'\]: is no whole number",
        ),
        ({"coverage_cases": [{"id": "x", "ranges": [None], "hole": True}]}, r"\.ranges=\[None\]: has null in it"),
        (
            {"coverage_cases": [{"id": "x", "ranges": [], "ended": [[0, 1]], "hole": True}]},
            r"\.ended=\[0, 1\]: is not among the ranges",
        ),
        ({"coverage_cases": [{"id": "x", "ranges": [], "hole": "no"}]}, r"\.hole='no': is neither true nor false"),
        ({"coverage_confidence": {"threshold": 0, "cases": []}}, r"coverage_confidence\.threshold=0: is less than 1"),
        (
            {"coverage_confidence": {"threshold": 1, "cases": [{"id": "x", "sequence": ["ok"], "sync_on": [2]}]}},
            r"\.sync_on=\[2\]: has 2, which is no look",
        ),
        (
            {"cleanup_cases": [{"id": "x", "children": {"a": 7}, "parents_present": [], "delete": True}]},
            r"\.children\.a=7: is no checkpoint",
        ),
        ({"shard_end_cases": [{"id": "x", "expect": "hm"}]}, r"\.expect='hm': says nothing that is understood"),
        (
            {"shard_end_cases": [{"id": "x", "parent_leases": [1], "expect": "create"}]},
            r"\.parent_leases=\[1\]: is no list of true and false",
        ),
        (
            {
                "taker_cases": {
                    "lease_duration_ms": 1,
                    "cases": [{"id": "x", "me": "a", "leases": {}, "steps": [{"wait": 1}]}],
                }
            },
            r"steps\[0\]=\['wait'\]: is no step. Give one of scan, renew_all, pass_ms",
        ),
        (
            {"assignment_cases": [{"id": "x", "strategy": "luck", "workers": {}, "expect": {}}]},
            r"\.strategy='luck': is unknown. Use count or utilisation",
        ),
        (
            {"assignment_cases": [{"id": "x", "strategy": "count", "workers": {}, "expect": {"moved": 1}}]},
            r"\.workers={}: is empty",
        ),
        (
            {"assignment_cases": [{"id": "x", "strategy": "count", "workers": {"a": []}, "expect": {"moves": 1}}]},
            r"\.expect\.moves=1: is unknown here",
        ),
    ],
)
def test_a_malformed_file_is_refused_by_field_value_and_remedy(written, content, message):
    with pytest.raises(InvalidInputError, match=message):
        run_file(written(content))


def test_a_malformed_file_leaves_with_2(written, capsys):
    assert main([str(written(sync_case(graph="\u202eH")))]) == 2
    assert "error: sync_cases[one].graph='\\u202eH': is not among the graphs" in capsys.readouterr().err
    assert main(["/no/such/file"]) == 2
    assert "FILE='/no/such/file': cannot be read: No such file" in capsys.readouterr().err


def test_peer_p1_an_unknown_word_hides_no_other_case(tmp_path, capsys):
    """P1: one sentence that is not understood ended the command before it had shown anything."""
    odd = copy.deepcopy(CASES)
    odd["shard_end_cases"][0]["expect"] = "perhaps"
    odd["assignment_cases"][0]["strategy"] = "by weight"
    odd["taker_cases"]["frequency"] = 7
    odd["wishes"] = []
    file = tmp_path / "odd.json"
    file.write_text(json.dumps(odd))
    whole = run_file(KCL)
    found = run_file(file, keep_malformed=True)
    named = {(one.section, one.case) for one in found if one.verdict is Verdict.MALFORMED}
    ends, assigned = CASES["shard_end_cases"][0]["id"], CASES["assignment_cases"][0]["id"]
    assert named == {("shard_end_cases", ends), ("assignment_cases", assigned), ("taker_cases", ""), ("FILE", "")}
    others = [one for one in whole if (one.section, one.case) not in named]
    assert [one for one in found if one.verdict is not Verdict.MALFORMED] == others
    assert main([str(file)]) == 2
    told = capsys.readouterr()
    assert told.err.count("error: ") == 4
    assert "says nothing that is understood" in told.err
    assert " 4 malformed.\n" in told.out


@pytest.mark.parametrize(("most", "taken"), [(1, 1), (3, 2)])
def test_peer_p2_a_worker_s_own_cap_holds_beside_one_that_has_more(written, most, taken):
    """P2: it was raised to what the other held."""
    case = {
        "id": "one",
        "me": "me",
        "max_leases_for_worker": most,
        "leases": {"a": "other", "b": "other", "c": "other", "d": None, "e": None},
        "steps": [{"renew_all": True}, {"scan": {"take_count": taken}}],
    }
    [result] = run_file(written({"taker_cases": {"lease_duration_ms": 10_000, "cases": [case]}}))
    assert (result.verdict, result.answer) == (Verdict.AS_EXPECTED, f"take_count: {taken}")


def test_whatever_is_changed_in_a_file_it_is_run_or_refused(written):
    """500 times one value somewhere is another, or gone: no crash, and most are refused."""
    chance, refused = random.Random(7), 0
    others = [None, True, -1, 2**200, 1.5, "", "x", "shardId-4", [], {}, [[]], {"x": None}, ["a", "a"]]
    for _ in range(500):
        broken = copy.deepcopy(
            {"graphs": CASES["graphs"]}
            | {name: CASES[name] for name in chance.sample(sorted(CASES.keys() - {"graphs"}), 1)}
        )
        change_one(broken, chance, others)
        try:
            run_file(written(broken))
        except InvalidInputError:
            refused += 1
    assert 100 < refused < 500
