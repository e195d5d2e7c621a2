"""A real Airflow with its own processes: api-server, scheduler with LocalExecutor, triggerer, DAG processor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from tests.engines.postgres import fresh_database
from tests.system.events import EVENTS
from tests.system.harness import DAGS, Airflow, environment
from tests.system.standalone import running


@pytest.fixture(scope="session")
def airflow_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of the session's Airflow, with a place for Spark's event logs."""
    home = tmp_path_factory.mktemp("airflow")
    for event in EVENTS:  # one for each: applications that start in the same millisecond have the same id
        (home / "events" / event.name).mkdir(parents=True)
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
    with running(airflow_home, environ, (path.name for path in DAGS.glob("*.py"))) as airflow:
        yield airflow
