"""Whatever ends a task's work early leaves no live writer, frees its lease, and loses and doubles no row.

All of it on a real scheduler with LocalExecutor, with real Spark, Airflow's database and the store on PostgreSQL.
"""

from __future__ import annotations

import json
import os
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from psycopg import sql

from tests.system.case import Case, Result
from tests.system.events import EVENTS, OWNERSHIP_TIMEOUT, TIMEOUT, WITH_SPARK_UI
from tests.system.harness import CANARY
from tests.system.page import page, table

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.postgres, pytest.mark.timed, pytest.mark.timeout(1200)]

CLEAN_WITHIN = 5.0
UNCLEAN_WITHIN = OWNERSHIP_TIMEOUT + 2.0 + 5.0
"""Seconds: lease + poll + 5."""
BUSY = 3.0
"""Seconds more that a test machine may take which is busy with other tests, and with looking."""
KILLS_PAGE = Path(__file__).parents[2] / "docs" / "reference" / "kills.md"
TOGETHER = 4
"""So many jobs start side by side on a small machine."""


def _stop_host(case):
    """What an init system does: ask everybody, then make sure."""
    everybody = [case.supervisor, case.task, case.jvm, case.driver]
    for process in everybody:
        process.terminate()
    threading.Timer(5, lambda: [process.kill() for process in everybody if process.is_running()]).start()


def _lose_host(case):
    for process in (case.supervisor, case.task, case.jvm, case.driver):
        process.kill()


ACTS = {
    "sigterm_task": lambda case: case.task.terminate(),
    "sigterm_supervisor": lambda case: case.supervisor.terminate(),
    "kill_task": lambda case: case.task.kill(),
    "kill_supervisor": lambda case: case.supervisor.kill(),
    "kill_jvm": lambda case: case.jvm.kill(),
    "kill_driver": lambda case: case.driver.kill(),
    "job_fails": lambda case: case.lines.with_suffix(".fail").touch(),
    "lease_lost": lambda case: case.coordinator.people.release(case.name, by="ana", why="test"),
    "mark_failed": lambda case: case.mark("failed"),
    "mark_success": lambda case: case.mark("success"),
    "clear": lambda case: case.clear(),
    "host_stops": _stop_host,
    "host_lost": _lose_host,
}


@pytest.fixture(scope="module")
def pool():
    with ThreadPoolExecutor(len(EVENTS)) as pool:
        yield pool


def _marked(event):
    return pytest.param(event, id=event.name, marks=[pytest.mark.long] if event.long else [])


@pytest.fixture(scope="module")
def chosen(request):
    """The events that were chosen: what nobody asks for need not happen."""
    items = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    names = {parameters["event"].name for parameters in items if "event" in parameters}
    return [event for event in EVENTS if event.name in names or event.name == WITH_SPARK_UI]


@pytest.fixture(scope="module")
def timeouts(airflow, store, pool, chosen):
    """What is seen of the timeouts, as futures. Their time runs from their start, while the other jobs get to work."""
    cases = _start(airflow, store, [event for event in chosen if event.is_timeout])
    return {case.name: pool.submit(lambda case: _after(case, *_end(case)), case) for case in cases}


@pytest.fixture(scope="module")
def cases(airflow, store, timeouts, chosen):
    """All other cases at work, each under its own lease."""
    others = [event for event in chosen if not event.is_timeout]
    batches = [others[first : first + TOGETHER] for first in range(0, len(others), TOGETHER)]
    return [case for batch in batches for case in _start(airflow, store, batch)]


def _start(airflow, store, events):
    cases = [Case(airflow, store, event) for event in events]
    for case in cases:
        case.wait_until_at_work()
    return cases


@pytest.fixture(scope="module")
def results(airflow, cases, timeouts, at_work, pool):
    """What is seen of each event, as futures. First the ends are timed, then the next owners may load the machine."""
    for case in cases:
        airflow.pause(case.name)
    if any(case.name == "host_lost" for case in cases):
        airflow.trigger("sweeps_host_lost")
    turn = threading.Lock()
    ends = {case: pool.submit(_end, case, turn) for case in cases}
    wait(ends.values())
    return timeouts | {case.name: pool.submit(lambda case: _after(case, *ends[case].result()), case) for case in cases}


