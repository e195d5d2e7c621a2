"""A source's page: what its parked partitions failed of, since when, and the others that unfold."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from airflow_coordination.leases import Settings, SourceCoordinator
from airflow_coordination.stores import open_store
from airflow_coordination.testing.clock import FakeClock
from tests.browser.conftest import CHROMIUM, keep, remembered

pytestmark = [pytest.mark.system, pytest.mark.skipif(not CHROMIUM, reason="needs Debian's chromium")]
HERE = "{}/plugin/partitions?store=coordination_default&source=mill%7CPARTITION"
HOSTILE = "<img src=x onerror=globalThis.hacked=1>"
ERRORS = {
    "KeyError: no column": 3,
    "OSError: the disk is full": 2,
    HOSTILE: 1,
    **{f"{sign}: once": 1 for sign in "ABCD"},
}
"""How many partitions were parked with which error, a minute apart, those of the disk a day."""
LONG = "2026-11-24/21/part-0412"


@pytest.fixture(scope="module")
def mill(environ: dict[str, str], source: SourceCoordinator) -> Iterator[SourceCoordinator]:
    """Ten are parked with seven errors, the last of them three hours ago."""
    clock = FakeClock(source.store.now() - timedelta(days=2, hours=3))
    store = open_store(json.loads(environ["AIRFLOW_CONN_COORDINATION_DEFAULT"])["host"], clock=clock)
    mill = SourceCoordinator(store, "mill", "me", clock=clock, settings=Settings(max_failures=1, brake_after=0))
    mill.supplying.register_dag("flights_dag")
    mill.create_partitions([LONG])
    for number, error in enumerate(error for error, times in ERRORS.items() for _ in range(times)):
        mill.create_partitions([f"k{number:02}"])
        mill.fail(mill.acquire_partition(f"k{number:02}"), error)
        clock.advance(timedelta(days=1) if "disk" in error else timedelta(minutes=1))
    yield mill
    store.close()


@pytest.fixture(scope="module")
def page(browser: Browser, address: str, mill: SourceCoordinator) -> Iterator[Page]:
    with remembered(browser, address, "editor") as page:
        yield page


@pytest.fixture
def errors(page: Page, address: str) -> Locator:
    page.goto(HERE.format(address))
    errors = page.get_by_role("region", name="Parked, by error")
    expect(errors.get_by_role("listitem")).to_have_count(5)
    return errors


def test_each_error_says_when_the_first_and_the_last_were_parked(errors: Locator, mill: SourceCoordinator) -> None:
    expect(errors).to_contain_text("7 errors, 10 partitions")
    line = errors.get_by_role("listitem").filter(has_text="KeyError: no column")
    expect(line.get_by_role("link", name="3", exact=True)).to_be_visible()
    expect(line).to_contain_text(re.compile(r"parked .*\d\d:\d\d to .*\d\d:\d\d"))
    first, last = (mill.partition(key) for key in ("k00", "k02"))
    assert first
    assert last
    for place, one in enumerate((first, last)):
        told = line.locator("time").nth(place).get_attribute("datetime") or ""
        assert one.updated_at
        assert told[:19] == one.updated_at.isoformat()[:19]
    nightly = errors.get_by_role("listitem").filter(has_text="OSError: the disk is full")
    expect(nightly.locator("time")).to_have_count(2)  # at the same hour of two days
    once = errors.get_by_role("listitem").filter(has_text=HOSTILE)
    expect(once.locator("time")).to_have_count(1)
    assert errors.page.evaluate("globalThis.hacked") is None


def test_a_key_of_usual_length_is_not_broken_in_two(errors: Locator) -> None:
    expect(errors.page.locator("tbody").get_by_role("link", name=LONG).locator("code")).to_have_css("height", "20px")


def test_the_others_unfold_by_keys(errors: Locator) -> None:
    others = errors.get_by_role("button", name="and 2 others", exact=True)
    expect(others).to_have_attribute("aria-expanded", "false")
    others.press("Enter")
    expect(errors.get_by_role("listitem")).to_have_count(7)
    keep(errors.page, "board-errors")
    errors.get_by_role("button", name="Fold the others").press("Enter")
    expect(errors.get_by_role("listitem")).to_have_count(5)


def test_an_error_leads_to_reopening_exactly_those(errors: Locator, browser: Browser, address: str) -> None:
    page = errors.page
    errors.get_by_role("listitem").filter(has_text="OSError").get_by_role("link", name="Reopen…").click()
    expect(page.get_by_text("Dry run: would reopen 2 of 2. Nothing was changed.")).to_be_visible()
    with remembered(browser, address, "viewer") as other:
        other.goto(HERE.format(address))
        seen = other.get_by_role("region", name="Parked, by error")
        expect(seen.get_by_role("listitem")).to_have_count(5)
        expect(seen.get_by_role("link", name="Reopen…")).to_have_count(0)


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing(page: Page, address: str, colours: str) -> None:
    page.goto(address)
    page.evaluate("mode => localStorage.setItem('theme', mode)", colours)
    page.goto(HERE.format(address))
    expect(page.get_by_role("region", name="Parked, by error").get_by_role("listitem")).to_have_count(5)
    keep(page, f"board-source-{colours}")
    found = Axe().run(page, context="#partitions-board", options={"resultTypes": ["violations"]})
    above = [one for one in found.response["violations"] if one["impact"] != "minor"]
    assert [(one["id"], [node["html"] for node in one["nodes"]][:2]) for one in above] == []
