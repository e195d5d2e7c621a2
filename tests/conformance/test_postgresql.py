"""The conformance kit on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from airflow_coordination.stores import open_store
from airflow_coordination.stores.sql.columns import (
    AUDIT,
    CHUNKS,
    DOCUMENTS,
    ENDED,
    FOLLOW_UPS,
    HEADS,
    HISTORY,
    PARTITIONS,
    SOURCES,
)
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.conformance import StoreConformance
from airflow_coordination.testing.conformance.kit import StoreFactory
from tests.engines.postgres import fresh_database

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


@pytest.fixture(scope="module")
def database(postgres_cluster: str) -> Iterator[str]:
    """URL of a database that is set up once, because migrating takes longer than a test."""
    with fresh_database(postgres_cluster) as url:
        store = open_store(url, clock=FakeClock())
        store.setup()
        store.close()
        yield url


@pytest.fixture
def emptied(database: str) -> Iterator[str]:
    """URL of the database; what a test leaves in it is removed."""
    yield database
    engine = create_engine(make_url(database))
    with engine.begin() as connection:
        for table in (PARTITIONS, HEADS, SOURCES, AUDIT, HISTORY, FOLLOW_UPS, CHUNKS, DOCUMENTS, ENDED):
            connection.execute(text(f"DELETE FROM {table}"))
    engine.dispose()


class TestPostgresql(StoreConformance):
    @pytest.fixture
    def store_factory(self, emptied: str) -> StoreFactory:
        return lambda clock: open_store(emptied, clock=clock)
