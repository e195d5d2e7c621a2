"""``outputs hide``, ``restore``, ``timeline`` and ``history``: what people see before they do it, and what it does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.outputs.heads.showing import read_view, shown_pages
from airflow_coordination.planning.intervals import interval_of
from airflow_coordination.planning.view import changing
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.writes import Act, Action
from airflow_coordination.stores import open_store
from tests.unit.cli.on_a_store import cli_on, publish

DAYS = ("2013-01-01", "2013-01-02", "2013-01-04")
IDENTIFIER = "flights|PARTITION"
BOTH = ("flights", "--dataset", "clean")


@pytest.fixture(params=["memory", "sqlite"])
def flights(request, tmp_path) -> SourceCoordinator:
    store = open_store("memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'c.db'}")
    store.setup()
    flights = SourceCoordinator(store, "flights", "owner")
    flights.supplying.register()
    publish(flights, *DAYS)
    parts_of(store).enabling.enable_branches()
    return flights


@pytest.fixture
def run(flights, capsys):
    """Run a command of ``outputs``; return exit code, rows and standard error."""
    typed = cli_on(flights.store, capsys)

    def run(name: str, *options: str) -> tuple[int, list[dict[str, Any]], str]:
        about = ("flights",) if name == "history" else BOTH
        code, out, err = typed("outputs", name, *about, "-o", "json", *options)
        return code, json.loads(out or "[]"), err

    return run


def shown(flights: SourceCoordinator) -> list[str]:
    view = read_view(flights.store, IDENTIFIER)
    return [head.key for page in shown_pages(flights.store, IDENTIFIER, "clean", view) for head in page]


def test_without_yes_it_is_only_counted(run, flights) -> None:
    code, rows, err = run("hide", "2013-01-01/P2D")
    assert (code, [row["key"] for row in rows]) == (0, ["2013-01-01", "2013-01-02"])
    assert "Dry run: would hide 2 partition(s) with 20 row(s) of dataset clean of source flights." in err
    assert shown(flights) == list(DAYS)
    assert flights.documents.history("view") == []


def test_what_is_hidden_is_gone_for_readers_and_comes_back(run, flights) -> None:
    code, _, err = run("hide", "2013-01-01/P2D", "--yes", "--why", "wrong tail numbers", "--by", "ana")
    assert (code, shown(flights)) == (0, ["2013-01-04"])
    assert "Done: hid 2 partition(s) with 20 row(s)" in err
    [entry] = read_view(flights.store, IDENTIFIER).hidden
    assert (entry.by, entry.why) == ("ana", "wrong tail numbers")
    code, rows, err = run("restore", "2013-01-01/P2D")
    assert (code, len(rows), shown(flights)) == (0, 2, ["2013-01-04"])
    assert "would restore 2 partition(s) with 20 row(s)" in err
    code, _, err = run("restore", "2013-01-01/P2D", "--yes", "--why", "they were right")
    assert (code, shown(flights)) == (0, list(DAYS))
    code, rows, _ = run("history")
    assert [(row["version"], row["hidden"]) for row in rows] == [(2, 0), (1, 1)]
    assert rows[1]["author"] == "ana"
    assert rows[1]["comment"] == "hide 2013-01-01/2013-01-03 of clean: wrong tail numbers"


def test_what_sticks_out_and_what_has_no_interval_stays(run, flights) -> None:
    publish(flights, "odd", "week", intervals=[None, "2013-01-01/P7D"])
    _, rows, err = run("hide", "2013-01-01/P2D", "--yes", "--why", "wrong")
    assert len(rows) == 2
    assert "1 partition(s) overlap 2013-01-01/P2D without lying in it, and stay." in err
    assert "1 partition(s) have no interval, and stay" in err
    assert shown(flights) == ["2013-01-04", "odd", "week"]


def test_a_retracted_partition_does_not_count(run, flights) -> None:
    flights.people.retract("2013-01-01", "ana", "wrong")
    assert [row["key"] for row in run("hide", "2013-01-01/P2D")[1]] == ["2013-01-02"]


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("hide", ("2013-01",), "has no slash"),
        ("hide", ("2013-01/P1M", "--yes"), "Say why with --yes"),
        ("hide", ("2013-01/P1M", "--yes", "--why", " "), "Say why with --yes"),
        ("hide", ("2013-01/P1M", "--yes", "--why", "w", "--by", "runRules"), "Give your own name"),
        ("hide", ("2013-01/P1M", "--dataset", "~7~clean"), "Leave out the ~"),
        ("restore", ("2013-01/P1M",), "See `outputs timeline` for what is hidden"),
        ("timeline", ("--interval", "2013-01/2013-01"), "is empty"),
        ("timeline", ("--dataset", "~7~clean"), "Leave out the ~"),
    ],
)
def test_what_makes_no_sense_is_named_and_changes_nothing(run, flights, name, options, said) -> None:
    code, _, err = run(name, *options)
    assert code == 1
    assert said in err
    assert flights.documents.history("view") == []


def test_as_long_as_older_code_may_read_nothing_is_hidden(capsys) -> None:
    store = open_store("memory://")
    store.setup()
    flights = SourceCoordinator(store, "flights", "owner")
    publish(flights, *DAYS)
    code, _, err = cli_on(store, capsys)("outputs", "hide", *BOTH, "2013-01/P1M")
    assert code == 1
    assert "store enable branches` first" in err


def test_part_of_what_was_hidden_at_once_and_what_is_purged_stays(run, flights) -> None:
    run("hide", "2013-01/P1M", "--yes", "--why", "wrong")
    code, _, err = run("restore", "2013-01-01/P1D", "--yes", "--why", "right")
    assert code == 1
    assert "has only a part of what was hidden at once, 2013-01-01/2013-02-01" in err
    now = flights.store.now()
    flights.documents.change_view(lambda view: changing.purging(view, view.hidden, now), "ana", "too old")
    code, _, err = run("restore", "2013-01/P1M", "--yes", "--why", "right")
    assert code == 1
    assert "is being purged" in err
    assert shown(flights) == []


def test_a_hidden_new_version_does_not_uncover_the_old_one(run, flights) -> None:
    """Druid 8853: judged on the head record that shows, which is the branch's."""
    flights.documents.change_view(
        lambda view: changing.complete(
            changing.begun(view, {}, interval_of("i", "2013-01/P1M"), "ana", "late", flights.store.now())[0],
            1,
            1,
            None,
        ),
        "ana",
        "late",
    )
    again_in_branch(flights, "2013-01-01")
    _, rows, _ = run("timeline")
    assert [(row["interval"], row["state"], row["branch"]) for row in rows] == [
        ("2013-01-01/2013-01-02", "in a branch", 1),
        ("2013-01-01/2013-01-03", "there", None),
        ("2013-01-03/2013-01-04", "missing", None),
        ("2013-01-04/2013-01-05", "there", None),
    ]
    flights.documents.change_view(lambda view: changing.published(view, 1, flights.store.now()), "ana", "done")
    _, rows, _ = run("hide", "2013-01-01/P1D", "--yes", "--why", "wrong")
    assert [(row["key"], row["branch"]) for row in rows] == [("2013-01-01", 1)]
    assert shown(flights) == ["2013-01-02", "2013-01-04"]


