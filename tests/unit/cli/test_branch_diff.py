"""``branches diff`` on the command line, from head records alone."""

from __future__ import annotations

import json

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.outputs.enabling import enabling_of
from airflow_coordination.stores import open_store
from tests.branches import begun, hidden, rolled_back, shown
from tests.unit.cli.on_a_store import cli_on, publish

DAYS = ("2013-01-01", "2013-01-02", "2013-01-03", "2013-01-04")


@pytest.fixture
def flights() -> SourceCoordinator:
    store = open_store("memory://")
    enabling_of(store).enable_branches()
    flights = SourceCoordinator(store, "flights", "me")
    publish(flights, *DAYS)
    return flights


@pytest.fixture
def diff(flights, capsys):
    """Run ``branches diff`` of a branch; return exit code, rows and standard error."""

    def diff(number: int, *options: str) -> tuple[int, list[dict[str, object]], str]:
        typed = cli_on(flights.store, capsys)
        code, out, err = typed("branches", "diff", "flights", str(number), "-o", "json", *options)
        return code, json.loads(out or "[]"), err

    return diff


def test_it_names_what_changes_and_what_does_not(flights, diff) -> None:
    hidden(flights, "clean", "2013-01-02/P1D")
    number = begun(flights, DAYS)
    publish(flights, *DAYS[:2], rows=12)
    lease = flights.acquire_partition(DAYS[2])
    flights.complete(lease)
    code, rows, err = diff(number, "--no-contents")
    assert code == 0
    assert [(row["key"], row["change"], row["rows_before"], row["rows_after"]) for row in rows] == [
        (DAYS[0], "changed", 10, 12),
        (DAYS[1], "hidden", 0, 0),
        (DAYS[2], "missing", 10, 10),
        (DAYS[3], "unfinished", 10, 10),
    ]
    assert rows[0] == {
        "dataset": "clean",
        "key": DAYS[0],
        "change": "changed",
        "contents": None,
        "rows_before": 10,
        "rows_after": 12,
        "bytes_before": 100,
        "bytes_after": 100,
        "status": "COMPLETED",
    }
    assert "Branch 1 is begun. Published, it changes 1 of 4: 30 → 32 rows, 300 → 300 bytes." in err
    assert "Rows were not compared (--no-contents)." in err
    assert f"1 have completed in it and published nothing in the place of what they had, which stays: '{DAYS[2]}" in err
    assert f"1 have rows of an interval that is hidden, and show when it is restored: '{DAYS[1]} (clean)'." in err
    assert f"1 partition(s) have completed in it and published nothing at all: '{DAYS[2]}'." in err
    assert f"1 partition(s) have not completed in it yet: '{DAYS[3]}'." in err


def test_of_one_that_shows_it_says_what_it_has_changed(flights, diff) -> None:
    number = begun(flights, DAYS[:1])
    publish(flights, DAYS[0], rows=12)
    shown(flights, number)
    code, [row], err = diff(number, "--no-contents", "--dataset", "clean")
    assert (code, row["rows_before"], row["rows_after"]) == (0, 10, 12)
    assert "Branch 1 is published. It changes 1 of 1: 10 → 12 rows" in err
    assert diff(number, "--no-contents", "--dataset", "other")[1] == []


def test_nothing_is_compared_where_nothing_changes(flights, diff) -> None:
    """No Spark is started for it."""
    number = begun(flights, DAYS)
    code, rows, err = diff(number)
    assert (code, {row["change"] for row in rows}) == (0, {"unfinished"})
    assert "Published, it changes 0 of 4: 40 → 40 rows" in err


def test_one_that_is_not_there_is_an_error(flights, diff) -> None:
    number = begun(flights, DAYS)
    rolled_back(flights, number)
    code, rows, err = diff(number)
    assert (code, rows) == (1, [])
    assert "branch=1: was rolled back" in err
