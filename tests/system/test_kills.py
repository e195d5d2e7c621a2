"""Whatever ends a task's work early leaves no live writer, frees its lease, and loses and doubles no row.

All of it on a real scheduler with LocalExecutor, with real Spark, Airflow's database and the store on PostgreSQL.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait

import psutil
import pytest

from tests.system.case import Case, Result
from tests.system.events import EVENTS, OWNERSHIP_TIMEOUT, TIMEOUT
from tests.system.harness import CANARY

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.spark, pytest.mark.postgres, pytest.mark.timeout(1200)]

CLEAN_WITHIN = 5.0
UNCLEAN_WITHIN = OWNERSHIP_TIMEOUT + 2.0 + 5.0
"""Seconds: lease + poll + 5."""
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
    "lease_lost": lambda case: case.coordinator.release(case.name, by="ana", why="test"),
    "mark_failed": lambda case: case.mark("failed"),
    "mark_success": lambda case: case.mark("success"),
    "clear": lambda case: case.clear(),
    "host_stops": _stop_host,
    "host_lost": _lose_host,
}


@pytest.fixture(scope="module")
def cases(airflow, store):
    """All cases at work, each under its own lease; the timeouts last, because their time runs from the start."""
    cases = []
    events = sorted(EVENTS, key=lambda event: event.is_timeout)
    for first in range(0, len(events), TOGETHER):
        batch = [Case(airflow, store, event) for event in events[first : first + TOGETHER]]
        for case in batch:
            case.wait_until_at_work()
        cases += batch
    return cases


@pytest.fixture(scope="module")
def results(airflow, cases):
    """What was seen of each event, as futures. First all ends are timed, then the next owners may load the machine."""
    airflow.trigger("sweeps_host_lost")
    turn = threading.Lock()
    with ThreadPoolExecutor(len(cases)) as pool:
        ends = {case: pool.submit(_end, case, turn) for case in cases}
        wait(ends.values())
        yield {case.name: pool.submit(_after, case, end) for case, end in ends.items()}


def _end(case, turn):
    """Let the event happen; return the seconds until the lease was free and until the last writer was gone."""
    if case.event.is_timeout:
        free, gone = case.watch_the_end(TIMEOUT.total_seconds() + 60)
        happened_at = case.timed_out_at()
    else:
        with turn:
            happened_at = time.time()
            ACTS[case.name](case)
            free, gone = case.watch_the_end(60)
    written = case.lines.stat().st_size
    time.sleep(1)
    assert case.lines.stat().st_size == written, "somebody still writes"
    return free - happened_at, gone - happened_at


def _after(case: Case, end: Future[tuple[float, float]]) -> Result:
    free, gone = end.result()
    ending = str(case.ending.outcome)
    case.see_it_completed()
    return Result(case.event, free, gone, ending, case.next_owner(), case.instance["state"], case.rows())


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
def test_the_kill_contract(results, event):
    result = results[event.name].result()
    print(f"\n{event.what}: {result}")
    within = CLEAN_WITHIN if event.clean else UNCLEAN_WITHIN
    assert (result.ending, result.next_owner, result.state) == (event.ending, event.next_owner, event.state)
    assert result.exact
    assert result.gone < CLEAN_WITHIN
    assert result.free < within


def test_nothing_secret_is_in_a_log_or_an_argument(airflow):
    """Promise X4, with the password of every store connection of these tests."""
    logs = list((airflow.home / "logs").rglob("*.log"))
    assert len(logs) >= len(EVENTS)
    assert [path for path in logs if CANARY in path.read_text()] == []
    said = (airflow.home / "standalone.log").read_text().splitlines()  # Airflow echoes jobs there without its mask
    assert [line for line in said if CANARY in line and "the job prints" not in line] == []
    arguments = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]  # a zombie has none
    assert [line for line in arguments if CANARY in " ".join(line)] == []
