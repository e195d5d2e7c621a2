"""The board as a person sees it: real Airflow, real Chromium."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from airflow_coordination.leases import Block, PartitionIdentifier, SourceCoordinator
from tests.browser.conftest import CHROMIUM, ERROR, keep, logged_in, remembered, row_of
from tests.system.harness import START_UP, wait_for

pytestmark = [pytest.mark.system, pytest.mark.skipif(not CHROMIUM, reason="needs Debian's chromium")]
SALES = "{}/plugin/partitions?store=coordination_default&source=sales%7CPARTITION"
NAMES = re.compile("^(elsewhere|flights|sales)$")
FLIGHTS = "{}/plugin/partitions?store=coordination_default&source=flights%7CPARTITION"


@pytest.fixture(scope="module")
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A page on which the viewer has just logged in."""
    with logged_in(browser, address, "viewer") as page:
        yield page


def test_a_parked_partitions_error_is_four_clicks_away(page: Page) -> None:
    page.get_by_role("button", name="Browse").click()
    page.get_by_role("menuitem", name="Partitions").click()
    parked = row_of(page, "flights").get_by_role("link", name="1 parked", exact=True)
    expect(parked).to_be_visible()
    expect(page.get_by_text("The store of connection gone does not answer.")).to_be_visible()
    keep(page, "overview")
    parked.click()
    expect(page.get_by_text("2024-01-01")).to_be_visible()
    keep(page, "parked")
    page.get_by_text("2024-01-01").click()
    expect(page.get_by_text("Partition '2024-01-01' is parked after 5 failures in a row")).to_be_visible()
    expect(page.get_by_text("airflow coordination reopen flights 2024-01-01 --why")).to_be_visible()
    expect(page.get_by_text("a person reopens it")).to_be_visible()
    expect(page.get_by_text(ERROR).first).to_be_visible()
    keep(page, "partition")


def test_hostile_keys_are_text(page: Page, address: str) -> None:
    page.goto(FLIGHTS.format(address))
    expect(page.get_by_text("<script>alert(1)</script>")).to_be_visible()
    expect(page.get_by_text("\\u{202e}gnp.exe")).to_be_visible()
    assert page.evaluate("globalThis.hacked") is None
    keep(page, "hostile")


def test_hostile_keys_are_text_wherever_they_are_shown(browser: Browser, address: str) -> None:
    """Among the owners, in a dry run, and where one is refused."""
    with remembered(browser, address, "editor") as page:
        page.goto(f"{FLIGHTS.format(address)}&prefix=%3Cscript&status=ASSIGNED")
        page.get_by_role("button", name="Reopen").click()
        page.get_by_label("Why").fill("w")
        page.get_by_role("button", name="Dry run").click()
        expect(page.get_by_text("Cannot reopen partition '<script>alert(1)</script>'")).to_be_visible()
        page.goto(f"{FLIGHTS.format(address)}&view=owners")
        expect(page.get_by_role("link", name="<script>alert(1)</script>")).to_be_visible()
        expect(page.get_by_role("link", name="\\u{202e}gnp.exe")).to_be_visible()
        assert page.evaluate("globalThis.hacked") is None


def test_what_only_a_person_can_move_stands_first(page: Page, address: str) -> None:
    page.goto(f"{address}/plugin/partitions")
    needs = page.get_by_role("region", name="2 things need a person")
    expect(needs.get_by_role("listitem")).to_have_count(2)
    said = needs.get_by_role("listitem").filter(has_text="1 parked in sales")
    expect(said).to_contain_text("1 AnalysisException")
    expect(said).to_contain_text(re.compile(r"1 parked in sales for \d+ (s|min)"))
    place = needs.bounding_box()
    assert place
    assert place["y"] + place["height"] < 800  # on the first screen
    keep(page, "board-overview")
    said.get_by_role("link", name="See errors").click()
    expect(page.get_by_role("link", name="2013-07", exact=True)).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(1)


def test_sources_stand_in_the_order_of_trouble_a_well_one_in_one_line(browser: Browser, address: str) -> None:
    with remembered(browser, address, "editor") as page:
        _in_the_order_of_trouble(page, address)


