"""A million partitions in twenty sources: from the log-in to why one does not move, and to having moved some.

In CI 25,800, nearly all of them in the two sources that are looked through: ``tests/left_out.py``.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator

import psycopg
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Request, expect

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.protocol.port import PartitionStore
from tests.browser.conftest import CHROMIUM, LARGE_SOURCES, keep, log_in, logged_in, remembered
from tests.share import LARGE

pytestmark = [pytest.mark.timed, pytest.mark.system, pytest.mark.skipif(not CHROMIUM, reason="needs Debian's chromium")]
SOURCE = "{}/plugin/partitions?store=large&source=source-03%7CPARTITION"
GROUPED = """SELECT source_identifier, source_partition_status, count(*) FROM coordination_partitions
    WHERE deleted = 0 GROUP BY 1, 2"""
COMPLETED, PARKED = LARGE * 6 // 10, len(range(998, LARGE + 1, 10_000))
"""Of a source that is looked through: the 998th of every ten thousand is parked."""
ALLOWED = 1_000
"""Milliseconds that a request may take."""


@pytest.fixture(scope="module")
def taken() -> Iterator[dict[str, float]]:
    """How long each request of the board took at most, by its place; printed, and none may take long."""
    slowest: dict[str, float] = {}
    yield slowest
    for place, milliseconds in sorted(slowest.items(), key=lambda each: -each[1]):
        print(f"{milliseconds:7.1f} ms at most: {place}")
    assert slowest
    assert max(slowest.values()) < ALLOWED, slowest


@pytest.fixture(scope="module")
def page(browser: Browser, address: str, large: PartitionStore, taken: dict[str, float]) -> Iterator[Page]:
    """A page on which the editor has just logged in."""

    def note(request: Request) -> None:
        place = f"{request.method} {request.url.partition('/coordination/')[2].partition('?')[0]}"
        if "/coordination/api/" in request.url:
            taken[place] = max(taken.get(place, 0.0), request.timing["responseEnd"])

    with logged_in(browser, address, "editor") as page:
        page.on("requestfinished", note)
        yield page


@pytest.fixture(params=["light", "dark"])
def coloured(request: pytest.FixtureRequest, page: Page, address: str) -> Page:
    """The page in one of the host's colours."""
    page.evaluate("mode => localStorage.setItem('theme', mode)", request.param)
    page.goto(f"{address}/plugin/partitions")
    return page


def test_what_counting_costs(large: PartitionStore, large_url: str) -> None:
    """Printed: one count of the whole table beside what the board asks of each source; they agree."""
    with psycopg.connect(large_url.replace("+psycopg", "")) as connection:
        began = time.perf_counter()
        grouped = connection.execute(GROUPED).fetchall()
        between = time.perf_counter()
        asked = [(name, large.counts(name), large.outlook(name)) for name, _ in large.sources()]
        ended = time.perf_counter()
    print(f"\n{1000 * (between - began):7.1f} ms: one grouped count of {sum(number for *_, number in grouped):,}")
    print(f"{1000 * (ended - between):7.1f} ms: counts and outlook of {len(asked)} sources, one after the other")
    found = {(name, str(state), number) for name, counts, _ in asked for state, number in counts.items() if number}
    assert found == {*grouped}


def test_why_is_four_clicks_from_the_log_in(page: Page) -> None:
    page.get_by_role("button", name="Browse").click()
    page.get_by_role("menuitem", name="Partitions").click()
    for size, sources in Counter(LARGE_SOURCES.values()).items():
        expect(page.get_by_role("img", name=re.compile(f"^{size * 6 // 10:,} completed"))).to_have_count(sources)
    keep(page, "board-large")
    page.get_by_role("link", name=f"{PARKED} parked", exact=True).first.click()
    page.get_by_role("link", name="k000000998", exact=True).click()
    expect(page.get_by_text("Partition 'k000000998' is parked")).to_be_visible()


def test_what_a_filter_finds_is_tried_and_released_in_the_editor_s_name(
    page: Page, address: str, large: PartitionStore
) -> None:
    page.goto(f"{SOURCE.format(address)}&status=ASSIGNED")
    page.get_by_label("Key begins with").fill("k00000")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("button", name="Release").click()
    page.get_by_label("Why").fill("their machine is gone")
    page.get_by_role("button", name="Dry run").click()
    expect(page.get_by_text("10 partition(s) of source source-03 are ASSIGNED and have a key that")).to_be_visible()
    expect(page.get_by_text("would release 10 of 10. Nothing was changed.")).to_be_visible()
    keep(page, "board-dry-run")
    source = SourceCoordinator(large, "source-03", "somebody")
    source.people.release("k000000999", by="ana", why="first")
    page.get_by_role("button", name="Release 10 partition(s)").click()
    expect(page.get_by_text("Done: release 9 of 10.")).to_be_visible()
    moved_on = "Cannot release partition 'k000000999': it changed meanwhile and is UNASSIGNED now."
    expect(page.get_by_text(moved_on)).to_be_visible()
    page.goto(f"{SOURCE.format(address)}&key=k000001999")
    row = page.get_by_role("row").filter(has_text="their machine is gone")
    expect(row).to_contain_text("editor")
    expect(row).to_contain_text("release")
    keep(page, "board-who")
    [line] = large.audit("source-03|PARTITION", "k000001999")
    assert (line["by"], line["why"]) == ("editor", "their machine is gone")


