"""What CI tries in part is tried whole in turn, and where its files have changed; the proof's page remembers them."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests import left_out
from tests.integration.crash_points.test_crash_points import STORES
from tests.left_out import ROWS, Choices, LeftOut, digest_of, last_seen
from tests.proof import page
from tests.proof.ledger import Ledger

COMMITS = [f"{number:040x}" for number in range(40)]
TURNS = [row for row in ROWS if row.turns]
PREFERRING = [row for row in TURNS if row.files]
PARTED = [row for row in ROWS if row.parts > 1]
ASKING = [row for row in ROWS if row.unless]
by_name = {"ids": lambda row: row.name}


@cache
def on(commit: str | None) -> Choices:
    """Return what a commit tries where nothing has changed; it takes reading hundreds of files."""
    return Choices(commit, {})


@pytest.mark.parametrize("row", ROWS, **by_name)
def test_its_tests_are_there(row: LeftOut) -> None:
    assert all((left_out.ROOT / place).exists() for place in row.places)
    assert all(list(left_out.ROOT.glob(pattern)) for pattern in row.unless)


def test_crash_points_take_turns_by_store() -> None:
    [row] = [row for row in ROWS if row.name == "crash points"]
    assert list(row.turns) == [getattr(each, "values", [each])[0] for each in STORES]


@pytest.mark.parametrize("row", TURNS, **by_name)
def test_each_commit_tries_one_and_each_comes_to_its_turn(row: LeftOut) -> None:
    tests = {
        "crash points": lambda name: f"{row.places[0]}::test_s3_an_action_killed[{name}-park]",
        "walks through a whole Airflow": lambda name: {
            "branches": "tests/system/test_branches.py::test_s22_a_month",
            "compaction": "tests/system/test_compaction.py::test_a_year",
            "the demo": "tests/system/demo/test_demo.py::test_the_published_flights[sqlite]",
            "the drain": "tests/system/test_drain.py::test_every",
            "the quickstart": "tests/system/test_quickstart.py::test_seen[plain-python]",
            "the tutorial": "tests/system/test_tutorial.py::test_e4",
            "waking up": "tests/system/test_waking_up.py::test_a_dag",
        }[name],
        "killed readers, executors and writers": lambda name: (
            f"{dict(zip(row.turns, row.places, strict=True))[name]}::test_killed[1]"
        ),
        "random writes, store beside reference": lambda name: (
            f"{row.places[0]}::test_s5_{name.replace('-', '_')}_does_what_the_reference_does"
        ),
        "engines of streams and of an index": lambda name: f"{row.files[name][1]}::test_read",
        "sixteen writers at once, in the kit": lambda name: f"tests/conformance/test_{name}.py::TestAny::test_s1[16]",
        "faults on real processes": lambda name: {
            "branches": f"{row.places[3]}::test_s12_s22",
            "overlays": f"{row.places[4]}::test_s12_s21",
        }.get(name, f"tests/processes/test_{name}.py::test_s5"),
        "real drivers of tasks of Airflow": lambda name: "{}::{}_and_so_on".format(*left_out._DRIVERS[name]),
        "the example jobs on Spark": lambda name: f"tests/integration/dags/test_{name}.py::test_every",
        "rules of branches, each left out of a run": lambda name: (
            f"{row.places[0]}::test_s22_a_run_without_a_rule_sees_that_it_is_missing[{name}]"
        ),
        "rules of overlays, each left out of a run": lambda name: (
            f"{row.places[0]}::test_a_run_without_a_rule_of_overlays_sees_that_it_is_missing[{name}]"
        ),
        "overlays and branches in virtual time": lambda name: (
            f"{row.places[1]}::test_s12_s22_readers_find_what_counts[{name}]"
        ),
        "runs in virtual time": lambda name: (
            f"{row.places[0]}::test_s5_every_history_is_linearizable_under_faults[{name}]"
        ),
        "cases of Druid, each expectation changed": lambda name: {
            "decisions": f"{row.places[0]}::test_it_is_no_longer_as_expected[D5_overlap]",
            "copies and balance": f"{row.places[0]}::test_it_is_no_longer_as_expected[G4_load_queue_order]",
            "all others": f"{row.places[0]}::test_it_is_no_longer_as_expected[A2_period]",
        }[name],
        "families that race": lambda name: {
            "dynamodb": f"{row.places[1]}::test_s20_no_child_is_left_waiting[60-dynamodb]",
            "postgresql": f"{row.places[1]}::test_s20_no_child_is_left_waiting[60-postgresql]",
            "sqlite": f"{row.places[0]}::test_s19_s20_each_comes_after_its_parents[sqlite-400-3]",
        }[name],
        "two versions at work on one store": lambda name: f"{row.places[0]}::test_s16_neighbours_work[{name}_url]",
        "children left to sweeps": lambda name: f"{row.places[0]}{row.turns[name]}",
        "random schedules on DynamoDB Local": lambda name: f"{row.places[0]}::test_every_promise_holds[{name[6]}]",
        "a death at every request, and at every step of a follow-up": lambda name: {
            "before a request": f"{row.places[0]}::test_l1_a_process_killed_at_any_request_loses[CRASH_BEFORE]",
            "after a request": f"{row.places[0]}::test_l1_a_process_killed_at_any_request_loses[CRASH_AFTER]",
            "follow-ups of files": f"{row.places[1]}::test_s27_killed_at_every_point_exactly[files]",
            "follow-ups on S3": f"{row.places[1]}::test_s27_killed_at_every_point_exactly[S3]",
            "four actions on DynamoDB Local": f"{row.places[2]}{row.turns['four actions on DynamoDB Local']}[close]",
            "suppliers with messages": f"{row.places[3]}/test_sqs.py{row.turns['suppliers with messages']}",
            "suppliers with streams": f"{row.places[4]}{row.turns['suppliers with streams']}",
        }[name],
        "pages that start Spark and engines": lambda name: f"{row.places[0]}::test_page_runs[docs/{name}.md]",
    }[row.name]
    tried = [[name for name in row.turns if not on(commit).leaves_out(tests(name))] for commit in COMMITS]
    assert {len(names) for names in tried} == {1}
    assert {name for [name] in tried} == set(row.turns)
    assert any(
        f"{tried[7][0]}, whose turn it is on commit {COMMITS[7][:9]}" in line for line in Choices(COMMITS[7], {})
    )


def test_in_memory_and_on_sqlite_the_kit_is_always_tried() -> None:
    two = "tests/conformance/test_sqlite.py::TestSqlite::test_e17_s1_writers[2]"
    assert not any(on(commit).leaves_out(two) for commit in COMMITS)


def test_the_proof_asks_for_what_a_row_decides_about() -> None:
    """Not for all that lies beside it, which other rows or every landing try."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "--row=random schedules on DynamoDB Local"]
    places = ("tests/integration/dynamodb/test_schedules.py", "tests/integration/dynamodb/test_order.py")
    asked = subprocess.run([*command, *places], cwd=left_out.ROOT, capture_output=True, text=True, check=True)
    nodes = [line for line in asked.stdout.splitlines() if "::" in line]
    assert len(nodes) == 8
    assert all(node.startswith(places[0]) for node in nodes)