def _in_the_order_of_trouble(page: Page, address: str) -> None:
    page.goto(f"{address}/plugin/partitions")
    sales = row_of(page, "sales")
    for word in ("2 claimable", "2 held", "1 delayed", "1 parked"):
        expect(sales.get_by_role("link", name=word, exact=True)).to_be_visible()
    expect(sales).to_contain_text("2 owners")
    expect(sales.get_by_role("img", name="6 completed, 2 held, 1 parked, 1 delayed, 2 claimable")).to_be_visible()
    said = page.get_by_role("row").filter(has_text="1 is parked: a person reopens it. By itself: 2 claimable go to")
    expect(said).to_be_visible()
    names = page.get_by_role("region", name="Sources, in numbers").get_by_role("link", name=NAMES)
    assert names.all_inner_texts()[-1] == "elsewhere"  # what is well, and has nothing to do
    well = row_of(page, "elsewhere").bounding_box()
    assert well
    assert 33 <= well["height"] <= 36
    page.get_by_role("button", name="Name", exact=True).click()
    expect(page.get_by_role("button", name="Name", exact=True)).to_have_attribute("aria-pressed", "true")
    assert names.all_inner_texts() == ["elsewhere", "flights", "sales"]


def test_a_source_says_how_fast_until_when_who_and_what_failed(page: Page, address: str) -> None:
    page.goto(SALES.format(address))
    expect(page.get_by_role("region", name="Pace")).to_contain_text("a minute, about")
    expect(page.get_by_role("img", name=re.compile("^Ended by 5 minutes: "))).to_be_visible()
    expect(page.get_by_role("region", name="Who works")).to_contain_text("1 held by sales › process [4]")
    expect(page.get_by_role("region", name="Who works")).to_contain_text("no supplier was seen")
    errors = page.get_by_role("region", name="Parked, by error")
    expect(errors).to_contain_text("1AnalysisException: no column named amount")
    keep(page, "board-source")
    errors.get_by_role("link", name="1").click()
    expect(page.get_by_role("link", name="2013-07", exact=True)).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(1)
    assert "alike=AnalysisException" in page.url
    page.goto(FLIGHTS.format(address))
    expect(page.get_by_role("region", name="Parked, by error").get_by_text(ERROR)).to_be_visible()
    assert page.evaluate("globalThis.hacked") is None


def test_a_source_is_paused_and_goes_on(browser: Browser, page: Page, address: str, sales: SourceCoordinator) -> None:
    with remembered(browser, address, "editor") as editor:
        for verb, seen in [("pause", "claimable partition(s) would wait"), ("resume", "could be acquired again.")]:
            editor.goto(SALES.format(address))
            editor.get_by_role("button", name=f"{verb.title()} source").click()
            form = editor.get_by_role("region", name=f"{verb.title()} source")
            expect(form).to_contain_text(f"airflow coordination {verb} sales --why")
            form.get_by_label("Why (kept").fill(f"we {verb} it")
            form.get_by_role("button", name="Dry run").click()
            expect(form).to_contain_text(seen)
            assert sales.pausing.current_pause().paused is (verb == "resume")
            form.get_by_role("button", name=f"{verb.title()} this source").click()
            expect(form.get_by_role("status")).to_contain_text(f"by 'editor', who said 'we {verb} it'")
            assert sales.pausing.current_pause().paused is (verb == "pause")
            if verb == "pause":
                keep(editor, "board-paused")
                page.goto(f"{address}/plugin/partitions")
                need = page.get_by_role("listitem").filter(has_text="sales is paused for")
                expect(need).to_contain_text("by editor: “we pause it” · 2 wait", timeout=60_000)
                need.get_by_role("link", name="See pause").click()
                expect(page.get_by_role("region", name="Who works")).to_be_visible()
                expect(page.get_by_role("button", name="Resume source")).to_have_count(0)


def test_a_list_is_narrowed_by_owner_and_error_in_the_address(page: Page, address: str) -> None:
    page.goto(f"{address}/plugin/partitions?store=coordination_default&source=sales%7CPARTITION")
    page.get_by_label("Owner has").fill("process/5")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.get_by_role("link", name="2013-10", exact=True)).to_be_visible()
    assert "owner=process%2F5" in page.url
    typed = "airflow coordination list sales --owner-like process/5"
    expect(page.get_by_text(typed)).to_be_visible()
    page.get_by_label("Owner has").fill("")
    page.get_by_label("Last error has").fill("<b>no such error</b>")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_text("No partition matches.")).to_be_visible()


