"""The page of what people did: lanes, days, what it is narrowed by, light and dark, and names that are no names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from uuid import uuid4

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from airflow_coordination.board.deeds import LINES
from airflow_coordination.duties.configuring import set_config
from airflow_coordination.duties.retention.ruled import set_rules
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.protocol.writes import Action
from airflow_coordination.stores import open_store
from airflow_coordination.testing.clock import FakeClock
from tests.browser.conftest import CHROMIUM, keep, remembered

pytestmark = [pytest.mark.system, pytest.mark.skipif(not CHROMIUM, reason="needs Debian's chromium")]
HERE = "{}/plugin/partitions?store=coordination_default&source=orchard%7CPARTITION&view=audit"
HOSTILE = "<img src=x onerror=globalThis.hacked=1>"
ODD_KEY = "<script>globalThis.hacked=1</script>\u202e"


@pytest.fixture(scope="module")
def page(browser: Browser, address: str, environ: dict[str, str], source: SourceCoordinator) -> Iterator[Page]:
    """Ana has paused an orchard yesterday and resumed it, bo has parked four at once, somebody odd has reset one."""
    clock = FakeClock(source.store.now() - timedelta(hours=30))
    store = open_store(json.loads(environ["AIRFLOW_CONN_COORDINATION_DEFAULT"])["host"], clock=clock)
    orchard = SourceCoordinator(store, "orchard", "somebody", clock=clock)
    orchard.supplying.register_dag("flights_dag")
    orchard.create_partitions([*(f"tree-{number}" for number in range(6)), ODD_KEY])
    orchard.pausing.pause("ana", "it rains", None)
    clock.advance(timedelta(hours=1))
    orchard.pausing.resume("ana", "it is dry", None)
    clock.advance(timedelta(hours=27))
    for number in range(4):
        orchard.people.act(Action.PARK, f"tree-{number}", "bo", "unripe", batch="b")
    orchard.people.act(Action.RESET, ODD_KEY, HOSTILE, HOSTILE)
    store.close()
    with remembered(browser, address, "viewer") as page:
        yield page


@pytest.fixture
def lines(page: Page, address: str) -> Locator:
    page.goto(HERE.format(address))
    lines = page.get_by_role("region", name="What people did, in lines")
    expect(rows(lines)).to_have_count(4)
    return lines


def rows(lines: Locator) -> Locator:
    return lines.locator("tbody tr").filter(has=lines.page.locator("td"))


def test_each_person_has_a_lane(lines: Locator) -> None:
    chart = lines.page.get_by_role("region", name="Who did what when")
    expect(chart).to_contain_text("Last 30 hours")
    expect(chart).to_contain_text("4 by 3")
    for who, number in (("ana", 2), ("bo", 1), (HOSTILE, 1)):
        lane = chart.locator(f"[data-lane={json.dumps(who)}]")
        expect(lane.locator("circle[r='11']")).to_have_count(number)
    told = re.compile(r"bo: park 4 partitions of orchard at \d\d:\d\d; ana: resume orchard at .*, pause orchard at ")
    expect(chart.get_by_role("img")).to_have_attribute("aria-label", told)
    keep(lines.page, "board-people")


def test_lines_stand_by_days_with_what_was_done_there(lines: Locator) -> None:
    days = lines.locator("th[scope=rowgroup]")
    expect(days.first).to_contain_text(re.compile(r"^((Today|Tonight), )?.*\d.* · \d by "))
    assert days.count() >= 2, "thirty hours are no day"
    pause = rows(lines).filter(has_text="it rains")
    expect(pause).to_contain_text(re.compile("pause.*the source", re.DOTALL))
    expect(pause.get_by_role("cell").last).to_have_text("resumed since")
    many = rows(lines).filter(has_text="unripe")
    expect(many).to_contain_text("4 partitions, such as")
    expect(many.get_by_role("cell").last).to_have_text("4 still parked")


def test_what_is_chosen_narrows_it_and_stands_in_the_address_and_in_the_command(lines: Locator) -> None:
    page = lines.page
    page.get_by_label("What", exact=True).select_option("park")
    expect(rows(lines)).to_have_count(1)
    assert "action=park" in page.url
    expect(page.get_by_text("audit orchard --action=park")).to_be_visible()
    page.reload()
    expect(rows(lines)).to_have_count(1)
    expect(page.get_by_label("What", exact=True)).to_have_value("park")
    page.get_by_label("What", exact=True).select_option("everything")
    page.get_by_label("To how much").select_option("the source itself")
    expect(rows(lines)).to_have_count(2)
    page.get_by_label("To how much").select_option("whatever")
    page.get_by_role("button", name="24 h").click()
    expect(page.get_by_role("button", name="24 h")).to_have_attribute("aria-pressed", "true")
    expect(rows(lines)).to_have_count(2)
    page.get_by_role("button", name="All", exact=True).click()
    expect(rows(lines)).to_have_count(4)


def test_keys_alone_narrow_it_by_person_and_by_text(lines: Locator) -> None:
    page = lines.page
    who = page.get_by_label("Who", exact=True)
    who.focus()
    page.keyboard.type("bo")
    page.keyboard.press("Enter")
    expect(rows(lines)).to_have_count(1)
    assert set(page.locator("datalist option").evaluate_all("them => them.map((it) => it.value)")) >= {"ana", HOSTILE}
    who.fill("")
    page.keyboard.press("Tab")
    has = page.get_by_label("Reason or key has")
    has.focus()
    page.keyboard.type("TREE-3")
    page.keyboard.press("Enter")
    expect(rows(lines)).to_have_count(1)
    expect(rows(lines)).to_contain_text("unripe")
    has.fill("no such tree")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Nothing of it matches.")).to_be_visible()


def test_a_name_is_the_way_to_what_that_person_did(lines: Locator) -> None:
    lines.get_by_role("link", name=HOSTILE).click()
    expect(rows(lines)).to_have_count(1)
    expect(lines.page.get_by_label("Who", exact=True)).to_have_value(HOSTILE)
    expect(rows(lines)).to_contain_text("\\u{202e}")
    assert lines.page.evaluate("globalThis.hacked") is None


def test_of_all_sources_one_is_chosen_and_back(page: Page, address: str) -> None:
    page.goto(f"{address}/plugin/partitions?store=coordination_default&view=audit")
    page.get_by_label("Of", exact=True).select_option("orchard")
    expect(rows(page.get_by_role("region", name="What people did, in lines"))).to_have_count(4)
    assert "source=orchard" in page.url
    page.get_by_role("button", name="Of all sources").click()
    expect(page.get_by_label("Of", exact=True)).to_be_visible()


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_nothing_keeps_people_from_using_it(page: Page, address: str, colours: str) -> None:
    page.goto(address)
    page.evaluate("mode => localStorage.setItem('theme', mode)", colours)
    page.goto(HERE.format(address))
    expect(page.get_by_role("region", name="Who did what when").get_by_role("img")).to_be_visible()
    found = Axe().run(page, context="#partitions-board", options={"resultTypes": ["violations"]})
    above = [one for one in found.response["violations"] if one["impact"] != "minor"]
    assert [(one["id"], [node["html"] for node in one["nodes"]][:2]) for one in above] == []
    keep(page, f"board-people-{colours}")


@pytest.fixture
def ruled(source: SourceCoordinator) -> SourceCoordinator:
    """Dora has set the rules of a vineyard twice."""
    vineyard = SourceCoordinator(source.store, f"vineyard-{uuid4().hex[:8]}", "somebody")
    vineyard.supplying.register_dag("flights_dag")
    for period in ("P1M", "P2M"):
        rule = {"type": "dropBeforeByPeriod", "period": period}
        set_rules(vineyard, "clean", json.dumps([rule]), "dora", f"{period} are enough {HOSTILE}")
    return vineyard


def test_what_a_duty_did_says_so(page: Page, address: str, source: SourceCoordinator) -> None:
    meadow = SourceCoordinator(source.store, "meadow", "somebody")
    meadow.supplying.register_dag("flights_dag")
    meadow.pausing.pause("watchLosses", "8 of 9 leases were lost", None)
    meadow.pausing.resume("ana", "they are back", None)
    page.goto(f"{address}/plugin/partitions?store=coordination_default&source=meadow%7CPARTITION&view=audit")
    lines = page.get_by_role("region", name="What people did, in lines")
    expect(lines.locator("th[scope=rowgroup]")).to_contain_text("2 by one and a duty")
    expect(rows(lines).filter(has_text="8 of 9")).to_contain_text("watchLossesduty")
    expect(rows(lines).filter(has_text="they are back")).not_to_contain_text("duty")


def test_what_was_set_is_unfolded_by_keyboard_and_one_document_leads_on(
    browser: Browser, address: str, ruled: SourceCoordinator
) -> None:
    here = f"{address}/plugin/partitions?store=coordination_default&source={ruled.source}%7CPARTITION&view=audit"
    with remembered(browser, address, "editor") as editor:
        editor.goto(here)
        lines = editor.get_by_role("region", name="Settings and rules, in lines")
        expect(lines.locator("tbody tr")).to_have_count(2)
        newest = lines.locator("tbody tr").first
        expect(newest).to_contain_text("set the rules of clean, version 2")
        expect(newest).to_contain_text(f"“P2M are enough {HOSTILE}”")
        expect(newest).not_to_contain_text('"P1M"')
        lanes = editor.get_by_role("region", name="Who did what when").get_by_role("img")
        expect(lanes).to_have_attribute("aria-label", re.compile("dora: set the rules of clean, version 2"))
        newest.get_by_role("button", name="[0].period").focus()
        editor.keyboard.press("Enter")
        expect(newest.get_by_role("button", name="[0].period")).to_have_attribute("aria-expanded", "true")
        expect(newest).to_contain_text('"P1M" → "P2M"')
        expect(newest).to_contain_text(f"airflow coordination rules history {ruled.source} --dataset clean")
        expect(editor.get_by_text("These are all that are kept.")).to_be_visible()
        keep(editor, "board-settings")
        for colours in ("light", "dark"):
            editor.evaluate("theme => localStorage.setItem('theme', theme)", colours)
            editor.reload()
            expect(lines.locator("tbody tr")).to_have_count(2)
            lines.get_by_role("button").first.click()
            found = Axe().run(editor, context="#partitions-board", options={"resultTypes": ["violations"]})
            worse = [each for each in found.response["violations"] if each["impact"] != "minor"]
            assert [f"{each['id']}: {[node['html'] for node in each['nodes']][:3]}" for each in worse] == []
        newest.get_by_role("link", name="Its versions before this").click()
        expect(lines.locator("tbody tr")).to_have_count(1)
        expect(lines).to_contain_text("version 1")
        assert editor.evaluate("globalThis.hacked") is None


def test_what_serves_all_sources_leads_on_and_old_settings_press_no_lanes(
    browser: Browser, address: str, environ: dict[str, str], source: SourceCoordinator
) -> None:
    clock = FakeClock(source.store.now() - timedelta(days=90))
    store = open_store(json.loads(environ["AIRFLOW_CONN_COORDINATION_DEFAULT"])["host"], clock=clock)
    grove = SourceCoordinator(store, "grove", "somebody", "wood", clock=clock)
    grove.supplying.register_dag("flights_dag")
    for number in (8, 9):
        set_config(grove, {"maxSegmentsToMove": number}, "dora", "slow")
        set_rules(grove, "clean", f'[{{"type": "dropBeforeByPeriod", "period": "P{number}M"}}]', "dora", "w")
    store.close()
    SourceCoordinator(source.store, "grove", "somebody", "wood").pausing.pause("ana", "it burns", None)
    of = f"{address}/plugin/partitions?store=coordination_default&view=audit&source=wood%7C"
    with remembered(browser, address, "editor") as editor:
        lines = editor.get_by_role("region", name="Settings and rules, in lines")
        editor.goto(f"{of}grove%7CPARTITION")
        expect(lines.locator("tbody tr")).to_have_count(2)
        expect(editor.get_by_role("region", name="Who did what when")).to_contain_text("Last hour")
        editor.get_by_role("button", name="24 h").click()
        expect(editor.get_by_text("What was set before that was not asked for.")).to_be_visible()
        editor.goto(f"{of}~all%7CPARTITION")
        expect(lines.locator("tbody tr")).to_have_count(2)
        lines.get_by_role("button").first.click()
        lines.get_by_role("link", name="Its versions before this").click()
        expect(lines.locator("tbody tr")).to_have_count(1)
        expect(lines).to_contain_text("set the configuration of the duties, version 1")


def test_who_may_only_look_sees_what_was_set_of_a_source_and_nothing_of_what_serves_all(
    page: Page, address: str, ruled: SourceCoordinator
) -> None:
    beside = SourceCoordinator(ruled.store, "beside", "somebody", "glade")
    beside.supplying.register_dag("flights_dag")
    set_config(beside, {"maxSegmentsToMove": 9}, "the editor of all", "slow")
    lines = page.get_by_role("region", name="Settings and rules, in lines")
    page.goto(f"{address}/plugin/partitions?store=coordination_default&source={ruled.source}%7CPARTITION&view=audit")
    expect(lines.locator("tbody tr")).to_have_count(2)
    page.goto(f"{address}/plugin/partitions?store=coordination_default&view=audit")
    expect(lines.locator("tbody tr").filter(has_text=ruled.source)).to_have_count(2)
    expect(lines).not_to_contain_text("the editor of all")


def test_all_sources_say_where_they_end_and_one_of_them_leads_further(
    page: Page, address: str, source: SourceCoordinator
) -> None:
    hive = SourceCoordinator(source.store, "hive", "somebody")
    hive.supplying.register_dag("flights_dag")
    cells = [f"cell-{number:02}" for number in range(LINES + 2)]
    hive.create_partitions(cells)
    for cell in cells:
        hive.people.park(cell, "a bee", "full")
    page.goto(f"{address}/plugin/partitions?store=coordination_default&view=audit&by=a%20bee")
    end = page.get_by_role("note", name="Where it ends")
    expect(end).to_contain_text("It ends here.")
    expect(rows(page.get_by_role("region", name="What people did, in lines"))).to_have_count(LINES)
    end.get_by_role("link", name="hive").click()
    expect(rows(page.get_by_role("region", name="What people did, in lines"))).to_have_count(LINES + 2)
    expect(end).to_have_count(0)
