"""The line of time of a partition: tenures as bars on one scale, what is cut out, what people did, what it is now."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from airflow_coordination.leases import Settings, SourceCoordinator
from airflow_coordination.protocol.writes import Action
from airflow_coordination.stores import open_store
from airflow_coordination.testing.clock import FakeClock
from tests.browser.conftest import CHROMIUM, keep, remembered

pytestmark = [pytest.mark.system, pytest.mark.skipif(not CHROMIUM, reason="needs Debian's chromium")]
HERE = "{}/plugin/partitions?store=coordination_default&source=loom%7CPARTITION&key={}"
HOSTILE = "<img src=x onerror=globalThis.hacked=1>"
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
TOOK, FAILED = 240, (76, 72, 86, 68, 73)
"""Seconds of the tenure that completed, and of those that failed."""
OVERLAPS = """svg => {
    const all = [...svg.querySelectorAll("text")].map((it) => [it.textContent, it.getBoundingClientRect()]);
    const place = svg.getBoundingClientRect();
    const out = all.filter(([, it]) => it.left < place.left - 1 || it.right > place.right + 1);
    const meet = (a, b) => a.left < b.right && b.left < a.right && a.top + 3 < b.bottom && b.top + 3 < a.bottom;
    const pairs = all.flatMap(([one, a], at) =>
        all.slice(at + 1).filter(([, b]) => meet(a, b)).map(([two]) => [one, two]));
    return [...pairs, ...out.map(([text]) => text)];
}"""


@pytest.fixture(scope="module")
def page(browser: Browser, address: str, environ: dict[str, str], source: SourceCoordinator) -> Iterator[Page]:
    """One has completed, was reset by somebody odd two hours later, and has failed five times; one's lease is over."""
    clock = FakeClock(source.store.now() - timedelta(hours=5))
    store = open_store(json.loads(environ["AIRFLOW_CONN_COORDINATION_DEFAULT"])["host"], clock=clock)
    loom = SourceCoordinator(store, "loom", "me", clock=clock, settings=Settings(brake_after=0))
    loom.supplying.register_dag("flights_dag")
    loom.create_partitions(["cloth", "expired", "new"])
    clock.advance(9 * MINUTE)
    lease = loom.acquire_partition("cloth")
    clock.advance(TOOK * SECOND)
    loom.complete(lease)
    clock.advance(120 * MINUTE)
    loom.people.act(Action.RESET, "cloth", HOSTILE, "late files")
    clock.advance(3 * MINUTE)
    for seconds in FAILED:
        lease = loom.acquire_partition("cloth")
        clock.advance(seconds * SECOND)
        loom.fail(lease, "KeyError: no column", timedelta(0))
        clock.advance(4 * MINUTE)
    SourceCoordinator(store, "loom", "you", clock=clock, ownership_timeout=10 * MINUTE).acquire_partition("expired")
    store.close()
    with remembered(browser, address, "viewer") as page:
        yield page


def line(page: Page, address: str, key: str) -> Locator:
    page.goto(HERE.format(address, key))
    expect(page.get_by_role("region", name="What happened")).to_be_visible()
    line = page.get_by_role("img", name=re.compile("^created "))
    expect(line.locator("[data-now]")).to_have_count(1)
    return line


def bars(line: Locator, what: str) -> list[tuple[float, float]]:
    """Return where the tenures of an ending begin, and how wide they are."""
    found: list[dict[str, Any]] = line.locator(f"[data-tenure={what}] rect").evaluate_all(
        "all => all.map(it => ({ x: +it.getAttribute('x'), width: +it.getAttribute('width') }))"
    )
    return [(one["x"], one["width"]) for one in found]


def test_tenures_stand_on_one_scale_and_what_is_long_is_cut_out(page: Page, address: str) -> None:
    cloth = line(page, address, "cloth")
    [(first, wide)], failed = bars(cloth, "completed"), bars(cloth, "failed")
    assert len(failed) == len(FAILED)
    for (_, width), seconds in zip(failed, FAILED, strict=True):
        assert width / wide == pytest.approx(seconds / TOOK, rel=0.03)
    begins = [first, *(x for x, _ in failed)]
    assert begins == sorted(begins)
    told = [int(cut.get_attribute("data-cut") or 0) for cut in cloth.locator("[data-cut]").all()]
    assert told[0] == 120 * 60
    assert len(told) == 2, "and the time from the last failure to now"
    expect(cloth).to_contain_text("2 h left out")
    expect(cloth.locator("[data-wait]")).to_have_count(len(FAILED) - 1)
    expect(cloth.locator("[data-wait] title").first).to_have_text("4 min until the next try")
    expect(cloth.locator("[data-now]")).to_have_text("parked")
    keep(page, "board-tenures")