def test_a_command_is_copied_or_else_selected(browser: Browser, address: str) -> None:
    typed = "airflow coordination explain sales 2013-09"
    for allowed in (["clipboard-read", "clipboard-write"], []):
        with remembered(browser, address, "viewer") as page:
            page.context.grant_permissions(allowed)
            page.goto(f"{address}/plugin/partitions?store=coordination_default&source=sales%7CPARTITION&key=2013-09")
            if not allowed:
                page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }")
            page.get_by_role("button", name=f"Copy: {typed}").click()
            expect(page.get_by_role("button", name="Copied" if allowed else "Selected: press Ctrl+C")).to_be_visible()
            got = "navigator.clipboard.readText()" if allowed else "getSelection().toString()"
            assert page.evaluate(got) == typed


def test_the_map_shows_every_partition_and_leads_to_each(page: Page, address: str) -> None:
    page.goto(f"{address}/plugin/partitions?store=coordination_default&source=sales%7CPARTITION")
    page.get_by_role("link", name="MAP").click()
    tiles = page.locator("[data-key]")
    expect(tiles).to_have_count(12)
    colours = tiles.evaluate_all("all => all.map(it => getComputedStyle(it).backgroundColor)")
    assert len(set(colours)) == 5, colours
    assert "rgba(0, 0, 0, 0)" not in colours
    keep(page, "map")
    page.locator("[data-key='2013-07']").click()
    expect(page.get_by_text("Partition '2013-07' is parked")).to_be_visible()


def test_hostile_keys_are_tiles(page: Page, address: str) -> None:
    page.goto(f"{FLIGHTS.format(address)}&view=map")
    expect(page.get_by_title("<script>alert(1)</script>: held")).to_be_visible()
    expect(page.get_by_title("\\u{202e}gnp.exe: held")).to_be_visible()
    page.get_by_title("<script>alert(1)</script>: held").click()
    expect(page.get_by_text("is held by 'somebody'").first).to_be_visible()
    assert page.evaluate("globalThis.hacked") is None


def test_a_source_at_work(page: Page, address: str) -> None:
    """The pictures of the documentation."""
    here = f"{address}/plugin/partitions?store=coordination_default&source=sales%7CPARTITION"
    page.goto(here)
    for word, count in (("completed", 6), ("parked", 1), ("delayed", 1), ("held", 2), ("claimable", 2)):
        expect(page.locator("tbody").get_by_text(word, exact=True)).to_have_count(count)
        expect(page.get_by_role("navigation", name="By state").get_by_role("link", name=word)).to_contain_text(
            str(count)
        )
    expect(page.get_by_role("region", name="What is wrong")).to_contain_text("1 is parked: a person reopens it.")
    expect(page.get_by_text("2013-07")).to_have_css("height", "20px")  # an ordinary key stays on one line
    keep(page, "board-partitions")
    page.goto(f"{here}&key=2013-09")
    expect(page.get_by_text("is held by task 'process', map index 4, try 1")).to_be_visible()
    keep(page, "board-partition")
    page.goto(f"{here}&view=owners")
    expect(page.get_by_role("link", name="sales › process [4]")).to_be_visible()
    expect(page.get_by_text("try 1 of run scheduled__2026-11-23T09:00:00+00:00 on worker-1")).to_have_count(2)
    keep(page, "board-owners")


def test_what_has_not_changed_is_not_sent_again_and_stays_to_be_seen(
    browser: Browser, address: str, environ: dict[str, str]
) -> None:
    """The server's log tells: the browser hands a page what it has kept as if it had been sent."""
    log = Path(environ["AIRFLOW_HOME"]) / "server.log"
    kept = re.compile(r"path=/coordination/api/v1/partitions query='[^']*source=sales[^']*' status_code=304")
    with remembered(browser, address, "viewer") as page:
        page.goto(f"{address}/plugin/partitions?store=coordination_default&source=sales%7CPARTITION")
        wait_for(lambda: kept.search(log.read_text()), START_UP, "an answer 304")
        expect(page.get_by_text("2013-07")).to_be_visible()
        expect(page.locator("time").filter(has_text="in 8 h").first).to_be_visible()