def test_what_is_long_and_in_no_other_row_is_one() -> None:
    """Or neither CI nor the proof would ever run it."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "--row=what takes long elsewhere"]
    places = ("tests/integration/families/test_races.py", "tests/integration/airflow/test_slice.py")
    asked = subprocess.run([*command, *places], cwd=left_out.ROOT, capture_output=True, text=True, check=True)
    nodes = [line.partition("[")[2] for line in asked.stdout.splitlines() if "::" in line]
    assert nodes == ["1000-postgresql]", "1000-dynamodb]"]


@pytest.mark.parametrize("row", TURNS, **by_name)
def test_what_a_pattern_names_is_there(row: LeftOut) -> None:
    """A test that got another name would be tried by each commit, and its turn would try nothing."""
    places = [left_out.ROOT / place for place in row.places]
    texts = [path.read_text() for place in places for path in (place.rglob("*.py") if place.is_dir() else [place])]
    for pattern in row.turns.values():
        for name in re.findall(r"::(test_\w+)", pattern):
            assert any(f"\ndef {name}" in text for text in texts), name


@pytest.mark.parametrize("row", PREFERRING, **by_name)
def test_of_what_has_changed_one_is_tried(row: LeftOut) -> None:
    """A change of one is tried on that one by every commit, and one of all on no more than one."""
    assert row.files.keys() == row.turns.keys()
    for name, patterns in row.files.items():
        assert all(list(left_out.ROOT.glob(pattern.replace("/*", "/**/*"))) for pattern in patterns)
        changed = {pattern.replace("*", "any.py") for pattern in patterns}
        said = {line for commit in COMMITS for line in Choices(commit, {}, changed) if line.startswith(f"{row.name}: ")}
        assert {line.partition(",")[0] for line in said} == {f"{row.name}: {name}"}
    everything = {pattern.replace("*", "any.py") for patterns in row.files.values() for pattern in patterns}
    said = {line for commit in COMMITS for line in Choices(commit, {}, everything) if line.startswith(f"{row.name}: ")}
    assert {line.partition(",")[0] for line in said} == {f"{row.name}: {name}" for name in row.turns}


def tried_of(row: LeftOut, commit: str, changed: frozenset[str] = frozenset()) -> set[str]:
    nodes = {f"{place}/test_a.py::test_b[{number}]" for place in row.places for number in range(40)}
    choices = Choices(commit, {}, changed)
    return {node for node in nodes if not choices.leaves_out(node)}


@pytest.mark.parametrize("row", PARTED, **by_name)
def test_each_test_is_in_one_part_and_each_part_comes_to_its_turn(row: LeftOut) -> None:
    parts = {frozenset(tried_of(row, commit)) for commit in COMMITS}
    assert len(parts) == row.parts
    assert sum(map(len, parts)) == len(frozenset().union(*parts)) == 40 * len(row.places)
    assert min(map(len, parts)) > 2 * len(row.places)


def touched(rows: list[LeftOut]) -> frozenset[str]:
    return frozenset(row.files["all"][0].replace("*", "any.py") for row in rows)


def test_what_a_small_landing_touches_is_tried_whole() -> None:
    """Of a large one no more than of any other."""
    rows = [row for row in PARTED if "stores" not in row.files["all"][0]]
    for row in rows:
        assert all(list(left_out.ROOT.glob(pattern.removesuffix("*"))) for pattern in row.files["all"])
        assert len(tried_of(row, COMMITS[0], touched([row]))) == 40 * len(row.places)
        assert f"{row.name}: all, for what it tries has changed" in Choices(COMMITS[0], {}, touched([row]))
    assert len(PARTED) > left_out.WHOLE
    assert tried_of(rows[0], COMMITS[0], touched(PARTED)) == tried_of(rows[0], COMMITS[0])


def test_where_nothing_tells_the_commit_all_is_tried() -> None:
    assert not any(on(None).leaves_out(place) for row in TURNS + PARTED for place in row.places)


@pytest.mark.parametrize(("turn", "commit"), [("3f2a", "3f2a"), (COMMITS[7], COMMITS[7]), (left_out.EVERY_TURN, None)])
def test_a_turn_that_is_asked_for_is_that_of_a_commit_of_this_digest(
    turn: str, commit: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(left_out.TURN, turn)
    assert list(left_out.choices()) == list(Choices(commit, last_seen(left_out.PAGE.read_text())))


@pytest.mark.parametrize("turn", ["", "main", "3F2A", "a" * 41])
def test_a_turn_that_no_commit_could_have_is_refused(turn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(left_out.TURN, turn)
    with pytest.raises(ValueError, match=f"COORDINATION_TEST_TURN is '{turn}': give a commit's digest"):
        left_out.choices()


def test_the_other_tests_of_a_file_are_always_tried() -> None:
    always = (
        "tests/integration/crash_points/test_crash_points.py::test_s6_killed_at_any_call_after_a_lost_answer[sweep]"
    )
    assert not any(on(commit).leaves_out(always) for commit in COMMITS)
    assert not any(on(commit).leaves_out("tests/system/demo/test_demo.py::test_a_missing") for commit in COMMITS)


@pytest.mark.parametrize("row", ASKING, **by_name)
def test_what_asks_for_its_files_is_tried_as_soon_as_one_is_another(
    row: LeftOut, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = f"{row.places[0]}::test_any"
    assert Choices(COMMITS[0], {row.name: digest_of(row)}).leaves_out(test)
    assert not Choices(COMMITS[0], {}).leaves_out(test)
    file = next(left_out.ROOT.glob(row.unless[-1])).relative_to(left_out.ROOT)
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text("[project]\ndependencies = ['a']\n")
    monkeypatch.setattr(left_out, "ROOT", tmp_path)
    seen = {row.name: digest_of(row)}
    assert Choices(COMMITS[0], seen).leaves_out(test)
    (tmp_path / file).write_text("[project]\ndependencies = ['b']\n")
    assert not Choices(COMMITS[0], seen).leaves_out(test)


def test_what_pip_resolves_is_not_tried_for_a_word_in_the_packages_description(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [row] = [row for row in ASKING if row.unless == ("pyproject.toml",)]
    monkeypatch.setattr(left_out, "ROOT", tmp_path)
    (tmp_path / "pyproject.toml").write_text("[project]\ndescription = 'a'\ndependencies = ['a']\n")
    seen = digest_of(row)
    (tmp_path / "pyproject.toml").write_text("[project]\ndescription = 'b'\ndependencies = ['a']\n")
    assert digest_of(row) == seen


@pytest.mark.parametrize(("failed", "remembered"), [(0, True), (1, False)])
def test_the_page_remembers_what_was_seen_and_was_well(tmp_path: Path, failed: int, *, remembered: bool) -> None:
    row, ledger, file = ASKING[0], Ledger(tmp_path / "ledger.jsonl"), tmp_path / "reliability.md"
    file.write_text("# Reliability\n\n## Versions\n\nMade on …\n")
    figures = {"passed": 207, "failed": failed, "seconds": 90.0, "files": digest_of(row)}
    ledger.add(f"rest {row.name}", figures)
    page.renew("rest", ledger, file)
    written = file.read_text()
    assert (last_seen(written) == {row.name: digest_of(row)}) is remembered
    page.renew("rest", Ledger(tmp_path / "another machine's"), file)
    assert file.read_text() == written
    assert written.startswith("# Reliability\n")
    assert written.endswith("## Versions\n\nMade on …\n")


def test_the_page_has_each_row() -> None:
    """Written by ``python -m tests.proof --only rest``; ``--page`` wants the whole ledger."""
    table = left_out.PAGE.read_text().partition("## What CI tries in part")[2]
    assert all(f"\n| {row.name} | {row.tried} |" in table for row in ROWS)
