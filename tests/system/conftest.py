"""A real Airflow with its own processes: api-server, scheduler with LocalExecutor, triggerer, DAG processor."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import pytest

from airflow_coordination.leases.port import PartitionStore
from airflow_coordination.stores import open_store
from tests.engines.postgres import fresh_database
from tests.system.harness import HOME_VARIABLE, START_UP, Airflow, environment, is_gone, marked, wait_for


def _hear_interrupts() -> None:
    """Undo what a shell does to its background jobs: they ignore SIGINT, and so would Airflow."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture(scope="session")
def airflow_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of the session's Airflow, with a place for Spark's event logs."""
    home = tmp_path_factory.mktemp("airflow")
    (home / "events").mkdir()
    return home


@pytest.fixture(scope="session")
def store_url(postgres_cluster: str) -> Iterator[str]:
    """The session's store, on PostgreSQL, set up."""
    with fresh_database(postgres_cluster) as url:
        store = open_store(url)
        store.setup()
        store.close()
        yield url


@pytest.fixture(scope="session")
def store(store_url: str) -> Iterator[PartitionStore]:
    """The session's store, opened by the tests themselves."""
    store = open_store(store_url)
    yield store
    store.close()


@pytest.fixture(scope="session")
def environ(airflow_home: Path, postgres_cluster: str, store_url: str) -> Iterator[dict[str, str]]:
    """The environment of the session's Airflow, whose own database is another one of the same server."""
    with fresh_database(postgres_cluster) as metadata_url:
        yield environment(airflow_home, metadata_url, store_url)


@pytest.fixture(scope="session")
def metadata(environ: dict[str, str]) -> Iterator[psycopg.Connection[tuple[str]]]:
    """A connection to Airflow's own database, to see what is kept there."""
    url = environ["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"].replace("+psycopg", "")
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def airflow(airflow_home: Path, environ: dict[str, str]) -> Iterator[Airflow]:
    """The running Airflow, which has read every file of the DAG folder; every process of it ends with the session."""
    with (airflow_home / "standalone.log").open("wb") as log:
        process = subprocess.Popen(
            ["airflow", "standalone"], env=environ, stdout=log, stderr=log, preexec_fn=_hear_interrupts
        )
        try:
            yield _ready(Airflow(airflow_home, environ["AIRFLOW__API__BASE_URL"]))
        finally:
            _end(process, airflow_home)


def _ready(airflow: Airflow) -> Airflow:
    wait_for(airflow.healthy, START_UP, f"Airflow is healthy (see {airflow.home}/standalone.log)")
    airflow.log_in()
    wait_for(airflow.knows_all_dags, START_UP, "the DAGs are known")
    return airflow


def _end(standalone: subprocess.Popen[bytes], home: Path) -> None:
    """Kill all of it: in order it may take a minute, for its executor waits for workers, also where one was killed."""
    left = psutil.Process(standalone.pid).children(recursive=True)  # a worker's title hides its environment
    while left := [process for process in left if not is_gone(process)] + marked(HOME_VARIABLE, str(home)):
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        time.sleep(0.05)
    standalone.wait()
