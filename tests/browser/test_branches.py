"""Branches and what is hidden, on the board: who may look sees it, who may act changes it; in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from airflow_coordination.duties.branches.beginning import begin
from airflow_coordination.duties.branches.selection import Selection
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.planning.intervals import interval_of
from airflow_coordination.planning.view import changing
from airflow_coordination.planning.view.view import BY_RULES, BranchState
from airflow_coordination.protocol.beside.chunk_sums import ChunkState, ChunkSums
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.values.blocks import Block
from tests.browser.conftest import CHROMIUM, keep, remembered

pytestmark = [pytest.mark.system, pytest.mark.skipif(not CHROMIUM, reason="needs Debian's chromium")]
HOSTILE = "<script>globalThis.hacked = 1</script>"
DAYS = [f"2013-01-{day:02}" for day in range(1, 32)]
LONG_AGO = datetime(2013, 5, 1, tzinfo=UTC)
HERE = "{}/plugin/partitions?store=coordination_default&source={}%7CPARTITION"


def publish(prices: SourceCoordinator, key: str, rows: int) -> None:
    lease = prices.acquire_partition(key)
    assert lease is not None
    block = Block("clean", f"file:///out/{key}/{rows}", f"{key}-{rows}", rows=rows, bytes=rows * 1_000)
    prices.complete(lease, [block], interval=f"{key}/P1D")


def hide(prices: SourceCoordinator, interval: str, by: str, why: str) -> None:
    said = interval_of("interval", interval)
    prices.documents.change_view(lambda view: changing.hidden(view, "clean", said, by, why, LONG_AGO), by, why)


def a_month(store: PartitionStore, name: str) -> SourceCoordinator:
    """Make a month, of which all days run again in a branch: 24 have completed in it, one is parked; two are hidden."""
    prices = SourceCoordinator(store, name, "somebody", max_failures=1)
    prices.supplying.register_dag("flights_dag")
    enabling = parts_of(store).enabling
    assert enabling is not None
    enabling.enable_branches()
    prices.create_partitions(DAYS)
    for key in DAYS:
        publish(prices, key, 10)
    begin(prices, Selection(prefix="2013-01"), "carla", f"carrier codes were wrong {HOSTILE}")
    for key in DAYS[:24]:
        publish(prices, key, 12)
    lease = prices.acquire_partition(DAYS[24])
    assert lease is not None
    prices.fail(lease, "no such file")
    hide(prices, "2013-01-03/P1D", "ana", "wrong")
    prices.documents.change_view(lambda view: changing.purging(view, view.hidden, LONG_AGO), "killUnused", "w")
    hide(prices, "2013-01-02/P1D", BY_RULES, "rule 1, dropBeforeByPeriod P18M")
    starts = [datetime(2013, 1, day, tzinfo=UTC) for day in range(1, 6)]
    prices.looking.chunks.put(
        ChunkSums(
            dataset="clean",
            chunk_start=start,
            chunk_end=start + timedelta(days=1),
            state=ChunkState.FRESH,
            heads=1,
            rows=10,
        )
        for start in [*starts, datetime(2013, 2, 1, tzinfo=UTC)]
    )
    return prices


@pytest.fixture(scope="module")
def prices(source: SourceCoordinator) -> SourceCoordinator:
    """A month that no test changes."""
    return a_month(source.store, "prices")


@pytest.fixture
def own(source: SourceCoordinator) -> SourceCoordinator:
    """A month of the test's own, which it may change."""
    return a_month(source.store, f"prices-{uuid4().hex[:8]}")


@pytest.fixture(scope="module")
def page(browser: Browser, address: str, prices: SourceCoordinator) -> Iterator[Page]:
    """A page of the viewer's."""
    with remembered(browser, address, "viewer") as page:
        yield page


@pytest.fixture
def editor(browser: Browser, address: str) -> Iterator[Page]:
    """A page of somebody's who may act."""
    with remembered(browser, address, "editor") as page:
        yield page


def branch_of(page: Page) -> Locator:
    return page.get_by_role("article", name="Branch 1")


