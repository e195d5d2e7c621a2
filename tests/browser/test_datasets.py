"""The pages *Datasets* and *Dataset*, and upkeep apart from people's sources: real Airflow, real Chromium."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from airflow_coordination.duties.compaction.configured import set_compaction
from airflow_coordination.duties.retention.ruled import set_rules
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.outputs.overlays import merged_source
from airflow_coordination.protocol.beside.chunk_sums import ChunkState, ChunkSums
from airflow_coordination.protocol.partition import PartitionIdentifier
from airflow_coordination.values.blocks import Block
from tests.browser.conftest import CHROMIUM, keep, remembered

pytestmark = [pytest.mark.system, pytest.mark.skipif(not CHROMIUM, reason="needs Debian's chromium")]
HOSTILE = "<script>globalThis.hacked = 1</script>"
JANUARY = datetime(2013, 1, 1, tzinfo=UTC)
CHUNK = "2013-01-03T00:00:00Z/2013-01-04T00:00:00Z"


def day(number: int, state: str, reason: str | None = None, dataset: str = "clean", **more: int) -> ChunkSums:
    start, merged = JANUARY + timedelta(days=number), state == ChunkState.MERGED
    return ChunkSums(
        dataset=dataset,
        chunk_start=start,
        chunk_end=start + timedelta(days=1),
        state=state,
        heads=24,
        rows=1_200,
        files_before=186,
        bytes_before=3_200_000,
        files_now=2 if merged else 186,
        bytes_now=500_000 if merged else 3_200_000,
        merged_at=start + timedelta(days=2) if merged else None,
        reason=reason,
        **more,
    )


SUMS = [
    *(day(number, ChunkState.MERGED) for number in (0, 1)),
    day(2, ChunkState.FRESH, "never compacted", uncovered_bytes=3_200_000, uncovered_heads=24),
    day(3, ChunkState.PARTLY, "dead rows: 23 %", uncovered_bytes=1_600_000, uncovered_heads=12, dead_rows=360),
    day(4, ChunkState.LEFT_OUT, f"over the limit: {HOSTILE}"),
    ChunkSums(dataset="clean", state=ChunkState.LEFT_OUT, reason="unbounded interval"),
    *(day(number, ChunkState.MERGED, dataset="long") for number in range(300)),
    ChunkSums(dataset=HOSTILE, state="\u202eof newer code"),
]


@pytest.fixture(scope="module")
def page(browser: Browser, address: str, source: SourceCoordinator) -> Iterator[Page]:
    """A page of the viewer's; one source is planned, of another one only something is there."""
    store = source.store
    orders = SourceCoordinator(store, "orders", "planner")
    orders.supplying.register_dag("flights_dag")
    orders.looking.chunks.put(SUMS)
    groups = SourceCoordinator(store, merged_source("orders"), "worker-2/upkeep/scheduled__1/merge/3/1")
    groups.supplying.register_dag("flights_dag")
    payload = {"dataset": "clean", "chunk": CHUNK}
    groups.create_partitions([PartitionIdentifier("e0001|clean|2013-01-03T00:00:00Z|0", payload)])
    assert groups.get_next_partition()
    parcels = SourceCoordinator(store, "parcels", "somebody")
    parcels.supplying.register_dag("flights_dag")
    parcels.create_partitions(["a"])
    lease = parcels.get_next_partition()
    assert lease is not None
    parcels.complete(lease, [Block("raw", "file:///out/raw", "digest", rows=1, bytes=1)])
    with remembered(browser, address, "viewer") as page:
        yield page


def chunks_of(page: Page) -> Locator:
    """Return the lines of a dataset's chunks."""
    return page.get_by_role("region", name="Chunks", exact=True).locator("tbody tr")


def test_upkeep_stands_apart(page: Page, address: str) -> None:
    page.goto(f"{address}/plugin/partitions")
    upkeep = page.get_by_role("region", name="Upkeep")
    expect(upkeep.get_by_role("link", name="~merged/orders")).to_be_visible()
    expect(upkeep.get_by_role("link", name="DATASETS")).to_have_count(0)
    expect(upkeep.get_by_role("link", name="orders", exact=True)).to_have_count(0)
    expect(page.get_by_role("link", name="orders", exact=True)).to_be_visible()
    keep(page, "board-upkeep")


