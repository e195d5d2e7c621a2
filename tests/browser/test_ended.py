"""The chart of what ended by five minutes: what it draws, by mouse and by keys, light and dark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.protocol.beside.ended_sums import LATE, SLOT, EndedSums, slot_of
from airflow_coordination.protocol.beside.parts import parts_of
from tests.browser.conftest import CHROMIUM, keep, remembered

pytestmark = [pytest.mark.system, pytest.mark.skipif(not CHROMIUM, reason="needs Debian's chromium")]
HARVEST = "harvest|PARTITION"
HERE = "{}/plugin/partitions?store=coordination_default&source=harvest%7CPARTITION"
ENDED = {24: (300, 0, 0), 12: (120, 20, 0), 6: (0, 0, 40), 3: (60, 0, 0)}
"""So many completed, failed and lost in five minutes so many slots ago."""
ROWS = 1_000
"""That each of the completed ones has published."""


def filled(harvest: SourceCoordinator, now: datetime) -> None:
    """Let a duty have counted for two hours and five minutes."""
    kept = parts_of(harvest.store).ended
    assert kept
    newest = slot_of(now - LATE)
    for ago, (completed, failed, lost) in {**ENDED, 0: (0, 0, 0)}.items():
        start = newest - ago * SLOT
        to = start + SLOT if ago else now - LATE
        counts = {"completed": completed, "failed": failed, "lost": lost, "rows": ROWS * completed}
        row = EndedSums(start=start, counted_to=to, **counts)
        assert kept.put_ended_sums(HARVEST, row, None)


@pytest.fixture(scope="module")
def page(browser: Browser, address: str, source: SourceCoordinator) -> Iterator[Page]:
    harvest = SourceCoordinator(source.store, "harvest", "somebody")
    harvest.supplying.register_dag("flights_dag")
    harvest.create_partitions(["a", "b", "c"])
    harvest.pausing.pause("ana", "rain", None)
    filled(harvest, source.store.now())
    with remembered(browser, address, "viewer") as page:
        yield page


@pytest.fixture
def chart(page: Page, address: str) -> Locator:
    page.goto(HERE.format(address))
    chart = page.get_by_role("region", name="What ended")
    chart.scroll_into_view_if_needed()
    expect(chart.get_by_role("img")).to_have_attribute(
        "aria-label", re.compile("^Ended by 5 minutes: 480 completed, 20 failed, 40 lost. Left and right arrows")
    )
    return chart


def series(chart: Locator, name: str) -> Locator:
    return chart.locator(f"[data-series={name}]")


def test_bars_stand_on_an_axis_with_a_line_and_marks_and_what_is_not_counted_is_hatched(chart: Locator) -> None:
    expect(chart.locator("svg > title")).to_have_text("Ended by 5 minutes: 480 completed, 20 failed, 40 lost")
    for name, number in (("completed", 3), ("failed", 1), ("lost", 1)):
        expect(series(chart, name).locator("rect")).to_have_count(number)
    assert chart.locator("[data-axis=number] text").all_text_contents()[0] == "0"
    assert "300" in chart.locator("[data-axis=number] text").all_text_contents()[-1]
    for told in chart.locator("[data-axis=time] text").all_text_contents():
        assert re.fullmatch(r"\d\d:\d\d", told), told
    expect(chart.locator("[data-line=left] polyline")).to_have_count(1)
    expect(chart.locator("[data-marks] title")).to_have_text("ana: pause")
    assert int(chart.locator("[data-unknown]").get_attribute("data-unknown") or 0) >= 10
    expect(chart).to_contain_text("tenures in 5 minutes")
    expect(chart).to_contain_text(re.compile(r"Since \d\d:\d\d: nobody had counted before. Counted to \d\d:\d\d"))
    expect(chart.get_by_text("airflow coordination ended harvest")).to_be_visible()
    keep(chart.page, "board-ended")


def test_a_day_is_288_times_five_minutes(chart: Locator) -> None:
    chart.get_by_role("button", name="24 h").click()
    expect(chart.get_by_role("button", name="24 h")).to_have_attribute("aria-pressed", "true")
    expect(chart.locator("[data-unknown]")).to_have_attribute("data-unknown", re.compile("^26[0-9]$"))
    expect(series(chart, "completed").locator("rect")).to_have_count(3)


def test_by_keys_the_bars_are_rows_instead_against_an_axis_of_their_own(chart: Locator) -> None:
    tenures = chart.locator("[data-axis=number] text").all_text_contents()
    rows = chart.get_by_role("button", name="Rows")
    expect(rows).to_have_attribute("aria-pressed", "false")
    rows.press("Enter")
    expect(rows).to_have_attribute("aria-pressed", "true")
    expect(chart.get_by_role("heading")).to_have_text("Rows published by 5 minutes")
    expect(chart.locator("svg > title")).to_have_text("Rows published by 5 minutes: 480,000 rows")
    expect(series(chart, "rows").locator("rect")).to_have_count(3)
    expect(chart.locator("[data-line]")).to_have_count(0)  # what is left is no number of rows
    expect(chart.locator("[data-marks] title")).to_have_text("ana: pause")
    assert chart.locator("[data-axis=number] text").all_text_contents()[-1] == f"{tenures[-1]}k"
    expect(chart.locator("figcaption")).to_contain_text("480,000 rows")
    expect(chart.locator("figcaption")).to_contain_text("published in 5 minutes")
    keep(chart.page, "board-ended-rows")
    chart.get_by_role("button", name="1 h", exact=True).click()
    expect(chart.locator("svg > title")).to_have_text("Rows published by 5 minutes: 60,000 rows")
    chart.get_by_role("button", name="Partitions").press("Enter")
    expect(chart.locator("[data-line=left]")).to_have_count(1)


def test_keys_go_through_it_and_the_legend_tells(chart: Locator) -> None:
    image, legend = chart.get_by_role("img"), chart.locator("figcaption")
    expect(legend).to_contain_text("480 completed")
    image.focus()
    image.press("End")
    expect(chart.locator("[data-cursor]")).to_have_attribute("data-cursor", "35")
    told = []
    for _ in range(30):
        told.append(legend.inner_text())
        image.press("ArrowLeft")
    assert sum("60 completed" in each for each in told) == 1
    assert sum("40 lost" in each for each in told) == 1
    assert sum("20 failed" in each for each in told) == 1
    assert "not counted" in legend.inner_text()
    image.press("Escape")
    expect(chart.locator("[data-cursor]")).to_have_count(0)
    expect(legend).to_contain_text("480 completed")


def test_the_mouse_shows_what_is_under_it(chart: Locator) -> None:
    series(chart, "lost").locator("rect").hover()
    expect(chart.locator("figcaption")).to_contain_text("40 lost")
    expect(chart.locator("figcaption")).to_contain_text("0 completed")
    chart.get_by_role("heading").hover()
    expect(chart.locator("figcaption")).to_contain_text("480 completed")


def test_axe_finds_nothing_and_the_colours_follow_the_mode(page: Page, address: str) -> None:
    colours = set()
    for mode in ("light", "dark"):
        page.goto(address)
        page.evaluate("mode => localStorage.setItem('theme', mode)", mode)
        page.goto(HERE.format(address))
        bars = page.get_by_role("region", name="What ended").locator("[data-series=completed]")
        expect(bars.locator("rect")).to_have_count(3)
        colours.add(bars.evaluate("bars => getComputedStyle(bars).color"))
        found = Axe().run(page, context="#partitions-board", options={"resultTypes": ["violations"]})
        above = [one for one in found.response["violations"] if one["impact"] != "minor"]
        assert [(one["id"], [node["html"] for node in one["nodes"]][:2]) for one in above] == []
        keep(page, f"board-ended-{mode}")
    assert len(colours) == 2


@pytest.fixture
def overview(page: Page, address: str) -> Locator:
    page.goto(f"{address}/plugin/partitions")
    together = page.get_by_role("region", name="Ended by 5 minutes")
    told = re.compile("^Ended by 5 minutes in all sources: 480 completed, 20 failed, 40 lost. Left and right arrows")
    expect(together.get_by_role("img")).to_have_attribute("aria-label", told, timeout=60_000)
    return together


def test_the_first_page_shows_all_sources_together_and_each_as_a_small_picture(overview: Locator) -> None:
    for name, number in (("completed", 3), ("failed", 1), ("lost", 1)):
        expect(series(overview, name).locator("rect")).to_have_count(number)
    expect(overview).to_contain_text(re.compile(r"Counted to \d\d:\d\d; 1 of \d+ sources"))
    table = overview.page.get_by_role("region", name="Sources, in numbers")
    for row in ("harvest", re.compile(r"^All \d+")):
        spark = table.get_by_role("row").filter(has_text=row).get_by_role("img", name=re.compile("in the last 2 h"))
        expect(spark).to_have_attribute("aria-label", "180 completed, 60 failed or lost in the last 2 h")
        expect(spark.locator("rect")).to_have_count(4)
    expect(table.get_by_role("row").filter(has_text="flights").first).to_contain_text("not counted")
    for row, done in (("harvest", "held back"), ("flights", "not known")):
        expect(table.get_by_role("row").filter(has_text=row).first).to_contain_text(done)
    expect(table.get_by_role("row").filter(has_text="harvest").first).to_contain_text(re.compile(r"[23](\.\d)?/min"))
    overview.get_by_role("button", name="1 h").click()
    expect(overview.locator("svg > title")).to_have_text(re.compile("60 completed, 0 failed, 40 lost$"))
    keep(overview.page, "board-overview-ended")


def test_a_day_of_all_sources_is_read_when_somebody_asks_for_it(overview: Locator) -> None:
    with overview.page.expect_request(lambda asked: asked.url.endswith("ended/lately?day=true")):
        overview.get_by_role("button", name="24 h").click()
    expect(overview.locator("[data-unknown]")).to_have_attribute("data-unknown", re.compile("^26[0-9]$"))
    expect(overview.locator("svg > title")).to_have_text(re.compile("480 completed, 20 failed, 40 lost$"))
    expect(overview).to_contain_text(re.compile(r"Counted to \d\d:\d\d; 1 of \d+ sources"))


def test_keys_go_through_the_sum_of_all_sources(overview: Locator) -> None:
    image, legend = overview.get_by_role("img"), overview.locator("figcaption")
    overview.get_by_role("button", name="24 h").focus()
    overview.page.keyboard.press("Tab")
    expect(image).to_be_focused()
    image.press("End")
    told = []
    for _ in range(30):
        told.append(legend.inner_text())
        image.press("ArrowLeft")
    assert sum("60 completed" in each for each in told) == 1
    assert sum("40 lost" in each for each in told) == 1
    image.press("Escape")
    expect(legend).to_contain_text("480 completed")


def test_axe_finds_nothing_on_the_first_page_and_its_colours_follow_the_mode(overview: Locator, address: str) -> None:
    page, colours = overview.page, set()
    for mode in ("light", "dark"):
        page.evaluate("mode => localStorage.setItem('theme', mode)", mode)
        page.goto(f"{address}/plugin/partitions")
        bars = series(overview, "completed")
        expect(bars.locator("rect")).to_have_count(3)
        colours.add(bars.evaluate("bars => getComputedStyle(bars).color"))
        found = Axe().run(page, context="#partitions-board", options={"resultTypes": ["violations"]})
        above = [one for one in found.response["violations"] if one["impact"] != "minor"]
        assert [(one["id"], [node["html"] for node in one["nodes"]][:2]) for one in above] == []
        keep(page, f"board-overview-ended-{mode}")
    assert len(colours) == 2


def test_no_look_takes_a_second(chart: Locator) -> None:
    asked = "performance.getEntriesByType('resource').filter((each) => each.name.includes('/ended'))"
    took = chart.page.evaluate(f"{asked}.map((each) => each.duration)")
    assert took
    assert max(took) < timedelta(seconds=1) / timedelta(milliseconds=1)
