"""The conformance kit on SQLite."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from airflow_coordination.stores import open_store
from airflow_coordination.testing.conformance import StoreConformance
from airflow_coordination.testing.conformance.kit import StoreFactory


class TestSqlite(StoreConformance):
    @pytest.fixture
    def store_factory(self, empty_sqlite: Path, tmp_path: Path) -> StoreFactory:
        path = shutil.copy(empty_sqlite, tmp_path / "store.db")
        return lambda clock: open_store(f"sqlite:///{path}", clock=clock)
