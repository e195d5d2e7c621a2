"""Duties on the board: what each did, what failed, who configured what; changed and let go on by hand; in a browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from airflow_coordination.duties.configuring import read_config, set_config
from airflow_coordination.duties.groups.round import Ran, Round
from airflow_coordination.duties.groups.running import Group, GroupRunner
from airflow_coordination.duties.groups.told import NEVER_RUN
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.outputs.copies.locations import set_locations
from tests.browser.conftest import CHROMIUM, keep, remembered, row_of

pytestmark = [pytest.mark.system, pytest.mark.skipif(not CHROMIUM, reason="needs Debian's chromium")]
HOSTILE = "<script>globalThis.hacked = 1</script>"
HERE = "{}/plugin/partitions?view=duties&store=coordination_default"
OWNER = "scheduler-2/upkeep/scheduled__2026-11-25T03:00:00+00:00/duties/-1/1"
INDEXING, MANAGEMENT = "IndexingServiceDuties", "HistoricalManagementDuties"
PHONE = {"width": 390, "height": 844}


class Said:
    """A duty that says something, or fails."""

    def __init__(self, name: str, **ran: Any) -> None:
        self.name, self.ran = name, ran

    def run(self, round: Round) -> Ran:
        if not self.ran:
            raise OSError(f"S3 answers SlowDown {HOSTILE}")
        return Ran(**self.ran)


GROUPS = [
    Group(
        name=MANAGEMENT,
        period=timedelta(minutes=5),
        duties=[
            Said("runRules", said="hid 3 intervals of 2 datasets", counts={"segment/dropped/count": 3}),
            Said("balanceSegments", said="nothing to move", idle=True),
        ],
        arguments={},
    ),
    Group(
        name=INDEXING,
        period=timedelta(minutes=30),
        duties=[Said("killUnused", said="nothing to delete", idle=True), Said("killStalePending")],
        arguments={},
    ),
]


@pytest.fixture(scope="module")
def runner(source: SourceCoordinator, tmp_path_factory: pytest.TempPathFactory) -> GroupRunner:
    """Two groups with two runs each; in one a duty has failed both times. The configuration has two versions."""
    runner = GroupRunner(source.store, OWNER, start_delay=timedelta(0))
    for group in GROUPS:
        runner.run(group)
        runner.run_now(group.name, "ana", "once more")
        runner.run(group)
    set_config(runner.duties, {"maxSegmentsToMove": 10}, "ana", f"hot2 is new {HOSTILE}")
    set_config(runner.duties, {"maxSegmentsToMove": 20, "locationGrace": "PT30M"}, "bob", "it is slow")
    root = tmp_path_factory.mktemp("hot")
    site = {"name": "hot1", "root": root.as_uri(), "tier": "hot", "capacity": 10**12}
    set_locations(runner.duties, json.dumps([site]), "ana", "w")
    return runner


@pytest.fixture(scope="module")
def page(browser: Browser, address: str, runner: GroupRunner) -> Iterator[Page]:
    """A page of somebody's who may edit all DAGs."""
    with remembered(browser, address, "editor") as page:
        yield page


def group_of(page: Page, name: str) -> Locator:
    return page.get_by_role("article", name=name)


def test_what_failed_stands_first_with_what_happens_next(page: Page, address: str) -> None:
    page.goto(f"{address}/plugin/partitions")
    page.get_by_role("link", name="DUTIES", exact=True).click()
    here = page.get_by_role("region", name="Duties in coordination_default")
    note = here.get_by_role("note")
    expect(note).to_contain_text(
        f"killStalePending of {INDEXING} failed 2 times in a row: OSError: S3 answers SlowDown"
    )
    expect(note).to_contain_text("Next by itself: It is tried again in the next run of its group")
    articles = here.get_by_role("article")
    expect(articles.nth(0)).to_have_accessible_name(INDEXING)
    expect(articles.nth(1)).to_have_accessible_name(MANAGEMENT)
    assert page.evaluate("globalThis.hacked") is None


