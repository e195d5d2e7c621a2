"""The accounting of a source: added up when somebody asks, and then its dead letters, portion by portion."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from airflow_coordination.leases import Block, SourceCoordinator
from airflow_coordination.sources import dead_letters_again
from airflow_coordination.values.accounting import Accounting
from tests.browser.conftest import CHROMIUM, keep, remembered

pytestmark = [pytest.mark.system, pytest.mark.skipif(not CHROMIUM, reason="needs Debian's chromium")]
HERE = "{}/plugin/partitions?store=coordination_default&source=letters%7CPARTITION"
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
