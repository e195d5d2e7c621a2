"""``rules …``: set, explained and applied, with the store's own clock."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_coordination.leases import Block, SourceCoordinator
from airflow_coordination.outputs.heads.showing import read_view, shown_pages
from airflow_coordination.planning.intervals import interval_of
from airflow_coordination.planning.view import changing
from airflow_coordination.planning.view.view import BY_RULES
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.stores import open_store
from tests.unit.cli.on_a_store import cli_on, publish

IDENTIFIER = "flights|PARTITION"
BOTH = ("flights", "--dataset", "clean")
LONG_AGO = ("2013-01-01", "2013-01-02", "2013-01-03")
RECENT = (datetime.now(UTC) - timedelta(days=5)).strftime("%Y-%m-%d")
A_YEAR = [{"type": "loadByPeriod", "period": "P1Y"}, {"type": "dropForever"}]


@pytest.fixture(params=["memory", "sqlite"])
def flights(request, tmp_path) -> SourceCoordinator:
    store = open_store("memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'c.db'}")
    store.setup()
    flights = SourceCoordinator(store, "flights", "owner")
    publish(flights, *LONG_AGO, RECENT, "odd", intervals=[f"{day}/P1D" for day in (*LONG_AGO, RECENT)] + [None])
    parts_of(store).enabling.enable_branches()
    return flights


@pytest.fixture
def typed(flights, capsys):
    return cli_on(flights.store, capsys)


@pytest.fixture
def rules(typed):
    """Run a command of ``rules`` about dataset ``clean``; return exit code, rows and standard error."""

    def run(name: str, *options: str) -> tuple[int, list[dict[str, Any]], str]:
        code, out, err = typed("rules", name, *BOTH, "-o", "json", *options)
        return code, json.loads(out or "[]"), err

    return run


@pytest.fixture
def put(typed, monkeypatch):
    """Set rules from standard input, of dataset ``clean`` unless others are meant."""

    def put(said: Any, *options: str, about=BOTH) -> tuple[int, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(said if isinstance(said, str) else json.dumps(said)))
        code, _, err = typed("rules", "set", *about, "-", "--why", "a year is enough", "--by", "ana", "-y", *options)
        return code, err

    return put


def shown(flights: SourceCoordinator) -> set[str]:
    view = read_view(flights.store, IDENTIFIER)
    return {head.key for page in shown_pages(flights.store, IDENTIFIER, "clean", view) for head in page}


def entries(flights: SourceCoordinator) -> list[tuple[str, str]]:
    return [(str(each.interval), each.by) for each in read_view(flights.store, IDENTIFIER).hidden]


def test_rules_are_set_read_and_remembered(put, typed, rules, tmp_path) -> None:
    assert put(A_YEAR)[0] == 0
    file = tmp_path / "rules.json"
    file.write_text(json.dumps([*A_YEAR[:1], {"type": "dropBeforeByPeriod", "period": "P1Y"}]))
    code, _, err = typed("rules", "set", *BOTH, str(file), "--why", "another way", "-y")
    assert code == 0
    assert "Note: no rule is forever" in err
    assert "Done: set the rules of dataset clean of source flights to 2 rule(s), version 2." in err
    code, out, err = typed("rules", "get", *BOTH)
    assert json.loads(out) == json.loads(file.read_text())
    assert "Version 2 of the rules of dataset clean of source flights, by " in err
    _, found, _ = rules("history")
    assert [(each["version"], each["comment"]) for each in found] == [(2, "another way"), (1, "a year is enough")]
    assert json.loads(found[1]["content"]) == A_YEAR
    assert [each["version"] for each in rules("history", "--limit", "1")[1]] == [2]
    assert [each["version"] for each in rules("history", "--interval", "2013/P1Y")[1]] == []
    assert len(rules("history", "--interval", "2013/P900Y")[1]) == 2


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("[", "is no JSON"),
        ("{}", "is no list of rules"),
        ([{"type": "loadByPeriod", "period": "30D"}], "Write P30D"),
        ([{"type": "dropByPeriod", "period": "P1D", "tieredReplicants": {"hot": 1}}], "does not go with dropByPeriod"),
        ([{"type": "loadForever"}, {"type": "dropByPeriod", "period": "P1D"}], "rule 2: never applies"),
        ("[" + " " * 70_000 + "]", "the limit is 65536"),
    ],
)
def test_what_is_no_rule_or_never_applies_is_refused(put, rules, flights, said, message) -> None:
    code, err = put(said)
    assert code == 1
    assert message in err
    assert flights.documents.all() == []


def test_a_file_that_is_not_there_and_half_a_name_are_refused(typed, put) -> None:
    code, _, err = typed("rules", "set", *BOTH, "nowhere.json", "--why", "w", "-y")
    assert code == 1
    assert "cannot be read" in err
    code, err = put(A_YEAR, about=("flights",))
    assert code == 1
    assert "Name a source and --dataset, or neither" in err
    code, err = put(A_YEAR, about=("flights", "--dataset", "~7~clean"))
    assert code == 1
    assert "Leave out the ~" in err


def test_a_dry_run_sets_nothing(put, flights) -> None:
    code, err = put(A_YEAR, "--dry-run")
    assert code == 0
    assert "Dry run: would set the rules" in err
    assert flights.documents.all() == []


def test_default_rules_come_after_those_of_the_dataset(put, rules, typed) -> None:
    assert put([{"type": "dropForever"}], about=())[0] == 0
    assert json.loads(typed("rules", "get")[1]) == [{"type": "dropForever"}]
    [found] = rules("explain", "2013-01-01")[1]
    assert (found["becomes"], found["why"].split(":")[0]) == ("dropped", "default rule 1, dropForever")
    put([{"type": "loadByInterval", "interval": "2013/P1Y"}])
    [found] = rules("explain", "2013-01-01")[1]
    assert (found["becomes"], found["changes_at"]) == ("kept", None)


def test_explain_says_why_and_when_it_next_changes(put, rules) -> None:
    put(A_YEAR)
    [found] = rules("explain", "2013-01-01")[1]
    assert found["interval"] == "2013-01-01/2013-01-02"
    assert (found["becomes"], found["changes_at"], found["hidden_by"]) == ("dropped", None, None)
    [found] = rules("explain", f"{RECENT}/P1D")[1]
    assert found["becomes"] == "kept"
    assert found["why"].startswith("rule 1, loadByPeriod P1Y: ")
    end = datetime.fromisoformat(f"{RECENT}T00:00:00+00:00") + timedelta(days=1)
    assert abs(datetime.fromisoformat(found["changes_at"]) - end - timedelta(days=365)) <= timedelta(days=1)
    assert found["then"].startswith("dropped: rule 2, dropForever: ")


@pytest.mark.parametrize(
    ("what", "said"), [("odd", "See `outputs set-interval`"), ("nobody", "has no slash"), ("2013/2012", "ends before")]
)
def test_what_cannot_be_explained_is_named(rules, what, said) -> None:
    code, _, err = rules("explain", what)
    assert code == 1
    assert said in err


def test_without_yes_rules_only_say_what_they_would_do(put, rules, flights) -> None:
    put(A_YEAR)
    code, found, err = rules("apply")
    assert code == 0
    assert [(each["change"], each["interval"]) for each in found] == [("hide", "2013-01-01/2013-01-04")]
    assert "Dataset clean: 3 partition(s) with 30 row(s) vanish, 0 with 0 come back, 1 are kept." in err
    assert "1 partition(s) have no interval" in err
    assert "Dry run: would apply them" in err
    assert flights.documents.history("view") == []


def test_what_rules_drop_goes_at_once_and_comes_back_when_they_do_not(put, rules, flights) -> None:
    put(A_YEAR)
    code, _, err = rules("apply", "--yes", "--why", "every night", "--by", "ana")
    assert (code, shown(flights)) == (0, {RECENT, "odd"})
    assert "Done: 3 partition(s) are hidden now, 0 came back." in err
    assert entries(flights) == [("2013-01-01/2013-01-04", BY_RULES)]
    [version] = flights.documents.history("view")
    assert (version.author, version.comment) == ("ana", "every night")
    assert "There is nothing to change." in rules("apply")[2]
    since = read_view(flights.store, IDENTIFIER).hidden[0].since
    put([{"type": "loadByInterval", "interval": "2013-01-02/P1D"}, *A_YEAR])
    _, _, err = rules("apply", "--yes", "--why", "a day more")
    assert "0 partition(s) are hidden now, 1 came back." in err
    assert shown(flights) == {"2013-01-02", RECENT, "odd"}
    assert {each.since for each in read_view(flights.store, IDENTIFIER).hidden} == {since}
    put([])
    rules("apply", "--yes", "--why", "keep all")
    assert (shown(flights), entries(flights)) == ({*LONG_AGO, RECENT, "odd"}, [])


def test_what_a_person_has_hidden_stays_hidden(put, rules, typed, flights) -> None:
    put(A_YEAR)
    rules("apply", "--yes", "--why", "every night")
    typed("outputs", "hide", *BOTH, "2013-01-01/P1D", "--yes", "--why", "wrong", "--by", "ana")
    put([])
    rules("apply", "--yes", "--why", "keep all")
    assert entries(flights) == [("2013-01-01/2013-01-02", "ana")]
    assert shown(flights) == {"2013-01-02", "2013-01-03", RECENT, "odd"}


def test_restore_says_which_rule_would_hide_it_again(put, rules, typed, flights) -> None:
    put(A_YEAR)
    rules("apply", "--yes", "--why", "every night")
    code, _, err = typed("outputs", "restore", *BOTH, "2013-01-01/P3D")
    assert code == 0
    assert "rule 2, dropForever would hide 3 of these intervals again, as soon as rules are applied." in err
    code, _, err = typed("outputs", "restore", *BOTH, "2013-01-01/P1D")
    assert code == 1
    assert "Change the rules, then run `rules apply`" in err


def test_a_begun_branch_that_rules_would_hide_is_named(put, rules, typed, flights) -> None:
    january = interval_of("interval", "2013-01/P1M")
    flights.documents.change_view(
        lambda view: changing.begun(view, {}, january, "ana", "late", flights.store.now())[0], "ana", "late"
    )
    assert "2013-01-01/2013-02-01 of branch 1, which has begun, is dropped" in put(A_YEAR)[1]
    assert "of branch 1" in rules("lint")[2]
    assert "of branch 1" not in put([{"type": "loadForever"}])[1]
    told = (
        "2013-01-01/2013-02-01 of branch 1 of source flights, which has begun, is dropped in datasets without rules of"
    )
    assert told in put(A_YEAR, about=())[1]
    assert told in typed("rules", "lint")[2]
    assert "of branch 1" not in put([{"type": "loadForever"}], about=())[1]


def test_lint_looks_at_what_is_set_and_at_a_file(put, rules, tmp_path) -> None:
    put(A_YEAR)
    assert rules("lint")[:2] == (0, [])
    file = tmp_path / "rules.json"
    file.write_text(json.dumps([{"type": "dropForever"}, *A_YEAR]))
    code, found, _ = rules("lint", str(file))
    assert code == 1
    assert [(each["rule"], each["error"]) for each in found] == [(2, True), (3, True)]


def test_all_datasets_of_a_source_are_one_version_of_the_view(put, typed, flights) -> None:
    put([{"type": "dropForever"}], about=())
    lease = flights.create_partitions(["more"]) and flights.acquire_partition("more")
    flights.complete(lease, [Block("rejected", "/r", "r", 1, 1)], interval="2013-02/P1M")
    code, out, _ = typed("rules", "apply", "flights", "--yes", "--why", "w", "-o", "json")
    assert code == 0
    assert {each["dataset"] for each in json.loads(out)} == {"clean", "rejected"}
    assert len(flights.documents.history("view")) == 1


def test_as_long_as_older_code_may_read_rules_hide_nothing(capsys, monkeypatch) -> None:
    store = open_store("memory://")
    store.setup()
    flights = SourceCoordinator(store, "flights", "owner")
    publish(flights, *LONG_AGO)
    typed = cli_on(store, capsys)
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(A_YEAR)))
    assert typed("rules", "set", *BOTH, "-", "--why", "w", "-y")[0] == 0
    code, _, err = typed("rules", "apply", *BOTH, "--yes", "--why", "w")
    assert code == 1
    assert "store enable branches` first" in err
    assert shown(flights) == set(LONG_AGO)
