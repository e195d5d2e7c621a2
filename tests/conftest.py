"""Fixtures for every test: the private PostgreSQL cluster, started once and only if somebody asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from airflow_coordination.testing.postgres import fresh_database, private_postgres


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[str]:
    """URL of the session's cluster: its maintenance database."""
    with private_postgres() as url:
        yield url


@pytest.fixture
def postgres_url(postgres_cluster: str) -> Iterator[str]:
    """URL of a new empty database, for one test."""
    with fresh_database(postgres_cluster) as url:
        yield url