def test_all_datasets_say_how_far_they_are(page: Page, address: str) -> None:
    page.goto(f"{address}/plugin/partitions")
    page.get_by_role("navigation", name="Where you are").get_by_role("link", name="DATASETS").click()
    orders = page.get_by_role("region", name="orders")
    orders.scroll_into_view_if_needed()
    clean = orders.locator("tbody tr").filter(has=page.get_by_role("link", name="clean", exact=True))
    for said in (
        "62 %",
        "4.8 MB left in 2 chunks",
        "1 fresh, 1 partly, 2 merged, 2 left out",
        "930 → 562",
        "16 MB → 11 MB",
        "2013-01-01 – 2013-01-06",
        "2 left out, 1 being merged now",
    ):
        expect(clean).to_contain_text(said)
    expect(clean.get_by_role("img", name="1 fresh, 1 partly, 2 merged, 2 left out")).to_be_visible()
    expect(orders.get_by_role("region", name="Being merged")).to_contain_text(f"clean {CHUNK}")
    expect(orders.get_by_role("region", name="Being merged")).to_contain_text("upkeep › merge [3]")
    expect(orders.get_by_role("link", name=HOSTILE)).to_be_visible()
    expect(orders.get_by_text("airflow coordination compaction status orders")).to_be_visible()
    whole = page.get_by_role("region", name="All datasets")
    expect(whole).to_contain_text(re.compile(r"Of (all|the) \d+ sources.*as it was"))
    for label, least in (("datasets", 3), ("files", 1_162)):
        number = whole.get_by_role("region", name=label, exact=True).locator("p").nth(1)
        assert int(number.inner_text().replace(",", "")) >= least
    expect(whole.get_by_role("region", name="left to merge")).to_contain_text("4.8 MB")
    keep(page, "board-datasets")
    parcels = page.get_by_role("region", name="parcels")
    parcels.scroll_into_view_if_needed()
    never = parcels.get_by_role("region", name="Never planned")
    expect(never).to_contain_text("Of raw nothing more is known: its compaction was never planned.")
    expect(never).to_contain_text("airflow coordination compaction plan parcels")
    assert page.evaluate("globalThis.hacked") is None


def test_a_dataset_shows_its_chunks_in_time_and_why(page: Page, address: str) -> None:
    page.goto(f"{address}/plugin/partitions?store=coordination_default&source=orders%7CPARTITION")
    page.get_by_role("link", name="DATASETS").click()
    page.get_by_role("link", name="clean", exact=True).click()
    expect(page.get_by_role("region", name="compacted")).to_contain_text("62 %")
    expect(page.get_by_role("region", name="files")).to_contain_text("562930 were published")
    expect(page.get_by_role("region", name="left to merge")).to_contain_text("4.8 MBin 2 chunks1 being merged now")
    timeline = page.get_by_role("region", name="Timeline")
    expect(timeline.get_by_role("img")).to_have_attribute(
        "aria-label", "From the oldest on: 1 fresh, 1 partly, 2 merged, 2 left out"
    )
    boxes = timeline.locator("i")
    states = ["merged", "merged", "fresh", "partly", "left out", "left out"]
    assert boxes.evaluate_all("all => all.map(it => it.dataset.state)") == states
    colours = boxes.evaluate_all("all => all.map(it => getComputedStyle(it).backgroundColor)")
    assert len(set(colours)) == 4, colours
    assert "rgba(0, 0, 0, 0)" not in colours
    expect(timeline.get_by_title("2013-01-03: fresh – never compacted")).to_be_visible()
    rows = chunks_of(page)
    expect(rows).to_have_count(6)
    meters = rows.nth(4).locator("[data-meter]")
    assert meters.evaluate_all("all => all.map(it => it.dataset.meter)") == ["186 2", "3200000 500000"]
    expect(rows.nth(0)).to_contain_text(f"2013-01-05left out1863.2 MB1,200over the limit: {HOSTILE}")
    expect(rows.nth(1)).to_contain_text("(12 of 24 partitions not)")
    expect(rows.nth(1)).to_contain_text("1,200, 360 dead")
    expect(rows.nth(4)).to_contain_text("2013-01-01merged186 → 23.2 MB → 500 kB")
    expect(rows.nth(5)).to_contain_text("no intervalleft outunknownunknownunknownunbounded interval")
    assert page.evaluate("globalThis.hacked") is None
    keep(page, "board-dataset")


def test_older_chunks_are_on_the_next_page(page: Page, address: str) -> None:
    page.goto(f"{address}/plugin/partitions?store=coordination_default&source=orders%7CPARTITION&dataset=long")
    expect(chunks_of(page)).to_have_count(250)
    page.get_by_role("link", name="Older chunks").click()
    expect(chunks_of(page)).to_have_count(50)
    expect(chunks_of(page).last).to_contain_text("2013-01-01")
    page.get_by_role("link", name="Newest chunks").click()
    expect(chunks_of(page)).to_have_count(250)


