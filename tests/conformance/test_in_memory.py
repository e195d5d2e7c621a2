"""The conformance kit on the in-memory store."""

from __future__ import annotations

import pytest

from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.conformance import StoreConformance
from airflow_coordination.testing.conformance.kit import StoreFactory


class TestInMemory(StoreConformance):
    @pytest.fixture
    def store_factory(self) -> StoreFactory:
        return InMemoryStore