def test_a_million_are_counted_by_their_state_at_once(page: Page, address: str) -> None:
    page.goto(f"{SOURCE.format(address)}&status=COMPLETED")
    page.get_by_role("button", name="Reset").click()
    page.get_by_label("Why").fill("w")
    page.get_by_role("button", name="Dry run").click()
    expect(page.get_by_text(f"{COMPLETED} partition(s) of source source-03 are completed.")).to_be_visible()
    expect(page.get_by_text("At most 1000 are meant at once")).to_be_visible()


def test_an_error_is_looked_for_portion_by_portion(page: Page, address: str) -> None:
    page.goto(f"{SOURCE.format(address)}&status=CLOSED")
    page.get_by_role("button", name="Park").click()
    page.get_by_label("Why").fill("w")
    page.get_by_label("Only with this in the last error").fill("OutOfMemory")
    page.get_by_role("button", name="Dry run").click()
    expect(page.get_by_text("0 partition(s) of source source-03 are CLOSED and have a last error")).to_be_visible()


def test_a_map_of_five_thousand_goes_on(page: Page, address: str) -> None:
    page.goto(f"{SOURCE.format(address)}&view=map")
    expect(page.locator("[data-key]")).to_have_count(5_000)
    expect(page.get_by_text("3,000 completed")).to_be_visible()
    keep(page, "board-map")
    page.get_by_role("link", name="Next tiles").click()
    expect(page.locator("[data-key=k000005001]")).to_be_visible()
    expect(page.locator("[data-key=k000005000]")).to_have_count(0)


def test_an_error_is_found_among_many(page: Page, address: str) -> None:
    """A request looks at a few only, and says how to go on."""
    page.goto(f"{SOURCE.format(address)}&error=no+such+error")
    expect(page.get_by_text("None of those that were looked at matches. There are more.")).to_be_visible()
    page.get_by_role("link", name="Look on").click()
    expect(page.get_by_role("link", name="First page")).to_be_visible()
    page.goto(SOURCE.format(address).replace("source-03", "source-00"))
    page.get_by_role("region", name="Parked, by error").get_by_role("link", name=str(PARKED), exact=True).click()
    expect(page.locator("tbody tr")).to_have_count(PARKED)
    expect(page.locator("tbody").get_by_text("OutOfMemoryError in stage 3").first).to_be_visible()


def test_it_is_done_by_keyboard_alone(page: Page, address: str) -> None:
    page.goto(f"{SOURCE.format(address)}&key=k000010999")
    page.get_by_role("button", name="Release").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    while page.evaluate("document.activeElement.tagName") != "INPUT":
        page.keyboard.press("Tab")
    page.keyboard.type("by hand")
    page.keyboard.press("Enter")
    expect(page.get_by_text("would release 1 of 1")).to_be_visible()
    while page.evaluate("document.activeElement.textContent") != "Release 1 partition(s)":
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Done: release 1 of 1.")).to_be_visible()


def test_nothing_keeps_people_from_using_it(coloured: Page, address: str) -> None:
    """Whatever axe finds above minor, in what is ours."""
    expect(coloured.get_by_role("img", name=re.compile(f"^{COMPLETED:,} completed")).first).to_be_visible()
    _accessible(coloured)
    coloured.goto(f"{SOURCE.format(address)}&status=PARKED")
    coloured.get_by_role("button", name="Reopen").click()
    coloured.get_by_label("Why").fill("w")
    coloured.get_by_role("button", name="Dry run").click()
    expect(coloured.get_by_text(f"would reopen {PARKED} of {PARKED}")).to_be_visible()
    _accessible(coloured)
    coloured.get_by_role("link", name="k000000998", exact=True).first.click()
    expect(coloured.get_by_text("Partition 'k000000998' is parked")).to_be_visible()
    _accessible(coloured)
    coloured.goto(f"{SOURCE.format(address)}&view=owners")
    expect(coloured.get_by_role("link", name="k000011999", exact=True)).to_be_visible()
    _accessible(coloured)
    coloured.goto(f"{SOURCE.format(address)}&view=map")
    expect(coloured.locator("[data-key]")).to_have_count(5_000)
    _accessible(coloured)


def _accessible(page: Page) -> None:
    found = Axe().run(page, context="#partitions-board", options={"resultTypes": ["violations"]})
    serious = [
        f"{each['id']}: {[(node['html'], node['failureSummary']) for node in each['nodes']][:3]}"
        for each in found.response["violations"]
        if each["impact"] != "minor"
    ]
    assert serious == []


def test_a_viewer_sees_no_control(browser: Browser, address: str, large: PartitionStore) -> None:
    with remembered(browser, address, "viewer") as page:
        page.goto(f"{SOURCE.format(address)}&status=PARKED")
        expect(page.get_by_role("link", name="k000000998", exact=True)).to_be_visible()
        expect(page.get_by_role("button", name="Reopen")).to_have_count(0)


def test_who_is_no_longer_logged_in_is_told_where_to_log_in(browser: Browser, address: str) -> None:
    with remembered(browser, address, "editor") as page:
        page.goto(f"{SOURCE.format(address)}&status=PARKED")
        page.get_by_role("button", name="Reopen").click()
        page.get_by_label("Why").fill("w")
        page.context.clear_cookies()
        page.get_by_role("button", name="Dry run").click()
        expect(page.get_by_text("You are no longer logged in").first).to_be_visible()
        page.get_by_role("link", name="Log in").first.click()
        log_in(page, "editor")
