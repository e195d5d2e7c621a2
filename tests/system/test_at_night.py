"""What somebody asks at 3 a.m., answered by the commands of the page, and by clicks, of what real tasks have done."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import urllib.request
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect, sync_playwright

from airflow_coordination.leases import SourceCoordinator
from tests.browser.conftest import CHROMIUM, QUIET, log_in
from tests.docs.pages import ROOT
from tests.system.harness import wait_for

pytestmark = [pytest.mark.long, pytest.mark.slow, pytest.mark.spark, pytest.mark.postgres, pytest.mark.timeout(900)]
PAGE = ROOT / "docs" / "how-to" / "why-not-moving.md"
COMMANDS = dict(re.findall(r"^### (.+?)\n.*?^```bash\n(.+?)\n```", PAGE.read_text(), re.M | re.S))
BROKEN, LATER, HELD = "2026-01-01", "2026-01-02", "2026-01-03"
DAYS = 30
CAUSE = "PATH_NOT_FOUND"


@pytest.fixture(scope="module")
def orders(airflow, store):
    """The source as real tasks have left it: one day is held, one comes later, one is parked, and the others wait."""
    (airflow.home / "orders").mkdir()
    airflow.trigger("orders")
    orders = SourceCoordinator(store, "orders", "test")
    wanted = {BROKEN: "CLOSED", LATER: "CLOSED", HELD: "ASSIGNED"}

    def as_wanted():
        found = {each.key: each for each in orders.partitions(limit=DAYS)}
        states = {key: str(found[key].status) for key in wanted if key in found}
        return states == wanted and found[BROKEN].parked and "url" in found[HELD].owner_facts

    wait_for(as_wanted, 300, "one day is held, one is closed, one is parked")
    yield orders
    (airflow.home / "orders" / "go-on").touch()


@pytest.fixture(scope="module")
def answer(environ):
    """Run the command of a section; return the rows, or what is printed for people."""

    def run(section, rows=True):
        command = shlex.split(COMMANDS[section]) + ["-o", "json"] * rows
        done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout) if rows else done.stdout

    return run


@pytest.fixture
def clicking(airflow, orders):
    """A page on which the admin has just logged in, and what clicks there; it counts."""
    if not CHROMIUM:
        pytest.skip("needs Debian's chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        page = browser.new_page()
        page.set_default_timeout(60_000)
        page.goto(airflow.url)
        log_in(page, "admin")

        def click(*places):
            for role, name in (("button", "Browse"), ("menuitem", "Partitions")):
                page.get_by_role(role, name=name).first.click()
            for role, name in places:  # a span of the map has the key in its name, too
                page.get_by_role(role, name=name, exact=True).first.click()
            assert len(places) <= 2  # four in all
            return page

        yield click
        browser.close()


def shows(airflow, log, what):
    """Say whether a link leads to a page, and to the try of the task whose log contains ``what``."""
    with urllib.request.urlopen(log, timeout=30) as page:
        assert page.status == 200
    dag, run, task, index, number = re.fullmatch(
        rf"{airflow.url}/dags/(\w+)/runs/(.+)/tasks/(\w+)/mapped/(\d+)\?try_number=(\d+)", log
    ).groups()
    path = f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/{task}/logs/{number}?map_index={index}&full_content=true"
    return what in json.dumps(airflow.call("GET", path))


def fields(rows):
    return {row["field"]: row["value"] for row in rows}


def test_why_is_it_not_moving(airflow, orders, answer):
    said = fields(answer("Why does one not move?"))
    assert said["reason"] == "parked"
    assert "after 2 failures in a row" in said["sentence"]
    assert CAUSE in said["sentence"]
    assert f"reopen orders {BROKEN}" in said["command"]
    assert shows(airflow, said["log"], CAUSE)


def test_who_holds_it_and_where_are_the_log_and_the_spark_ui(airflow, orders, answer):
    [held] = answer("Who holds it, and where are the log and the Spark UI?")
    assert (held["key"], held["dag"], held["task"], held["map_index"]) == (HELD, "orders", "process", "2")
    assert held["seconds_left"] > 0
    assert shows(airflow, held["log"], HELD)
    with urllib.request.urlopen(held["spark_ui"], timeout=30) as page:
        assert page.status == 200
    with urllib.request.urlopen(f"{held['spark_ui']}/api/v1/applications", timeout=30) as applications:
        assert [each["id"] for each in json.load(applications)] == [held["spark"]]


def test_when_does_it_reopen(orders, answer):
    rows = answer("When does it reopen?")
    assert [row["key"] for row in rows] == [LATER]
    left = datetime.fromisoformat(rows[0]["next_at"].replace("Z", "+00:00")) - datetime.now(UTC)
    assert timedelta(hours=7) < left < timedelta(hours=8)
    assert rows[0]["next"] == "it opens again"


def test_which_failed_and_why(airflow, orders, answer):
    [failed] = answer("Which failed, and why?")
    assert failed["key"] == BROKEN
    assert failed["failures"] == 2
    assert CAUSE in failed["last_error"]
    assert f"{BROKEN}.csv" in failed["last_error"]
    assert "try_number=2" in failed["log"]
    assert shows(airflow, failed["log"], CAUSE)


@pytest.mark.parametrize(
    ("state", "key", "said"),
    [
        ("1 parked", BROKEN, f"Partition '{BROKEN}' is parked after 2 failures in a row"),
        ("1 held", HELD, "is held by task 'process', map index 2"),
        ("1 delayed", LATER, f"Partition '{LATER}' was closed 1 time and reopens at"),
    ],
)
def test_the_sentence_is_four_clicks_away(clicking, state, key, said):
    page = clicking(("link", state), ("link", key))
    expect(page.get_by_text(said).first).to_be_visible()


def test_the_log_and_the_cause_are_four_clicks_away(clicking):
    page = clicking(("link", "1 parked"), ("link", BROKEN))
    expect(page.get_by_text(CAUSE).first).to_be_visible()
    expect(page.get_by_role("link", name="orders › process [0]").first).to_be_visible()


def test_the_owners_log_and_spark_ui_are_shown_with_it(clicking):
    page = clicking(("link", "1 held"), ("link", HELD))
    expect(page.get_by_role("link", name="orders › process [2]").first).to_be_visible()
    link = page.get_by_role("link", name=re.compile("^(local|app)-")).first.get_attribute("href")
    with urllib.request.urlopen(link, timeout=30) as spark:
        assert spark.status == 200


def test_repaired_it_runs_again_and_how_fast_the_rest_moves_is_told(airflow, orders, answer, clicking):
    folder = airflow.home / "orders"
    (folder / f"{BROKEN}.csv").write_text("1,a\n2,b\n")
    assert f"{BROKEN}" in json.dumps(answer("Repair it, and let it run again"))
    assert not orders.partition(BROKEN).parked
    run = airflow.trigger("orders_rest")
    done = orders.counts
    wait_for(lambda: done().get("COMPLETED", 0) > 0, 120, "the rest moves")
    *_, last = answer("How many are left, how fast, when is it done?", rows=False).splitlines()
    found = re.search(r"(\d+) of 30 completed, .*; ([\d.]+) a minute, about (\d+:\d+:\d+) left", last)
    assert found, last
    assert int(found[1]) < DAYS
    assert float(found[2]) > 0
    pace = clicking(("link", "orders")).get_by_role("region", name="Pace")  # three clicks
    expect(pace).to_contain_text(re.compile(r"[\d.]+ a minute, about \d+:\d+:\d+ left"))
    expect(pace).to_contain_text("done in ")
    wait_for(lambda: airflow.is_over("orders_rest", run), 240, "the rest is done")
    assert str(orders.partition(BROKEN).status) == "COMPLETED"
    (folder / "go-on").touch()
    wait_for(lambda: str(orders.partition(HELD).status) == "COMPLETED", 120, "the one that was held goes on")
