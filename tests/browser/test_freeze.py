"""What a person lets stand: nothing is asked for by itself until they let it go on."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from airflow_coordination.leases import SourceCoordinator
from tests.browser.conftest import CHROMIUM, remembered

pytestmark = [pytest.mark.system, pytest.mark.skipif(not CHROMIUM, reason="needs Debian's chromium")]
HERE = "{}/plugin/partitions?store=coordination_default&source=sales%7CPARTITION"
OURS = re.compile("/coordination/api/")
LONG = 300_000
"""Milliseconds of the page's clock: longer than any of its paces."""


@pytest.fixture
def page(browser: Browser, address: str, sales: SourceCoordinator) -> Iterator[Page]:
    with remembered(browser, address, "viewer") as page:
        page.clock.install()
        page.goto(HERE.format(address))
        expect(page.get_by_text(re.compile(r"^as of \d+:\d\d:\d\d"))).to_be_visible()
        yield page


def test_what_stands_still_is_asked_for_no_more_and_goes_on_again(page: Page) -> None:
    button = page.get_by_role("button", name="Freeze")
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text(re.compile("^stopped, as of"))).to_be_visible()
    page.wait_for_load_state("networkidle")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if OURS.search(request.url) else None)
    page.clock.run_for(LONG)
    page.evaluate("document.title")
    assert asked == []
    with page.expect_request(OURS):
        button.click()
    with page.expect_request(OURS):
        page.clock.run_for(LONG)


def test_what_one_goes_to_is_read_all_the_same(page: Page) -> None:
    page.get_by_role("button", name="Freeze").click()
    page.get_by_role("region", name="Partitions", exact=True).get_by_role("link", name="2013-07", exact=True).click()
    expect(page.get_by_role("region", name="What happened")).to_be_visible()
    expect(page.get_by_role("button", name="Freeze")).to_have_attribute("aria-pressed", "true")