@pytest.mark.parametrize(("numbers", "said"), [("old", "counted 1 min ago"), ("none", "is being counted …")])
def test_numbers_say_how_old_they_are(browser: Browser, address: str, numbers: str, said: str) -> None:
    """The server's own answer, as it is where counting takes its time."""

    def late(route: Route) -> None:
        answer = route.fetch()
        body = answer.json()
        for each in body["stores"][0]["sources"]:
            counted = datetime.fromisoformat(each["numbers"]["counted_at"]) - timedelta(seconds=70)
            each["numbers"] = {**each["numbers"], "counted_at": counted.isoformat()} if numbers == "old" else None
        route.fulfill(response=answer, json=body)

    with remembered(browser, address, "viewer") as page:
        page.route("**/coordination/api/v1/sources*", late)
        page.goto(f"{address}/plugin/partitions")
        expect(page.get_by_text(said).first).to_be_visible()
        expect(row_of(page, "sales")).to_be_visible()
        page.unroute_all(behavior="ignoreErrors")


def test_a_clock_that_is_an_hour_off_changes_nothing(browser: Browser, address: str) -> None:
    with remembered(browser, address, "viewer") as page:
        page.add_init_script("const real = Date.now; Date.now = () => real() + 3_600_000;")
        page.goto(f"{address}/plugin/partitions?store=coordination_default&source=sales%7CPARTITION&key=2013-08")
        expect(page.locator("time").filter(has_text="in 8 h").first).to_be_visible()


def test_search_stands_in_the_address(page: Page, address: str) -> None:
    page.goto(FLIGHTS.format(address))
    page.get_by_label("Key begins with").fill("2024-01-02")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_text("<script>alert(1)</script>")).not_to_be_visible()
    expect(page.get_by_role("link", name="2024-01-02", exact=True)).to_be_visible()
    assert "prefix=2024-01-02" in page.url


def test_the_tabs_show_the_sources_of_their_dag(browser: Browser, address: str) -> None:
    with remembered(browser, address, "editor") as page:
        page.goto(f"{address}/plugin/partitions")
        expect(page.get_by_role("link", name="elsewhere")).to_be_visible()
        token = next(each["value"] for each in page.context.cookies() if each["name"] == "_token")
        headers = {"Authorization": f"Bearer {token}"}
        dag = f"{address}/api/v2/dags/flights_dag/dagRuns"
        made = page.request.post(dag, headers=headers, data={"dag_run_id": "r1", "logical_date": None})
        assert made.ok, made.text()
        for place in ("", "/runs/r1", "/runs/r1/tasks/process"):
            page.goto(f"{address}/dags/flights_dag{place}")
            page.get_by_role("link", name="Partitions").click()
            expect(page.get_by_role("link", name="sales", exact=True)).to_be_visible()
            expect(page.get_by_role("link", name="elsewhere")).to_have_count(0)
            keep(page, f"tab{place.replace('/', '-')}")
            page.get_by_role("link", name="sales", exact=True).click()
            expect(page.get_by_text("2013-07")).to_be_visible()
            assert f"/dags/flights_dag{place}/" in page.url


def test_dark_mode_is_the_hosts(page: Page, address: str) -> None:
    page.evaluate("localStorage.setItem('theme', 'dark')")
    page.goto(f"{address}/plugin/partitions")
    expect(page.get_by_role("link", name="1 parked", exact=True).first).to_be_visible()
    colour = page.get_by_role("heading", name="Partitions").evaluate("it => getComputedStyle(it).color")
    lightness = float(colour.removeprefix("oklch(").split()[0])
    assert lightness > 0.8, colour
    keep(page, "dark")


def test_what_changes_is_seen_without_a_click(page: Page, address: str, source: SourceCoordinator) -> None:
    page.goto(f"{address}/plugin/partitions")
    expect(row_of(page, "flights").get_by_role("link", name="1 parked", exact=True)).to_be_visible()
    lease = source.acquire_partition("2024-01-02")
    source.complete(lease)
    expect(row_of(page, "flights").get_by_role("img", name=re.compile("^1 completed, "))).to_be_visible(timeout=60_000)


