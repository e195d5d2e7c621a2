"""The conformance kit on SQLite."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from airflow_coordination.stores import open_store
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.conformance import StoreConformance
from airflow_coordination.testing.conformance.kit import StoreFactory


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that is set up once, because migrating takes longer than a test."""
    path = tmp_path_factory.mktemp("sqlite") / "empty.db"
    store = open_store(f"sqlite:///{path}", clock=FakeClock())
    store.setup()
    store.close()
    return path


class TestSqlite(StoreConformance):
    @pytest.fixture
    def store_factory(self, empty: Path, tmp_path: Path) -> StoreFactory:
        path = shutil.copy(empty, tmp_path / "store.db")
        return lambda clock: open_store(f"sqlite:///{path}", clock=clock)
