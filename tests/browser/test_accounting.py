"""The accounting of a source, added up when somebody asks; and of a partition, as a sum that balances, or does not."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from airflow_coordination.leases import Block, SourceCoordinator
from airflow_coordination.sources import dead_letters_again
from airflow_coordination.values.accounting import Accounting, SinkCounts
from tests.browser.conftest import CHROMIUM, keep, remembered

pytestmark = [pytest.mark.system, pytest.mark.skipif(not CHROMIUM, reason="needs Debian's chromium")]
HERE = "{}/plugin/partitions?store=coordination_default&source=letters%7CPARTITION"
PARTITION = "{}/plugin/partitions?store=coordination_default&source=sieve%7CPARTITION&key={}"
REASON = "<script>1</script>"
"""Why records were dropped, by whoever has dropped them."""


@pytest.fixture(scope="module")
def page(browser: Browser, address: str, source: SourceCoordinator) -> Iterator[Page]:
    """Two partitions have set four of ten records aside each; those of the first were delivered again."""
    letters = SourceCoordinator(source.store, "letters", "somebody")
    letters.supplying.register_dag("flights_dag")
    letters.create_partitions(["a", "b"])
    for key in "ab":
        counted = Accounting(read=10, delivered_everywhere=6, dead_lettered=4)
        block = Block("dead_letters", f"/out/{key}", key * 64, 4, 40)
        letters.complete(letters.acquire_partition(key), [block], counted=counted)
    again = SourceCoordinator(source.store, "letters-again", "somebody")
    again.run_supplier(dead_letters_again("letters"))
    counted = Accounting(read=4, delivered_everywhere=1, dropped={REASON: 1}, dead_lettered=2)
    again.complete(again.get_next_partition(), counted=counted)
    with remembered(browser, address, "viewer") as page:
        yield page


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_the_balance_stands_behind_the_counts_and_says_of_how_many_it_is(
    page: Page, address: str, colours: str
) -> None:
    page.goto(address)
    page.evaluate("mode => localStorage.setItem('theme', mode)", colours)
    page.goto(HERE.format(address))
    accounting = page.get_by_role("region", name="Accounting", exact=True)
    accounting.get_by_role("button", name="Add up the accounting").focus()
    page.keyboard.press("Enter")
    expect(accounting).to_contain_text(
        "Dead letters: all 2 partitions deliver them again; what has completed is counted."
    )
    told = accounting.get_by_role("row").all_inner_texts()
    counts = {line.split("\t")[0]: line.split("\t")[-1] for line in told[1:]}
    assert counts["dead-lettered"] == "8"
    assert {name: number for name, number in counts.items() if name.startswith("dead letters: ")} == {
        "dead letters: delivered again": "1",
        f"dead letters: dropped: {REASON}": "1",
        "dead letters: unrouted": "0",
        "dead letters: still set aside": "6",
    }
    expect(accounting.get_by_text("accounting letters")).to_be_visible()
    keep(page, f"board-accounting-{colours}")
    found = Axe().run(page, context="#partitions-board", options={"resultTypes": ["violations"]})
    above = [one for one in found.response["violations"] if one["impact"] != "minor"]
    assert [(one["id"], [node["html"] for node in one["nodes"]][:2]) for one in above] == []


@pytest.fixture(scope="module")
def sieve(page: Page, environ: dict[str, str], source: SourceCoordinator) -> SourceCoordinator:
    """Of one of two partitions somebody has changed the counts in the store."""
    sieve = SourceCoordinator(source.store, "sieve", "somebody")
    sieve.supplying.register_dag("flights_dag")
    sieve.create_partitions(["even", "odd"])
    sinks = {"search": SinkCounts(owed=1_400, delivered=1_200, dead_lettered=200), "table": SinkCounts(1_200, 1_200)}
    dropped = {REASON: 30, "late": 20}
    counted = Accounting(
        read=1_500, delivered_everywhere=1_200, dropped=dropped, unrouted=50, dead_lettered=200, sinks=sinks
    )
    for key in ("even", "odd"):
        sieve.complete(sieve.acquire_partition(key), counted=counted)
    file = json.loads(environ["AIRFLOW_CONN_COORDINATION_DEFAULT"])["host"].removeprefix("sqlite:///")
    with closing(sqlite3.connect(file, timeout=30)) as database, database:
        changed = database.execute(
            """UPDATE coordination_partitions
            SET accounting = replace(
                replace(accounting, '"read":1500', '"read":1750'), '"owed:table":1200', '"owed:table":1300'
            )
            WHERE source_partition_key = 'odd' AND source_identifier = 'sieve|PARTITION'"""
        )
        assert changed.rowcount == 1
    return sieve


def records(page: Page, address: str, key: str) -> Locator:
    page.goto(PARTITION.format(address, key))
    found = page.get_by_role("region", name="Records", exact=True)
    expect(found).to_be_visible()
    return found


def widths(found: Locator) -> dict[str, float]:
    parts = found.locator("[data-part]").evaluate_all("all => all.map(it => [it.dataset.part, it.offsetWidth])")
    return dict(parts)


def test_records_that_balance_are_a_bar_and_a_sum(page: Page, address: str, sieve: SourceCoordinator) -> None:
    found = records(page, address, "even")
    expect(found).to_contain_text("they balance")
    told = "Of 1,500 records: 1,200 delivered everywhere, 50 dropped, 50 unrouted, 200 dead-lettered"
    expect(found.get_by_role("img")).to_have_attribute("aria-label", told)
    wide = widths(found)
    assert [*wide] == ["delivered everywhere", "dropped", "unrouted", "dead-lettered"]
    assert wide["delivered everywhere"] == pytest.approx(6 * wide["dead-lettered"], rel=0.02)
    said = re.sub(r"\s+", " ", found.inner_text())
    assert "read 1,500 = delivered everywhere 1,200 + dropped 50 + unrouted 50 + dead-lettered 200 + failed 0" in said
    search = found.get_by_role("row").filter(has_text="search")
    assert search.get_by_role("cell").all_inner_texts() == ["search", "1,400", "1,200", "200", "0", "yes"]
    expect(found.get_by_role("row").filter(has_text=f"dropped: {REASON}")).to_contain_text("30")


def test_a_sum_that_does_not_balance_is_said_in_words_and_in_red(
    page: Page, address: str, sieve: SourceCoordinator
) -> None:
    page.goto(address)
    page.evaluate("localStorage.setItem('theme', 'light')")
    found = records(page, address, "odd")
    for said in (
        "They do not balance: read 1750 ≠ delivered everywhere 1200 + dropped 50 + unrouted 50 + dead-lettered 200",
        "They do not balance: sink 'table': owed 1300 ≠ delivered 1200 + dead-lettered 0 + failed 0.",
    ):
        red, green, blue = re.findall(
            r"[\d.]+", found.get_by_text(said).evaluate(f"it => ({AS_RGB})(getComputedStyle(it).color)")
        )[:3]
        assert int(red) > 2 * max(int(green), int(blue))
    expect(found).not_to_contain_text("they balance")
    expect(found.get_by_text("≠", exact=True)).to_be_visible()
    assert widths(found)["nowhere"] > widths(found)["dead-lettered"]
    table = found.get_by_role("row").filter(has_text="table")
    assert table.get_by_role("cell").last.inner_text() == "no"


AS_RGB = """colour => {
    const dot = new OffscreenCanvas(1, 1).getContext("2d");
    dot.fillStyle = colour;
    dot.fillRect(0, 0, 1, 1);
    return dot.getImageData(0, 0, 1, 1).data.join(" ");
}"""
"""Whichever way a colour is written."""


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_nothing_keeps_people_from_reading_it(page: Page, address: str, sieve: SourceCoordinator, colours: str) -> None:
    page.goto(address)
    page.evaluate("mode => localStorage.setItem('theme', mode)", colours)
    for key in ("even", "odd"):
        records(page, address, key)
        keep(page, f"board-records-{key}-{colours}")
        found = Axe().run(page, context="#partitions-board", options={"resultTypes": ["violations"]})
        above = [one for one in found.response["violations"] if one["impact"] != "minor"]
        assert [(one["id"], [node["html"] for node in one["nodes"]][:2]) for one in above] == []
