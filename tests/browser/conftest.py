"""An API server of Airflow with the board, and a Chromium that looks at it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, StorageState, expect, sync_playwright

from airflow_coordination.leases import PartitionIdentifier, SourceCoordinator
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.testing.conformance.creation import HOSTILE_KEYS
from tests.engines.ports import free_ports
from tests.engines.postgres import fresh_database
from tests.integration.stores.filling import fill
from tests.share import LARGE, SMALL
from tests.system.harness import START_UP, wait_for

PICTURES = os.environ.get("WRITE_PICTURES")
CHROMIUM = shutil.which("chromium")
# Without these it looks for hosts of its maker's.
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",  # 64 MB in many containers
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
DAG = """\
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

with DAG("flights_dag", schedule=None):
    EmptyOperator(task_id="process")
with DAG("other_dag", schedule=None):
    EmptyOperator(task_id="process")
"""
expect.set_options(timeout=30_000)  # a wait has a bound, never a length: five seconds are too few where others compute
LOOKED_THROUGH = ("source-00", "source-03")
LARGE_SOURCES = {
    name: LARGE if name in LOOKED_THROUGH else SMALL for name in (f"source-{number:02}" for number in range(20))
}
"""By their names, how many partitions they have."""
ERROR = "OutOfMemoryError: <script>globalThis.hacked = 1</script>"


@pytest.fixture(scope="session")
def environ(tmp_path_factory: pytest.TempPathFactory, large_url: str, night_url: str) -> dict[str, str]:
    home = tmp_path_factory.mktemp("airflow")
    (home / "dags").mkdir()
    (home / "dags" / "flights.py").write_text(DAG)
    (home / "passwords.json").write_text(json.dumps({"viewer": "viewer", "editor": "editor"}))
    (port,) = free_ports(1)
    settings = {
        "CORE__LOAD_EXAMPLES": "False",
        "CORE__DAGS_FOLDER": str(home / "dags"),
        "CORE__SIMPLE_AUTH_MANAGER_USERS": "viewer:viewer,editor:user",
        "CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(home / "passwords.json"),
        "API__PORT": str(port),
        "API__HOST": "127.0.0.1",
        "API__BASE_URL": f"http://127.0.0.1:{port}",
        "API__WORKERS": "1",
        "COORDINATION__BOARD_CONNECTIONS": "coordination_default,gone,large,night",
    }
    files = {"COORDINATION_DEFAULT": home / "store.db", "GONE": home / "no" / "store.db"}
    urls = {**{name: f"sqlite:///{file}" for name, file in files.items()}, "LARGE": large_url, "NIGHT": night_url}
    stores = {name: {"conn_type": "coordination", "host": url} for name, url in urls.items()}
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")},
        **{f"AIRFLOW__{name}": value for name, value in settings.items()},
        **{f"AIRFLOW_CONN_{name}": json.dumps(store) for name, store in stores.items()},
        "AIRFLOW_HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }


@pytest.fixture(scope="session")
def large_url(postgres_cluster: str, postgres_template: str) -> Iterator[str]:
    """A store on PostgreSQL; ``large`` fills it."""
    with fresh_database(postgres_cluster, postgres_template) as url:
        yield url


@pytest.fixture(scope="session")
def night_url(postgres_cluster: str, postgres_template: str) -> Iterator[str]:
    """An empty store on PostgreSQL: ``tests/browser/test_night.py`` fills it, and takes its sources away again."""
    with fresh_database(postgres_cluster, postgres_template) as url:
        yield url


@pytest.fixture(scope="session")
def large(large_url: str) -> PartitionStore:
    """1,000,000 partitions (in CI 25,800) in 20 sources, which belong to the DAG."""
    for size in set(LARGE_SOURCES.values()):
        names = [name for name, its in LARGE_SOURCES.items() if its == size]
        fill(large_url, size * len(names), names)
    store = open_store(large_url)
    for name in LARGE_SOURCES:
        SourceCoordinator(store, name, "somebody").supplying.register_dag("flights_dag")
    return store


@pytest.fixture(scope="session")
def source(environ: dict[str, str]) -> Iterator[SourceCoordinator]:
    """A source of one DAG: one partition is parked, another is free, and there is one of every hostile key."""
    store = open_store(json.loads(environ["AIRFLOW_CONN_COORDINATION_DEFAULT"])["host"])
    store.setup()
    flights = SourceCoordinator(store, "flights", "somebody")
    flights.create_partitions(["2024-01-01", "2024-01-02"])
    for _ in range(flights.settings.max_failures):
        lease = flights.acquire_partition("2024-01-01")
        flights.fail(lease, ERROR, retry_after=timedelta(0))
    flights.create_partitions(HOSTILE_KEYS)
    for key in ("<script>alert(1)</script>", "\u202egnp.exe"):
        assert flights.acquire_partition(key)
    flights.supplying.register(dag_id="flights_dag")
    yield flights
    store.close()


@pytest.fixture(scope="session")
def sales(environ: dict[str, str], source: SourceCoordinator) -> SourceCoordinator:
    """A year of sales as one finds it at work: something in each state."""
    owner = "worker-1/sales/scheduled__2026-11-23T09:00:00+00:00/process/{}/1"
    months = SourceCoordinator(source.store, "sales", owner.format(4))
    months.create_partitions([PartitionIdentifier(f"2013-{month:02}", {"month": month}) for month in range(1, 13)])
    for month in range(1, 7):
        months.complete(months.acquire_partition(f"2013-{month:02}"))
    for _ in range(months.settings.max_failures):
        months.fail(months.acquire_partition("2013-07"), "AnalysisException: no column named amount", timedelta(0))
    months.close(months.acquire_partition("2013-08"), reopen_after=timedelta(hours=8))
    months.acquire_partition("2013-09")
    SourceCoordinator(source.store, "sales", owner.format(5)).acquire_partition("2013-10")
    months.supplying.register_dag("flights_dag")
    SourceCoordinator(source.store, "elsewhere", "somebody").supplying.register_dag("other_dag")
    return months


@pytest.fixture(scope="session")
def address(environ: dict[str, str], source: SourceCoordinator, sales: SourceCoordinator) -> Iterator[str]:
    """The address of the running API server, which knows the DAG."""
    log = (Path(environ["AIRFLOW_HOME"]) / "server.log").open("wb")
    for command in (["db", "migrate"], ["dags", "reserialize"]):
        subprocess.run(["airflow", *command], env=environ, check=True, stdout=log, stderr=log)
    server = subprocess.Popen(["airflow", "api-server"], env=environ, stdout=log, stderr=log)
    url = environ["AIRFLOW__API__BASE_URL"]
    try:
        wait_for(lambda: _answers(url), START_UP, f"the API server answers (see {log.name})")
        yield url
    finally:
        server.terminate()
        server.wait(30)
        log.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, closed with the module: as long as Playwright is open, no test can call asyncio.run."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@contextmanager
def logged_in(browser: Browser, address: str, name: str) -> Iterator[Page]:
    """Open a page on which somebody has just logged in, in a session of its own."""
    with _opened(browser, None) as page:
        page.goto(address)
        log_in(page, name)
        yield page


@contextmanager
def remembered(browser: Browser, address: str, name: str) -> Iterator[Page]:
    """Open an empty page for somebody who has logged in before: the form and Airflow's first page cost seconds."""
    if (address, name) not in _SESSIONS:
        with logged_in(browser, address, name) as page:
            _SESSIONS[address, name] = page.context.storage_state()
    with _opened(browser, _SESSIONS[address, name]) as page:
        yield page


_SESSIONS: dict[tuple[str, str], StorageState] = {}
"""Who has logged in at which address: it outlives the browser."""


@contextmanager
def _opened(browser: Browser, session: StorageState | None) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 800}, storage_state=session)
    page = context.new_page()
    page.set_default_timeout(30_000)
    yield page
    context.close()


def log_in(page: Page, name: str) -> None:
    """Fill Airflow's form in."""
    page.get_by_label("Username").fill(name)
    page.locator("input[type=password]").fill(name)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Browse")).to_be_visible()


def row_of(page: Page, name: str) -> Locator:
    """Return the line of numbers of a source on the first page."""
    numbers = page.get_by_role("region", name=re.compile("in numbers$"))
    return numbers.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def keep(page: Page, name: str) -> None:
    """Keep a picture, where they are wanted."""
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png")


def _answers(url: str) -> bool:
    try:
        return bool(urllib.request.urlopen(f"{url}/api/v2/version", timeout=5).status == 200)
    except OSError:
        return False