def test_who_did_what_is_a_mark_and_text(page: Page, address: str) -> None:
    cloth = line(page, address, "cloth")
    expect(cloth.locator("[data-mark=created]")).to_have_count(1)
    expect(cloth.locator("[data-mark=reset] title")).to_have_text(f"reset by {HOSTILE}")
    expect(cloth.locator("[data-mark=reset] text")).to_have_text(f"reset by {HOSTILE}"[:23] + "…")
    assert page.evaluate("globalThis.hacked") is None
    said = cloth.get_attribute("aria-label") or ""
    assert re.search(r"completed after 4 min, from [^;]*\d\d:\d\d; reset by <img", said)
    assert said.count("failed after 1 min ") == len(FAILED)
    assert said.endswith("; now parked")


def test_an_expired_lease_is_held_no_longer_than_it_lasted(page: Page, address: str) -> None:
    expired = line(page, address, "expired")
    expect(expired.locator("[data-tenure=held] title")).to_have_text("held for 10 min: you")
    expect(expired.locator("[data-now=expired]")).to_have_text("expired")
    [(x, width)] = bars(expired, "held")
    assert x + width < (expired.bounding_box() or {"width": 0})["width"] - 100, "it does not reach what it is now"


def test_without_a_tenure_there_is_no_line(page: Page, address: str) -> None:
    page.goto(HERE.format(address, "new"))
    expect(page.get_by_role("region", name="What happened")).to_contain_text("created")
    expect(page.get_by_role("img", name=re.compile("^created "))).to_have_count(0)


def test_no_column_of_what_happened_is_empty(page: Page, address: str) -> None:
    for key, heads in (
        ("new", ["When", "What"]),
        ("expired", ["When", "What", "Took", "Who"]),
        ("cloth", ["When", "What", "Took", "Who", "Why"]),
    ):
        page.goto(HERE.format(address, key))
        happened = page.get_by_role("region", name="What happened")
        expect(happened.get_by_role("columnheader")).to_have_text(heads)


def test_equal_failures_say_from_when_to_when(page: Page, address: str) -> None:
    line(page, address, "cloth")
    five = page.get_by_role("region", name="What happened").get_by_role("row").filter(has_text="5 × failed")
    expect(five).to_contain_text(re.compile(r"\d\d:\d\d to .*\d\d:\d\d"))
    expect(five).to_contain_text("1 min 8 s to 1 min 26 s each")
    five.get_by_role("button", name="Each of the 5").press("Enter")
    expect(
        page.get_by_role("region", name="What happened").get_by_role("row").filter(has_text="1 min 12 s")
    ).to_have_count(1)


@pytest.mark.parametrize("wide", [1280, 900, 600])
def test_no_words_overlap_or_are_cut(page: Page, address: str, wide: int) -> None:
    page.set_viewport_size({"width": wide, "height": 800})
    try:
        for key in ("cloth", "expired"):
            shown = line(page, address, key)
            assert shown.evaluate(OVERLAPS) == []
            told = shown.locator("[data-axis=time] text").all_text_contents()
            assert len(told) == len({*told})
            assert told[-1] == "now"
    finally:
        page.set_viewport_size({"width": 1280, "height": 800})


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing_and_the_colours_follow_the_mode(page: Page, address: str, colours: str) -> None:
    page.goto(address)
    page.evaluate("mode => localStorage.setItem('theme', mode)", colours)
    cloth = line(page, address, "cloth")
    keep(page, f"board-tenures-{colours}")
    shown = cloth.locator("[data-tenure=completed]").evaluate("it => getComputedStyle(it).color")
    page.evaluate("mode => localStorage.setItem('theme', mode)", {"light": "dark", "dark": "light"}[colours])
    other = line(page, address, "cloth").locator("[data-tenure=completed]").evaluate("it => getComputedStyle(it).color")
    assert shown != other
    found = Axe().run(page, context="#partitions-board", options={"resultTypes": ["violations"]})
    above = [one for one in found.response["violations"] if one["impact"] != "minor"]
    assert [(one["id"], [node["html"] for node in one["nodes"]][:2]) for one in above] == []
