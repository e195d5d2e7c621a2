"""Three in the morning: each of ten questions is answered by three clicks after the log-in, and by one command.

2,000 partitions; 50,002 in `make test-all`. The questions are those of an operator who was tried with such a night.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlparse

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from airflow_coordination.cli.standalone import main
from airflow_coordination.leases import SourceCoordinator
from tests.browser.conftest import CHROMIUM, keep, remembered, row_of
from tests.browser.night import ERRORS, TOTAL, a_night, alone, take_away

pytestmark = [pytest.mark.system, pytest.mark.skipif(not CHROMIUM, reason="needs Debian's chromium")]
NIGHT = "{}/plugin/partitions?store=night&source=events%7CPARTITION"
Asks = Callable[..., Any]


@pytest.fixture(scope="module", autouse=True)
def night(environ: dict[str, str], address: str, large_url: str, night_url: str) -> Iterator[SourceCoordinator]:
    """The night, which the board shows alone: whatever other tests have made, and in whichever order they run."""
    default = json.loads(environ["AIRFLOW_CONN_COORDINATION_DEFAULT"])["host"]
    with alone(urlparse(default).path, large_url):
        yield a_night(night_url)
        take_away(night_url)


class Clicks:
    """Counts the clicks of somebody who has just logged in."""

    def __init__(self, page: Page) -> None:
        self.page, self.number = page, 0

    def on(self, place: Locator) -> None:
        place.click()
        self.number += 1

    def open_board(self) -> None:
        self.on(self.page.get_by_role("button", name="Browse"))
        self.on(self.page.get_by_role("menuitem", name="Partitions"))

    def need(self, said: str) -> Locator:
        return self.page.get_by_role("listitem").filter(has_text=said)


@pytest.fixture(scope="module")
def page(browser: Browser, address: str) -> Iterator[Page]:
    with remembered(browser, address, "editor") as page:
        yield page


@pytest.fixture
def clicks(page: Page, address: str) -> Iterator[Clicks]:
    """Whoever asks stands where the log-in leads, and has asked by the third click."""
    page.goto(address)
    counting = Clicks(page)
    counting.open_board()
    yield counting
    assert counting.number <= 3


@pytest.fixture
def ask(night_url: str, capsys: pytest.CaptureFixture[str]) -> Asks:
    """Type one command; return what it prints."""

    def ask(*argv: str, rows: bool = True) -> Any:
        assert main([*argv, *(("-o", "json") if rows else ()), "--store", night_url]) == 0
        said = capsys.readouterr()
        return json.loads(said.out) if rows else said.out + said.err

    return ask


def by(rows: list[dict[str, Any]], name: str) -> dict[str, dict[str, Any]]:
    return {row[name]: row for row in rows}


def test_1_what_is_wrong(clicks: Clicks, ask: Asks) -> None:
    needs = clicks.page.get_by_role("region", name="4 things need a person")
    expect(needs.get_by_role("listitem")).to_have_count(4)
    texts = needs.get_by_role("listitem").all_inner_texts()
    said = ("200 parked in events", "1 parked in reports", "worker-7 holds 1 and gives no sign", "invoices is paused")
    for one in said:
        assert any(one in text for text in texts), texts
    place = needs.bounding_box()
    assert place
    assert place["y"] + place["height"] < 800, "it is on the first screen"
    expect(row_of(clicks.page, "events").get_by_role("link", name="200 parked", exact=True)).to_be_visible()
    keep(clicks.page, "night-overview")
    sources = by(ask("sources"), "source")
    assert sum(row["partitions"] for row in sources.values()) == TOTAL
    told = [sources[name][word] for name, word in (("events", "parked"), ("reports", "blocked"), ("events", "expired"))]
    assert told == [200, 1, 8]
    assert sources["invoices"]["paused"] is True


def test_2_which_errors_and_how_many(clicks: Clicks, ask: Asks) -> None:
    expect(clicks.need("200 parked in events")).to_contain_text(
        " · ".join(f"{number} {error}" for error, number in ERRORS.items())
    )
    assert [row["partitions"] for row in ask("errors", "events")] == [*ERRORS.values()]


def test_3_since_when(clicks: Clicks, ask: Asks) -> None:
    expect(clicks.need("200 parked in events")).to_contain_text("200 parked in events for 2 h")
    assert all(row["since"] for row in ask("errors", "events"))


def test_4_who_paused_it_and_why(clicks: Clicks, ask: Asks) -> None:
    expect(clicks.need("invoices is paused for 2 h")).to_contain_text("by carla: “the rates are wrong” · 3 wait")
    told = {row["field"]: row["value"] for row in ask("source", "invoices")}
    assert "by 'carla', who said 'the rates are wrong'" in told["paused_or_resumed_last"]


def test_5_who_is_stuck(clicks: Clicks, ask: Asks) -> None:
    expect(clicks.need("worker-7 holds 1 and gives no sign in events for")).to_contain_text("nobody else gets it")
    silent = [row for row in ask("owners", "events") if row["silent"]]
    assert [(row["key"], row["host"], bool(row["sign_at"])) for row in silent] == [("stuck", "worker-7", True)]


def test_6_what_one_does_about_it(clicks: Clicks, ask: Asks) -> None:
    clicks.on(clicks.need("worker-7 holds 1").get_by_role("link", name="See owner"))
    expect(clicks.page.get_by_text("which gives no sign since")).to_be_visible()
    expect(clicks.page.get_by_text("or at once when a person releases it")).to_be_visible()
    expect(clicks.page.get_by_role("button", name="Release", exact=True)).to_be_visible()
    keep(clicks.page, "night-stuck")
    told = {row["field"]: row["value"] for row in ask("explain", "events", "stuck")}
    assert "release events stuck" in told["command"]


def test_7_why_the_report_is_missing(clicks: Clicks, ask: Asks) -> None:
    clicks.on(row_of(clicks.page, "reports").get_by_role("link", name="1 blocked", exact=True))
    row = clicks.page.locator("tbody tr").filter(has_text="report")
    expect(row).to_contain_text("its parent must complete")
    expect(row.get_by_role("link", name="load")).to_be_visible()
    expect(clicks.page.get_by_role("region", name="What is wrong")).to_contain_text("1 is parked: a person reopens it.")
    told = {row["field"]: row["value"] for row in ask("explain", "reports", "report")}
    assert "'load' is parked" in told["sentence"]
    assert "reopen reports load" in told["command"]


def test_8_what_happens_if_one_reopens_150(clicks: Clicks, ask: Asks, night: SourceCoordinator) -> None:
    clicks.on(
        clicks.need("200 parked in events").get_by_role("link", name="Try to reopen 150 OutOfMemoryError in stage 3")
    )
    expect(clicks.page.get_by_text("Dry run: would reopen 150 of 150. Nothing was changed.")).to_be_visible()
    keep(clicks.page, "night-dry-run")
    alike = ask("errors", "events")[0]["alike"]
    tried = ("--status", "parked", "--error-alike", alike, "--why", "more memory", "--dry-run")
    assert "would reopen 150 of 150" in ask("reopen", "events", *tried, rows=False)
    assert night.looking.outlook().parked == 200


def test_9_when_it_is_done_and_what_it_costs(clicks: Clicks, ask: Asks) -> None:
    clicks.on(row_of(clicks.page, "events").get_by_role("link", name="events", exact=True))
    pace = clicks.page.get_by_role("region", name="Pace")
    expect(pace).to_contain_text(re.compile(r"a minute, about .* left"))
    expect(pace).to_contain_text("30 of them completed, in 30 min of leases, with 30,000 rows")
    keep(clicks.page, "night-source")
    told = {row["field"]: row["value"] for row in ask("source", "events")}
    assert "a minute, about" in told["pace"]
    assert "30,000 rows and 30,000,000 bytes" in told["spent"]


def test_10_who_did_what_tonight(clicks: Clicks, ask: Asks) -> None:
    done = clicks.page.get_by_role("region", name=re.compile("^What people did in "))
    for said in (
        r"ana.*reset 3 partitions, such as.*done-00.*of.*events.*yesterday's rates",
        r"carla.*pause the source.*of.*invoices",
    ):
        expect(done.get_by_role("listitem").filter(has_text=re.compile(said, re.DOTALL))).to_have_count(1)
    clicks.on(done.get_by_role("link", name="All of it"))
    pause = clicks.page.get_by_role("row").filter(has_text="the rates are wrong")
    expect(pause).to_have_count(1)
    expect(clicks.page.get_by_role("columnheader", name="What became of it")).to_be_visible()
    expect(pause.get_by_role("cell").last).to_have_text("still paused")
    reset = clicks.page.get_by_role("row").filter(has_text="yesterday's rates")
    expect(reset.get_by_role("cell").last).to_have_text("3 not taken yet")
    keep(clicks.page, "night-audit")
    told = [(row["by"], row["action"], row["partitions"], row["source"]) for row in ask("audit")]
    assert told == [("carla", "pause", None, "invoices"), ("ana", "reset", 3, "events")]


PLACES = {
    "overview": ("{}/plugin/partitions", "4 things need a person"),
    "source": (NIGHT, "Who works"),
    "dry run": (NIGHT + "&status=parked&act=reopen", "Nothing was changed."),
    "stuck": (NIGHT + "&key=stuck", "which gives no sign since"),
    "audit": ("{}/plugin/partitions?store=night&view=audit", "the rates are wrong"),
}


@pytest.mark.parametrize(
    ("colours", "places"),
    [
        ("light", ["overview", "dry run"]),
        ("dark", ["overview", "audit"]),
        pytest.param("light", [*PLACES], marks=pytest.mark.long),
        pytest.param("dark", [*PLACES], marks=pytest.mark.long),
    ],
)
def test_nothing_keeps_people_from_using_it(page: Page, address: str, colours: str, places: list[str]) -> None:
    """Whatever axe finds above minor, in what is ours."""
    page.goto(address)
    page.evaluate("mode => localStorage.setItem('theme', mode)", colours)
    for name in places:
        place, seen = PLACES[name]
        page.goto(place.format(address))
        expect(page.get_by_text(seen).first).to_be_visible()
        keep(page, f"night-{name.replace(' ', '-')}-{colours}")
        found = Axe().run(page, context="#partitions-board", options={"resultTypes": ["violations"]})
        above = [one for one in found.response["violations"] if one["impact"] != "minor"]
        assert [(name, one["id"], [node["html"] for node in one["nodes"]][:2]) for one in above] == []


def test_by_keys_alone_one_gets_to_the_stuck_partition(page: Page, address: str) -> None:
    page.goto(f"{address}/plugin/partitions")
    link = page.get_by_role("listitem").filter(has_text="worker-7").get_by_role("link", name="See owner")
    expect(link).to_be_visible()
    page.locator("#partitions-board").evaluate("it => { it.tabIndex = -1; it.focus(); }")
    for _ in range(60):
        page.keyboard.press("Tab")
        if link.evaluate("it => it === document.activeElement"):
            break
    page.keyboard.press("Enter")
    expect(page.get_by_text("which gives no sign since")).to_be_visible()