def test_a_dataset_says_what_its_branch_waits_for_and_what_is_hidden(page: Page, address: str) -> None:
    page.goto(f"{HERE.format(address, 'prices')}&dataset=clean")
    branch = branch_of(page)
    for said in (
        "begun",
        "24 of 31 partitions completed, 1 parked.",
        f"carrier codes were wrong {HOSTILE}",
        "carla began it",
    ):
        expect(branch).to_contain_text(said)
    expect(branch.get_by_role("img", name="24 completed, 1 parked, of 31")).to_be_visible()
    expect(page.get_by_role("note").first).to_contain_text("Branch 1 of 2013-01-01/2013-02-01 is begun.")
    hidden = page.get_by_role("region", name="Hidden").locator("tbody tr")
    expect(hidden).to_have_count(2)
    expect(hidden.nth(0)).to_contain_text("2013-01-03/2013-01-04purging")
    expect(hidden.nth(0)).to_contain_text("It is being deleted, and cannot be restored.")
    expect(hidden.nth(1)).to_contain_text(f"{BY_RULES}rule 1, dropBeforeByPeriod P18M")
    expect(hidden.nth(1)).to_contain_text("It can be restored until a purge marks it")
    for button in ("Roll back…", "Restore…", "Hide…", "See what it would delete"):
        expect(page.get_by_role("button", name=button)).to_have_count(0)
    assert page.evaluate("globalThis.hacked") is None
    keep(page, "board-branch")


def test_the_timeline_says_what_is_hidden_and_what_a_branch_replaces(page: Page, address: str) -> None:
    page.goto(f"{HERE.format(address, 'prices')}&dataset=clean")
    timeline = page.get_by_role("region", name="Timeline")
    label = "From the oldest on: 6 fresh, 5 in branch 1, begun, 1 purging, 1 hidden"
    expect(timeline.get_by_role("img")).to_have_attribute("aria-label", label)
    boxes = timeline.locator("i")
    begun = "in branch 1, begun"
    asides = [begun, f"hidden, {begun}", f"purging, {begun}", begun, begun, ""]
    assert boxes.evaluate_all("all => all.map(it => it.dataset.aside)") == asides
    looks = boxes.evaluate_all(
        "all => all.map(it => [getComputedStyle(it).backgroundImage, getComputedStyle(it).borderTopWidth])"
    )
    assert len({tuple(look) for look in looks}) == 4, looks
    expect(timeline.get_by_title("2013-01-02: fresh, hidden, in branch 1, begun")).to_be_visible()
    expect(page.locator("tr", has_text="2013-01-02fresh")).to_contain_text("fresh, hidden, in branch 1, begun")


def test_all_datasets_name_what_waits(page: Page, address: str) -> None:
    page.goto(f"{HERE.format(address, 'prices')}&view=datasets")
    note = page.get_by_role("note")
    expect(note).to_contain_text("Branch 1 of 2013-01-01/2013-02-01 is begun. 24 of 31 partitions completed, 1 parked.")
    expect(page.locator("tbody tr").first).to_contain_text("2 hidden")
    expect(note.get_by_role("img", name="24 completed, 1 parked, of 31")).to_be_visible()
    note.get_by_role("link", name="Branch 1").click()
    expect(branch_of(page)).to_be_visible()
    expect(page.get_by_role("region", name="Hidden").locator("tbody tr").first).to_contain_text("clean")


def test_a_partition_says_in_which_branch_it_runs_and_what_it_has_published_there(page: Page, address: str) -> None:
    page.goto(HERE.format(address, "prices"))
    row = page.locator("tbody tr").first
    expect(row).to_contain_text("completed in branch 1 (begun)")
    row.get_by_role("link", name=DAYS[0]).click()
    expect(page.get_by_text("in branch 1 (begun)").first).to_be_visible()
    published = page.locator("tbody tr", has_text="clean")
    expect(published).to_have_count(2)
    expect(published.filter(has_text="in branch 1")).to_contain_text("clean, in branch 1 (begun)")
    expect(published.filter(has_text="in branch 1")).to_contain_text("branch 1 is begun")
    expect(page.get_by_text("~1~clean")).to_have_count(0)
    keep(page, "board-partition-in-branch")
    page.get_by_role("link", name="branch 1").first.click()
    expect(branch_of(page)).to_contain_text("24 of 31 partitions completed")


def test_a_reset_out_of_a_branch_is_refused_and_one_in_it_is_offered(
    editor: Page, address: str, own: SourceCoordinator
) -> None:
    editor.goto(f"{HERE.format(address, own.source)}&key={DAYS[24]}")
    actions = editor.get_by_role("region", name="Actions")
    actions.get_by_role("button", name="Reset", exact=True).click()
    actions.get_by_role("textbox", name="Why").fill("again")
    actions.get_by_role("button", name="Dry run").click()
    expect(actions.get_by_text("it runs in branch 1, which has begun")).to_be_visible()
    expect(actions.get_by_role("link", name="Publish branch 1, or roll it back")).to_be_visible()
    expect(actions.get_by_role("button", name="Reset 1 partition(s)")).to_have_count(0)
    actions.get_by_role("button", name="Dry run in branch 1").click()
    actions.get_by_role("button", name="Reset 1 partition(s) in branch 1").click()
    expect(actions.get_by_text("Done: reset 1 of 1.")).to_be_visible()
    found = own.partition(DAYS[24])
    assert found is not None
    assert (found.branch, found.status) == (1, "UNASSIGNED")


