"""Fixtures for every test: the private PostgreSQL cluster, started once and only if somebody asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from airflow_coordination.stores import open_store
from airflow_coordination.testing.postgres import fresh_database, private_postgres


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[str]:
    """URL of the session's cluster: its maintenance database."""
    with private_postgres() as url:
        yield url


@pytest.fixture(scope="session")
def postgres_template(postgres_cluster: str) -> Iterator[str]:
    """Name of a database that is set up as a store, to be copied."""
    with fresh_database(postgres_cluster) as url:
        store = open_store(url)
        store.setup()
        store.close()
        yield url.rpartition("/")[2]


@pytest.fixture
def postgres_store_url(postgres_cluster: str, postgres_template: str) -> Iterator[str]:
    """URL of a new database that is set up as a store, for one test. All of a session have the same store id."""
    with fresh_database(postgres_cluster, postgres_template) as url:
        yield url


@pytest.fixture
def postgres_url(postgres_cluster: str) -> Iterator[str]:
    """URL of a new empty database, for one test."""
    with fresh_database(postgres_cluster) as url:
        yield url
