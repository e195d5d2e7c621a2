"""A real Airflow with its own processes: api-server, scheduler with LocalExecutor, triggerer, DAG processor."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from airflow_coordination.stores import open_store
from airflow_coordination.testing.postgres import fresh_database
from tests.system.harness import MARK, START_UP, Airflow, environment, marked, wait_for


def _hear_interrupts() -> None:
    """Undo what a shell does to its background jobs: they ignore SIGINT, and so would Airflow."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture(scope="session")
def airflow_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of the session's Airflow; its DAGs are in ``dags``."""
    home = tmp_path_factory.mktemp("airflow")
    (home / "dags").mkdir()
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
def start_airflow(airflow_home: Path, store_url: str) -> Iterator[Callable[[], Airflow]]:
    """Start Airflow once the DAG files are there; end every process of it at the end."""
    environ = environment(airflow_home, store_url)
    started: list[subprocess.Popen[bytes]] = []

    def start() -> Airflow:
        log = (airflow_home / "standalone.log").open("wb")
        subprocess.run(["airflow", "db", "migrate"], env=environ, check=True, stdout=log, stderr=log)
        started.append(
            subprocess.Popen(
                ["airflow", "standalone"], env=environ, stdout=log, stderr=log, preexec_fn=_hear_interrupts
            )
        )
        airflow = Airflow(airflow_home, environ["AIRFLOW__API__BASE_URL"])
        wait_for(airflow.healthy, START_UP, f"Airflow is healthy (see {airflow_home}/standalone.log)")
        airflow.log_in()
        return airflow

    yield start
    for process in started:
        process.send_signal(signal.SIGINT)  # SIGTERM would leave its components behind
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
    left = marked(MARK, str(airflow_home))
    for process in left:
        process.terminate()
    for process in psutil.wait_procs(left, timeout=5)[1]:
        process.kill()