def _end(case, turn=None):
    """Let the event happen; return the seconds until the lease was free and until the last writer was gone."""
    if case.event.is_timeout:
        free, gone = case.watch_the_end(TIMEOUT.total_seconds() + 60)
        happened_at = case.timed_out_at()
    else:
        with turn if case.event.clean else nullcontext():  # the rest of a lease passes while others have their turn
            happened_at = time.time()
            ACTS[case.name](case)
            free, gone = case.watch_the_end(60)
    written = case.lines.stat().st_size
    time.sleep(1)
    assert case.lines.stat().st_size == written, "somebody still writes"
    return free - happened_at, gone - happened_at


def _after(case: Case, free: float, gone: float) -> Result:
    ending = str(case.ending.outcome)
    case.see_it_completed()
    return Result(case.event, free, gone, ending, case.next_owner(), case.instance["state"], case.rows())


@pytest.mark.parametrize("event", [_marked(event) for event in EVENTS])
def test_l2_the_kill_contract(results, event):
    result = results[event.name].result()
    print(f"\n{event.what}: free after {result.free:.1f} s, nobody alive after {result.gone:.1f} s, {result.rows}")
    within = CLEAN_WITHIN if event.clean else UNCLEAN_WITHIN
    assert (result.ending, result.next_owner, result.state) == (event.ending, event.next_owner, event.state)
    assert result.exact
    assert result.gone < CLEAN_WITHIN + BUSY
    assert result.free < within + BUSY


@pytest.fixture(scope="module")
def at_work(cases):
    """What can be seen while all are at work: every process's arguments, the link of one task, what its Spark shows."""
    [case] = [case for case in cases if case.name == WITH_SPARK_UI]
    arguments = [" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])]
    link = case.link("Spark UI")
    [application] = json.loads(_fetch(f"{link}/api/v1/applications"))
    environment = _fetch(f"{link}/api/v1/applications/{application['id']}/environment")
    return SimpleNamespace(arguments=arguments, link=link, environment=environment)


def _fetch(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read().decode()


def test_a_link_leads_to_the_spark_ui_while_it_runs(at_work):
    assert at_work.link.startswith("http://")
    assert '"spark.app.name"' in at_work.environment


def test_a_page_says_what_was_seen(results, chosen):
    found = [results[event.name].result() for event in chosen]
    print(f"\n{table(found)}")
    if os.environ.get("WRITE_DOCS") and chosen == list(EVENTS):
        KILLS_PAGE.write_text(page(found))
    told = [line.split("|")[1].strip() for line in KILLS_PAGE.read_text().splitlines() if line.startswith("| ")]
    assert told[2:] == [event.what for event in EVENTS]


def test_x4_nothing_secret_is_in_a_log_an_argument_a_page_or_airflows_database(
    airflow, results, chosen, at_work, metadata
):
    """Promise X4, with the password of every store connection of these tests."""
    logs = list((airflow.home / "logs").rglob("*.log"))
    events = [path for path in (airflow.home / "events").rglob("*") if path.is_file() and path.stat().st_size]
    assert len(logs) >= len(chosen)
    assert "SparkListenerEnvironmentUpdate" in "".join(path.read_text() for path in events)
    assert [path for path in logs + events if CANARY in path.read_text()] == []
    said = (airflow.home / "standalone.log").read_text().splitlines()  # Airflow echoes jobs there without its mask
    assert [line for line in said if CANARY in line and "the job prints" not in line] == []
    assert any("at_work.py" in line for line in at_work.arguments)
    assert [line for line in at_work.arguments if CANARY in line] == []
    assert CANARY not in at_work.environment
    tables = [name for (name,) in metadata.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
    assert {"xcom", "rendered_task_instance_fields", "task_state_store"} <= set(tables)
    rows = sql.SQL("SELECT count(*) FROM {} AS kept WHERE kept::text LIKE %s")
    leaks = {name: metadata.execute(rows.format(sql.Identifier(name)), [f"%{CANARY}%"]).fetchone() for name in tables}
    assert {name for name, (count,) in leaks.items() if count} == set()
