"""Where the log of a task is: a link where Airflow's address is known, and nothing anywhere else."""

from __future__ import annotations

import json

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.leases.looking import Looking
from airflow_coordination.values.fence import Owner

RUN = "scheduled__2026-01-01T00:00:00+00:00"
LOG = (
    "http://ui.example/airflow/dags/my%20flights/runs/scheduled__2026-01-01T00%3A00%3A00%2B00%3A00/tasks/process"
    "/mapped/3?try_number=2"
)


@pytest.fixture
def base_url(monkeypatch):
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "http://ui.example/airflow/")


@pytest.fixture
def task(flights):
    """A mapped task instance that works on the source."""
    owner = Owner.of_task("worker-1", "my flights", RUN, "process", 3, 2).text
    return SourceCoordinator(flights.store, "flights", owner, max_failures=1)


def rows(said):
    return json.loads(said[1])


def explained(cli, key):
    return {row["field"]: row["value"] for row in rows(cli("explain", "flights", key, "-o", "json"))}


def test_who_holds_it_has_a_log(base_url, task, cli):
    task.acquire_partition("2013-01")
    assert explained(cli, "2013-01")["log"] == LOG
    assert [row["log"] for row in rows(cli("owners", "flights", "-o", "json"))] == [LOG]
    listed = {row["key"]: row["log"] for row in rows(cli("list", "flights", "-o", "json"))}
    assert (listed["2013-01"], listed["2013-02"]) == (LOG, None)


def test_who_failed_had_one(base_url, task, cli):
    task.fail(task.acquire_partition("2013-01"), "no memory")
    assert explained(cli, "2013-01")["log"] == LOG
    [parked] = rows(cli("list", "flights", "--status", "PARKED", "-o", "json"))
    assert parked["log"] == LOG
    assert LOG in [row["log"] for row in rows(cli("history", "flights", "2013-01", "-o", "json"))]


def test_one_that_nobody_ever_held_has_none(base_url, flights, cli):
    assert explained(cli, "2013-01")["log"] is None


def test_an_owner_that_is_no_task_has_none(base_url, flights, cli):
    flights.acquire_partition("2013-01")
    assert explained(cli, "2013-01")["log"] is None


def test_without_an_address_there_is_none(task, cli, monkeypatch):
    monkeypatch.delenv("AIRFLOW__API__BASE_URL", raising=False)
    task.acquire_partition("2013-01")
    assert explained(cli, "2013-01")["log"] is None
    assert [row["log"] for row in rows(cli("owners", "flights", "-o", "json"))] == [None]


def test_a_task_that_is_not_mapped_has_a_shorter_address(base_url, flights, cli):
    owner = Owner.of_task("worker-1", "d", "r", "t", -1, 1).text
    SourceCoordinator(flights.store, "flights", owner).acquire_partition("2013-01")
    assert explained(cli, "2013-01")["log"] == "http://ui.example/airflow/dags/d/runs/r/tasks/t?try_number=1"


def test_a_list_asks_once_for_all_that_failed(base_url, task, cli, monkeypatch):
    asked = []
    real = Looking.past_tenures
    monkeypatch.setattr(Looking, "past_tenures", lambda self, limit: asked.append(limit) or real(self, limit))
    for key in ("2013-01", "2013-02"):
        task.fail(task.acquire_partition(key), "no memory")
    rows(cli("list", "flights", "-o", "json"))
    assert asked == [1000]