def again_in_branch(flights: SourceCoordinator, key: str) -> None:
    """Reset a partition into branch 1 and let it publish there."""
    seen = flights.partition(key)
    assert seen is not None
    said = {"action": Action.RESET, "op": f"reset-{key}", "seen": seen, "by": "ana", "why": "late", "branch": 1}
    flights.store.act(Act(source=seen.source, key=key, **said))
    publish(flights, key, rows=11)


def test_the_timeline_says_what_hides_it_and_until_when(run, flights) -> None:
    run("hide", "2013-01-02/P1D", "--yes", "--why", "wrong", "--by", "ana")
    publish(flights, "odd", intervals=[None])
    code, rows, err = run("timeline", "--interval", "2013-01-01/P5D")
    assert code == 0
    assert [(row["interval"], row["state"], row["partitions"], row["rows"]) for row in rows] == [
        ("2013-01-01/2013-01-02", "there", 1, 10),
        ("2013-01-02/2013-01-03", "hidden", 1, 10),
        ("2013-01-03/2013-01-04", "missing", 0, 0),
        ("2013-01-04/2013-01-05", "there", 1, 10),
        ("2013-01-05/2013-01-06", "missing", 0, 0),
    ]
    assert (rows[1]["hidden_by"], rows[1]["why"]) == ("ana", "wrong")
    assert rows[1]["restorable_until"].startswith("a purge: by default not before 20")
    assert "1 partition(s) have no interval" in err
    assert "Readers find 40.0 % of 2013-01-01/2013-01-06." in err


def test_a_corrupt_version_is_shown_where_its_error_sends_people(run, flights) -> None:
    flights.documents.change("view", lambda _: "{", "ana", "by hand")
    code, rows, _ = run("history")
    assert (code, rows[0]["branches"]) == (0, "corrupt")
    assert run("timeline")[0] == 1