def test_each_duty_says_what_it_did_and_each_group_who_led_it(page: Page, address: str) -> None:
    page.goto(HERE.format(address))
    failing, well = group_of(page, INDEXING), group_of(page, MANAGEMENT)
    expect(failing.get_by_role("img", name="2 runs, 2 of them with a failed duty")).to_be_visible()
    expect(well.get_by_role("img", name="2 runs, 0 of them with a failed duty")).to_be_visible()
    expect(failing.locator("tbody tr").nth(1)).to_contain_text("failed 2 × in a row")
    expect(failing.locator("tbody tr").nth(0)).to_contain_text("nothing to do")
    rules = well.locator("tbody tr").nth(0)
    expect(rules).to_contain_text("hid 3 intervals of 2 datasets")
    expect(rules).to_contain_text("segment/dropped/count 3")
    expect(well).to_contain_text("every 5 min")
    expect(well).to_contain_text("term 2")
    expect(well.get_by_role("link", name="upkeep › duties")).to_be_visible()
    keep(page, "board-duties")
    well.get_by_role("link", name="its runs").click()
    expect(page.get_by_text("What happened")).to_be_visible()


def test_the_configuration_says_what_has_set_each_key_and_its_history(page: Page, address: str) -> None:
    page.goto(HERE.format(address))
    config = page.get_by_role("region", name="Configuration", exact=True)
    expect(config.locator("tr", has_text="maxSegmentsToMove")).to_contain_text("20version 2")
    expect(config.locator("tr", has_text="massLossHold")).to_contain_text('"PT2M"default')
    newest, first = (page.get_by_role("article", name=f"Version {number}") for number in (2, 1))
    expect(newest).to_contain_text("maxSegmentsToMove 10 → 20")
    expect(newest).to_contain_text("bob")
    expect(first).to_contain_text(f"“hot2 is new {HOSTILE}”")
    expect(newest.get_by_role("button")).to_have_count(0)
    expect(page.get_by_role("region", name="Locations").first).to_contain_text("hot1")


def test_a_key_is_changed_by_keyboard_for_a_reason_and_what_was_set_meanwhile_is_told(
    page: Page, address: str, runner: GroupRunner
) -> None:
    page.goto(HERE.format(address))
    page.get_by_role("button", name="Change…").focus()
    page.keyboard.press("Enter")
    form = page.get_by_role("region", name="Change the configuration")
    form.get_by_role("combobox").select_option("massLossPercent")
    form.get_by_role("textbox", name="massLossPercent").fill("60")
    form.get_by_role("textbox", name="Why").fill("it paused too often")
    expect(form).to_contain_text("50 → 60")
    page.keyboard.press("Enter")
    expect(form.get_by_role("status")).to_contain_text("Version 3: massLossPercent from 50 to 60.")
    expect(page.get_by_role("article", name="Version 3")).to_contain_text("it paused too often")
    now = read_config(runner.duties)
    assert (now.version, now.author, now.config.mass_loss_percent) == (3, "editor", 60)
    set_config(runner.duties, {"balanceThreshold": 4}, "carla", "was too fine")
    form.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Change…").click()
    form.get_by_role("combobox").select_option("balanceThreshold")
    form.get_by_role("textbox", name="balanceThreshold").fill("5")
    form.get_by_role("textbox", name="Why").fill("w")
    set_config(runner.duties, {"balanceThreshold": 6}, "carla", "still too fine")
    form.get_by_role("button", name="Set", exact=True).click()
    expect(form.get_by_role("alert")).to_contain_text("by carla")
    assert read_config(runner.duties).config.balance_threshold == 6