def test_hostile_names_are_text_and_newer_states_are_shown(page: Page, address: str) -> None:
    page.goto(f"{address}/plugin/partitions?store=coordination_default&source=orders%7CPARTITION&view=datasets")
    page.get_by_role("link", name=HOSTILE).click()
    expect(page.get_by_text("\\u{202e}of newer code").first).to_be_visible()
    expect(page.get_by_role("navigation", name="Where you are")).to_contain_text(HOSTILE)
    assert page.evaluate("globalThis.hacked") is None


def test_rules_say_what_is_next_and_which_one_fits(page: Page, address: str, source: SourceCoordinator) -> None:
    """By keyboard, and with a reason that is a script."""
    days = SourceCoordinator(source.store, "days", "planner")
    days.supplying.register_dag("flights_dag")
    today = source.store.now().replace(hour=0, minute=0, second=0, microsecond=0)
    starts = [today - timedelta(days=ago) for ago in (0, 9, 10)]
    days.looking.chunks.put(
        ChunkSums(dataset="clean", chunk_start=start, chunk_end=start + timedelta(days=1), heads=1) for start in starts
    )
    said = [{"type": "dropBeforeByPeriod", "period": "P9D"}, {"type": "loadForever", "tieredReplicants": {"lake": 1}}]
    set_rules(days, "clean", json.dumps(said), "dora", HOSTILE)
    set_compaction(days, "clean", '{"skipOffsetFromLatest": "P14D"}', "joe", HOSTILE)
    page.goto(f"{address}/plugin/partitions?store=coordination_default&source=days%7CPARTITION&dataset=clean")
    rules = page.get_by_role("region", name="Rules", exact=True)
    expect(rules).to_contain_text("version 1 by dora")
    expect(rules).to_contain_text(f"“{HOSTILE}”")
    first, second, _ = rules.locator("tbody tr").all()
    expect(first).to_contain_text("rule 1, dropBeforeByPeriod P9Dreaders do not see it1never by itself")
    expect(second).to_contain_text("kept, with copies: 1 in lake2in")
    went = f"{starts[1]:%Y-%m-%d}/{starts[1] + timedelta(days=1):%Y-%m-%d} is dropped by rule 1, dropBeforeByPeriod P9D"
    expect(second).to_contain_text(went)
    expect(page.get_by_role("region", name="next change by a rule")).to_contain_text(went)
    rules.get_by_role("textbox").fill("2013-01/P1M")
    page.keyboard.press("Enter")
    expect(rules.get_by_role("status")).to_contain_text(
        "2013-01-01/2013-02-01 is dropped – rule 1, dropBeforeByPeriod P9D"
    )
    expect(rules).to_contain_text("airflow coordination rules explain days 2013-01/P1M --dataset clean")
    rules.get_by_role("textbox").fill("nothing like it")
    page.keyboard.press("Enter")
    expect(rules.get_by_role("alert")).to_be_visible()
    compaction = page.get_by_role("region", name="Compaction", exact=True)
    expect(compaction).to_contain_text('"skipOffsetFromLatest": "P14D"')
    expect(compaction).to_contain_text(f"“{HOSTILE}”")
    assert page.evaluate("globalThis.hacked") is None
    keep(page, "board-rules")


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("size", [{"width": 1280, "height": 800}, {"width": 390, "height": 844}], ids=["wide", "phone"])
@pytest.mark.parametrize("asked", ["dataset=clean", "view=datasets"])
@pytest.mark.long
def test_nothing_keeps_people_from_using_it(
    page: Page, address: str, asked: str, colours: str, size: dict[str, int]
) -> None:
    """What axe calls more than minor, in what is ours; and nothing is wider than a phone."""
    page.set_viewport_size(size)  # type: ignore[arg-type]
    page.evaluate("theme => localStorage.setItem('theme', theme)", colours)
    page.goto(f"{address}/plugin/partitions?store=coordination_default&source=orders%7CPARTITION&{asked}")
    expect(page.get_by_text("airflow coordination compaction status orders")).to_be_visible()
    keep(page, f"board-{asked}-{colours}-{size['width']}")
    wider = "board => board.scrollWidth > board.clientWidth"
    assert not page.locator("#partitions-board").evaluate(wider)
    found = Axe().run(page, context="#partitions-board", options={"resultTypes": ["violations"]})
    worse = [each for each in found.response["violations"] if each["impact"] != "minor"]
    assert [f"{each['id']}: {[node['html'] for node in each['nodes']][:3]}" for each in worse] == []