def test_a_list_has_the_columns_of_its_state_and_is_ordered_by_them(page: Page, address: str) -> None:
    page.goto(f"{SALES.format(address)}&status=PARKED")
    heads = page.get_by_role("columnheader")
    expect(heads).to_have_text(["Key", "For", "Failures", "Last error"])
    expect(page.locator("tbody time")).to_have_count(1)
    page.goto(f"{SALES.format(address)}&status=COMPLETED")
    expect(heads).to_have_text(["Key", "For"])
    for _ in range(2):
        page.get_by_role("button", name=re.compile("^Key")).click()
    expect(heads.first).to_have_attribute("aria-sort", "descending")
    expect(page.locator("tbody tr").first).to_contain_text("2013-06")


def test_some_are_chosen_or_all_that_match(browser: Browser, address: str, sales: SourceCoordinator) -> None:
    with remembered(browser, address, "editor") as page:
        page.goto(f"{SALES.format(address)}&status=COMPLETED")
        expect(page.get_by_text("All that match:")).to_be_visible()
        expect(page.get_by_text("cannot be taken back:")).to_be_visible()
        for key in ("2013-02", "2013-04"):
            page.get_by_label(f"Choose {key}", exact=True).check()
        expect(page.get_by_text("2 chosen:")).to_be_visible()
        page.get_by_role("button", name="Reset", exact=True).click()
        page.get_by_label("Why").fill("late rows")
        page.get_by_role("button", name="Dry run").click()
        expect(page.get_by_text("would reset 2 of 2. Nothing was changed.")).to_be_visible()
        keep(page, "board-chosen")
        page.get_by_role("button", name="Take all that match instead").click()
        page.get_by_role("button", name="Reset", exact=True).click()
        page.get_by_label("Why").fill("late rows")
        page.get_by_role("button", name="Dry run").click()
        expect(page.get_by_text("would reset 6 of 6. Nothing was changed.")).to_be_visible()
        assert sales.counts()["COMPLETED"] == 6


def test_equal_failures_are_one_line_that_opens(page: Page, address: str) -> None:
    page.goto(f"{FLIGHTS.format(address)}&key=2024-01-01")
    happened = page.get_by_role("region", name="What happened")
    expect(happened.locator("tbody tr")).to_have_count(2)
    expect(happened.locator("tbody tr").first).to_contain_text("5 × failed")
    keep(page, "board-parked")
    happened.get_by_role("button", name="Each of the 5").click()
    expect(happened.locator("tbody tr")).to_have_count(7)


def test_parents_and_children_are_links_with_their_states(page: Page, address: str, sales: SourceCoordinator) -> None:
    family = SourceCoordinator(sales.store, "family", "somebody")
    family.create_partitions(["load", PartitionIdentifier("report", parents=["load"])])
    family.supplying.register_dag("flights_dag")
    page.goto(f"{SALES.format(address).replace('sales', 'family')}&key=report")
    relatives = page.get_by_role("region", name="Parents and children")
    expect(relatives).to_contain_text("this one waits for it")
    relatives.get_by_role("link", name="load").click()
    expect(relatives.get_by_role("link", name="report")).to_be_visible()
    expect(relatives).to_contain_text("blocked")


def test_what_is_advised_is_filled_and_what_is_final_stands_apart(browser: Browser, address: str) -> None:
    with remembered(browser, address, "editor") as page:
        page.goto(f"{FLIGHTS.format(address)}&key=2024-01-01")
        actions = page.get_by_role("group", name="Choose an action")
        expect(actions.get_by_role("button")).to_have_text(["Reopen", "Reset", "Finish", "Reset and run"])
        keep(page, "board-actions")
        filled = actions.get_by_role("button", name="Reopen").evaluate("it => getComputedStyle(it).backgroundColor")
        reset = actions.get_by_role("button", name="Reset", exact=True)
        apart = reset.evaluate("it => getComputedStyle(it).backgroundColor")
        assert filled != apart