@pytest.mark.long
def test_a_version_is_come_back_to(page: Page, address: str, runner: GroupRunner) -> None:
    page.goto(HERE.format(address))
    page.get_by_role("article", name="Version 1").get_by_role("button", name="Back to this version…").click()
    form = page.get_by_role("region", name="Change the configuration")
    expect(form.get_by_role("textbox", name="maxSegmentsToMove")).to_have_value("10")
    expect(form.get_by_role("textbox", name="locationGrace")).to_have_value("null")
    form.get_by_role("textbox", name="Why").fill("as it was")
    form.get_by_role("button", name="Set", exact=True).click()
    expect(form.get_by_role("status")).to_contain_text("maxSegmentsToMove from 20 to 10")
    found = read_config(runner.duties).config
    assert (found.max_segments_to_move, found.location_grace, found.balance_threshold) == (10, timedelta(minutes=15), 3)


def test_a_group_is_let_go_on_for_a_reason(page: Page, address: str, runner: GroupRunner) -> None:
    page.goto(HERE.format(address))
    group = group_of(page, MANAGEMENT)
    group.get_by_role("button", name="Run now…").click()
    form = group.get_by_role("region", name=f"Run {MANAGEMENT} now")
    form.get_by_role("textbox", name="Why").fill("a new rule")
    page.keyboard.press("Enter")
    expect(form.get_by_role("status")).to_have_text(f"{MANAGEMENT} is run by whoever runs groups next.")
    assert runner.run(GROUPS[0]).ran
    audit = runner.store.audit("~duties|PARTITION", f"group|{MANAGEMENT}")
    assert [each["by"] for each in audit if each["why"] == "a new rule"] == ["editor"]


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("size", [{"width": 1280, "height": 800}, PHONE], ids=["wide", "phone"])
@pytest.mark.long
def test_nothing_keeps_people_from_using_it(page: Page, address: str, colours: str, size: dict[str, int]) -> None:
    """What axe calls serious or critical, in what is ours; and nothing is wider than a phone."""
    page.set_viewport_size(size)  # type: ignore[arg-type]
    page.evaluate("theme => localStorage.setItem('theme', theme)", colours)
    page.goto(HERE.format(address))
    expect(group_of(page, INDEXING).locator("tbody tr").first).to_be_visible()
    expect(page.get_by_role("region", name="History").get_by_role("article").first).to_be_visible()
    page.get_by_role("button", name="Change…").click()
    group_of(page, INDEXING).get_by_role("button", name="Run now…").click()
    keep(page, f"board-duties-{colours}-{size['width']}")
    wider = "board => board.scrollWidth > board.clientWidth"
    assert not page.locator("#partitions-board").evaluate(wider)
    found = Axe().run(page, context="#partitions-board", options={"resultTypes": ["violations"]})
    serious = [each for each in found.response["violations"] if each["impact"] in ("serious", "critical")]
    assert [f"{each['id']}: {[node['html'] for node in each['nodes']][:3]}" for each in serious] == []


def test_who_may_not_edit_all_dags_is_shown_none_of_it(browser: Browser, address: str, runner: GroupRunner) -> None:
    with remembered(browser, address, "viewer") as viewer:
        viewer.goto(f"{address}/plugin/partitions")
        expect(viewer.get_by_role("link", name="DATASETS").first).to_be_visible()
        expect(row_of(viewer, "flights")).to_be_visible()
        expect(viewer.get_by_role("link", name="DUTIES", exact=True)).to_have_count(0)
        viewer.goto(HERE.format(address))
        expect(viewer.get_by_text("is shown to who may edit all DAGs")).to_be_visible()
        assert "IndexingServiceDuties" not in viewer.content()


@pytest.mark.long
def test_where_no_group_was_ever_run_it_says_what_starts_them(page: Page, address: str, large: object) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"{address}/plugin/partitions?view=duties&store=large")
    here = page.get_by_role("region", name="Duties in large")
    expect(here.get_by_text(NEVER_RUN)).to_be_visible()
    expect(here.get_by_text("airflow coordination duties run --conn-id large")).to_be_visible()
    expect(here.get_by_text("duty_dags()")).to_be_visible()