def test_a_branch_is_published_when_nothing_is_missing_and_rolled_back(
    editor: Page, address: str, own: SourceCoordinator
) -> None:
    editor.goto(f"{HERE.format(address, own.source)}&dataset=clean")
    branch = branch_of(editor)
    expect(branch.get_by_role("button", name="Roll back…")).to_be_visible()
    expect(branch.get_by_role("button", name="Publish…")).to_have_count(0)
    own.people.reset(DAYS[24], "ana", "again", branch=1)
    for key in DAYS[24:]:
        publish(own, key, 12)
    expect(branch).to_contain_text("31 of 31 partitions completed.")
    branch.get_by_role("button", name="Publish…").focus()
    editor.keyboard.press("Enter")
    form = branch.get_by_role("region", name="Publish")
    expect(form.get_by_text(f"airflow coordination branches publish {own.source} 1")).to_be_visible()
    form.get_by_role("textbox", name="Why").fill("sums agree")
    editor.keyboard.press("Enter")
    expect(form.get_by_text("Readers would see branch 1, all of it from one instant on")).to_be_visible()
    expect(form.locator("tbody tr")).to_have_text("clean29290348290 kB348 kB")
    expect(form.get_by_text("Dry run: would publish. Nothing was changed.")).to_be_visible()
    keep(editor, "board-publish")
    assert own.documents.view().shown == ()
    form.get_by_role("button", name="Publish", exact=True).click()
    expect(form.get_by_role("status")).to_have_text("Branch 1 is published: readers see it.")
    assert own.documents.view().shown == (1,)
    expect(branch.get_by_role("button", name="Make final…")).to_be_visible()
    branch.get_by_role("button", name="Roll back…").click()
    form = branch.get_by_role("region", name="Roll back")
    form.get_by_role("textbox", name="Why").fill("two carriers are missing")
    form.get_by_role("button", name="Dry run").click()
    expect(form.locator("tbody tr")).to_have_text("clean29348290348 kB290 kB")
    form.get_by_role("button", name="Roll back", exact=True).click()
    expect(form.get_by_role("status")).to_have_text("Branch 1 was rolled back.")
    assert own.documents.view().state_of(1) is BranchState.ROLLED_BACK
    assert own.documents.newest("view").author == "editor"  # type: ignore[union-attr]


def test_an_interval_is_hidden_and_restored(editor: Page, address: str, own: SourceCoordinator) -> None:
    editor.goto(f"{HERE.format(address, own.source)}&dataset=clean")
    part = editor.get_by_role("region", name="Hidden")
    part.get_by_role("button", name="Hide…").click()
    form = part.get_by_role("region", name="Hide", exact=True)
    form.get_by_role("textbox", name="Interval").fill("2013-01-10/P2D")
    form.get_by_role("textbox", name="Why").fill("wrong prices")
    form.get_by_role("button", name="Dry run").click()
    expect(form.locator("tbody tr")).to_have_text("clean220020 kB0 B")
    form.get_by_role("button", name="Hide", exact=True).click()
    expect(form.get_by_role("status")).to_have_text("Readers do not see what lies in 2013-01-10/P2D of clean.")
    restore = part.get_by_role("group", name="Restore 2013-01-10/2013-01-12").get_by_role("button", name="Restore…")
    restore.click()
    form = part.get_by_role("region", name="Restore")
    form.get_by_role("textbox", name="Why").fill("they were right")
    form.get_by_role("button", name="Dry run").click()
    expect(form.locator("tbody tr")).to_have_text("clean20200 B20 kB")
    form.get_by_role("button", name="Restore", exact=True).click()
    expect(restore).to_have_count(0)
    assert [str(each.interval) for each in own.documents.view().hidden] == [
        "2013-01-03/2013-01-04",
        "2013-01-02/2013-01-03",
    ]


def test_a_purge_is_tried_and_never_done(editor: Page, address: str, own: SourceCoordinator) -> None:
    editor.goto(f"{HERE.format(address, own.source)}&dataset=clean")
    part = editor.get_by_role("region", name="Purge, dry run")
    part.get_by_role("button", name="See what it would delete").click()
    expect(part).to_contain_text("Nothing was deleted.")
    expect(part.get_by_text(f"airflow coordination outputs purge {own.source}")).to_be_visible()
    expect(part.get_by_role("button", name="Purge", exact=True)).to_have_count(0)
    keep(editor, "board-purge")