def test_a_completed_one_is_reset_and_its_dag_runs_for_it(
    browser: Browser, address: str, sales: SourceCoordinator
) -> None:
    """From the partition to the page of the run that was triggered."""
    days = SourceCoordinator(sales.store, "days", "somebody")
    days.create_partitions(["<b>2024-01-01"])
    days.complete(days.acquire_partition("<b>2024-01-01"), [Block("clean", "/out/1", "x", 1_234, 10)])
    days.supplying.register_dag("flights_dag")
    with remembered(browser, address, "editor") as page:
        token = next(each["value"] for each in page.context.cookies() if each["name"] == "_token")
        dag = f"{address}/api/v2/dags/flights_dag"
        headers = {"Authorization": f"Bearer {token}"}
        assert page.request.patch(dag, headers=headers, data={"is_paused": True}).ok
        page.goto(f"{SALES.format(address).replace('sales', 'days')}&key=%3Cb%3E2024-01-01")
        page.get_by_role("button", name="Reset and run").click()
        form = page.get_by_role("region", name="Reset and run")
        expect(form).to_contain_text("airflow coordination reset days '<b>2024-01-01' --run --why")
        form.get_by_label("Why (kept").fill("the file was corrected")
        form.get_by_role("button", name="Dry run").click()
        expect(form).to_contain_text("DAG 'flights_dag' is paused, so that nothing would run: unpause it")
        expect(form.get_by_role("button", name="Reset it and run")).to_have_count(0)
        assert page.request.patch(dag, headers=headers, data={"is_paused": False}).ok
        form.get_by_role("button", name="Dry run").click()
        expect(form).to_contain_text("Readers keep its 1,234 row(s) of clean until the run has published others")
        expect(form).to_contain_text('{"coordination": {"source": "days|PARTITION", "hint": "<b>2024-01-01"}}')
        keep(page, "board-again")
        assert days.counts()["COMPLETED"] == 1
        form.get_by_role("button", name="Reset it and run flights_dag").click()
        expect(form.get_by_role("status")).to_contain_text("was reset, and run manual__")
        assert days.counts()["COMPLETED"] == 0
        keep(page, "board-again-done")
        form.get_by_role("link", name="See the run").click()
        expect(page).to_have_url(re.compile("/dags/flights_dag/runs/manual__"))
        [run] = [
            run
            for run in page.request.get(f"{dag}/dagRuns", headers=headers).json()["dag_runs"]
            if run["dag_run_id"].startswith("manual__")
        ]
        assert run["conf"] == {"coordination": {"source": "days|PARTITION", "hint": "<b>2024-01-01"}}
        assert (run["triggering_user_name"], run["triggered_by"]) == ("editor", "ui")


def test_where_in_the_keys_leads_to_exactly_those(page: Page, address: str) -> None:
    """A range is a bar that can be clicked, and reached by keys: from it to a list of what it has counted."""
    page.goto(SALES.format(address))
    bars = page.get_by_role("group", name="12 ranges of keys").get_by_role("link")
    expect(bars).to_have_count(12)
    expect(bars.nth(6)).to_have_attribute("title", "2013-07 to 2013-07: 1 parked")
    keep(page, "board-ranges")
    bars.nth(6).click()
    expect(page.get_by_text("Only keys from")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.get_by_role("link", name="2013-07", exact=True)).to_be_visible()
    assert "from=2013-07&to=2013-07" in page.url
    expect(page.get_by_text("airflow coordination list sales --key-from 2013-07 --key-to 2013-07")).to_be_visible()
    expect(bars.nth(6)).to_have_attribute("aria-current", "true")
    bars.first.focus()
    for place in (1, 2):
        page.keyboard.press("ArrowRight")
        expect(bars.nth(place)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="2013-03", exact=True)).to_be_visible()
    page.get_by_role("link", name="All keys").click()
    expect(page.locator("tbody tr")).to_have_count(12)
    page.goto(FLIGHTS.format(address))
    hostile = page.get_by_role("group", name=re.compile("ranges of keys$")).get_by_role("link")
    expect(hostile.filter(visible=True).first).to_be_visible()
    assert page.evaluate("globalThis.hacked") is None


def test_ranges_have_a_colour_for_each_state_in_both_modes(page: Page, address: str) -> None:
    seen = []
    for theme in ("dark", "light"):
        page.goto(f"{address}/plugin/partitions")
        page.evaluate(f"localStorage.setItem('theme', '{theme}')")
        page.goto(SALES.format(address))
        bars = page.get_by_role("group", name="12 ranges of keys").get_by_role("link")
        expect(bars).to_have_count(12)
        parts = bars.locator("div").evaluate_all("all => all.map(it => getComputedStyle(it).backgroundColor)")
        assert len(set(parts)) == 5, parts
        parked = bars.nth(6).locator("div").evaluate("it => getComputedStyle(it).backgroundImage")
        assert parked.startswith("repeating-linear-gradient")
        keep(page, f"board-ranges-{theme}")
        seen.append(set(parts))
    assert not seen[0] & seen[1]
