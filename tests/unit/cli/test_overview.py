"""Who holds what, and what there is in the store."""

import json
from datetime import datetime

import pytest

from airflow_coordination.leases import Owner, SourceCoordinator

TASK = Owner.of_task("node/7", "flights", "manual__1", "process", 3, 2).text


@pytest.fixture
def task(flights):
    """The same source in the hands of an Airflow task."""
    return SourceCoordinator(flights.store, "flights", TASK)


def rows(cli, *argv):
    code, out, err = cli(*argv, "-o", "json")
    assert code == 0
    return json.loads(out), err


def test_who_holds_what(flights, task, cli):
    task.describe_owner(application="app-1", url="http://node:4040")
    lease = task.acquire_partition("2013-02")
    flights.acquire_partition("2013-01")
    (mine, theirs), err = rows(cli, "owners", "flights")
    assert err == ""
    parts = ("source", "prefix", "key", "host", "dag", "run", "task", "map_index", "try", "owner")
    assert [mine[part] for part in parts] == ["flights", None, "2013-01", *[None] * 6, "test"]
    found = ["flights", None, "2013-02", "node/7", "flights", "manual__1", "process", "3", "2", None]
    assert [theirs[part] for part in parts] == found
    assert datetime.fromisoformat(theirs["expires_at"]) == lease.expires_at.replace(microsecond=0)
    assert 590 <= theirs["seconds_left"] <= 600
    assert theirs["since"] == theirs["wrote_at"] is not None
    assert [row[name] for row in (mine, theirs) for name in ("spark", "spark_ui")] == [
        None,
        None,
        "app-1",
        "http://node:4040",
    ]


def test_b7_a_long_key_is_not_cut(flights, cli, monkeypatch):
    """A table is narrow, and a key in it is what one types next."""
    key = "".join(f"{number:04}" for number in range(60))
    flights.create_partitions([key])
    flights.acquire_partition(key)
    out = cli("owners", "flights")[1]
    assert "…" not in out
    rows = [line.strip("|").split("|") for line in out.splitlines() if line.startswith("|")]
    column = [cell.strip() for cell in rows[0]].index("key")
    assert key in "".join(row[column].strip() for row in rows[1:])


def test_nobody(flights, cli):
    code, out, err = cli("owners", "flights")
    assert (code, out, err) == (0, "", "Nothing found.\n")


def test_a_page_says_how_to_go_on(flights, task, cli):
    for key in ("2013-01", "2013-02"):
        task.acquire_partition(key)
    found, err = rows(cli, "owners", "flights", "--limit", "1")
    assert [row["key"] for row in found] == ["2013-01"]
    assert err == "There are more. These are the first 1; go on with --after=2013-01\n"
    found, err = rows(cli, "owners", "flights", "--after=2013-01", "--limit", "1")
    assert ([row["key"] for row in found], err) == (["2013-02"], "")


def test_of_all_sources_at_most_so_many_altogether(flights, task, cli):
    other = SourceCoordinator(flights.store, "sales", TASK, "eu")
    other.create_partitions(["a", "b"])
    for coordinator, key in ((task, "2013-01"), (other, "a"), (other, "b")):
        coordinator.acquire_partition(key)
    found, err = rows(cli, "owners")
    assert [(row["prefix"], row["source"], row["key"]) for row in found] == [
        ("eu", "sales", "a"),
        ("eu", "sales", "b"),
        (None, "flights", "2013-01"),
    ]
    assert err == ""
    found, err = rows(cli, "owners", "--limit", "2")
    assert len(found) == 2
    assert err == "There may be more. These are the first 2; name a source, or give a higher --limit\n"


def test_who_runs_the_supplier(flights, task, cli):
    said = []

    def supplier(state):
        said.append(cli("owners", "flights"))
        return []

    task.run_supplier(supplier)
    last = said[0][2].splitlines()[-1]
    who = "task 'process', map index 3, try 2, of run 'manual__1' of DAG 'flights' on host 'node/7'"
    assert last.startswith(f"The supplier of source flights is in the hands of {who} until 20")
    assert "supplier" not in cli("owners", "flights")[2]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--after", "k"), "--after='k': is a key of one source. Name the source first: owners SOURCE"),
        (("--limit", "0"), "limit=0: is not a number of partitions"),
        (("fligths",), "Did you mean 'flights'?"),
    ],
)
def test_what_cannot_be_is_refused(flights, cli, argv, message):
    code, _, err = cli("owners", *argv)
    assert code == 1
    assert message in err


def test_all_sources_in_numbers(flights, cli):
    flights.supplying.register_dag("flights_dag")
    flights.complete(flights.acquire_partition("2013-01"))
    SourceCoordinator(flights.store, "sales", TASK, "eu").create_partitions(["a"])
    (sales, found), _ = rows(cli, "sources")
    assert (sales["source"], sales["prefix"], sales["dags"], sales["partitions"]) == ("sales", "eu", None, 1)
    assert found["oldest_claimable_seconds"] >= 0
    assert {name: found[name] for name in list(found)[:11]} == {
        "source": "flights",
        "prefix": None,
        "dags": "flights_dag",
        "partitions": 3,
        "unassigned": 2,
        "assigned": 0,
        "completed": 1,
        "blocked": 0,
        "closed": 0,
        "parked": 0,
        "claimable": 2,
    }
    assert [row["source"] for row in rows(cli, "sources", "--partition-prefix", "eu")[0]] == ["sales"]


def test_a_store_without_sources(cli):
    cli("store", "migrate")
    code, out, err = cli("sources")
    assert (code, out, err) == (0, "", "Nothing found.\n")


GRACE = "AIRFLOW__COORDINATION__REASSIGN_GRACE"


def test_who_is_late_by_the_grace_that_is_configured(flights, cli, monkeypatch):
    """The lease lasts ten minutes: with a longer grace it should have been renewed before."""
    flights.acquire_partition("2013-01")
    [held], _ = rows(cli, "owners", "flights")
    [known], _ = rows(cli, "status", "flights")
    assert (held["late"], known["in_grace"]) == (False, 0)
    monkeypatch.setenv(GRACE, "700")
    [held], _ = rows(cli, "owners", "flights")
    [known], _ = rows(cli, "status", "flights")
    assert (held["late"], known["in_grace"]) == (True, 1)
    fields = {row["field"]: row["value"] for row in rows(cli, "source", "flights")[0]}
    assert fields["in_grace"].startswith("1 partition in grace, next at ")
    listed = [row["next"] for row in rows(cli, "list", "flights", "--status", "ASSIGNED")[0]]
    assert listed == ["its owner is late: it is in grace, and then others get it"]
    shown = {row["field"]: row["value"] for row in rows(cli, "show", "flights", "2013-01")[0]}
    assert shown["next"] == listed[0]
    why = {row["field"]: row["value"] for row in rows(cli, "explain", "flights", "2013-01")[0]}
    assert why["reason"] == "late"


def test_a_grace_that_is_none_is_refused(flights, cli, monkeypatch):
    monkeypatch.setenv(GRACE, "soon")
    code, _, err = cli("status", "flights")
    assert code == 1
    assert f"{GRACE}='soon': is no number of seconds. Give seconds, for example 300" in err
