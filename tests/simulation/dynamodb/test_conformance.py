"""The conformance kit on the real store over the simulated engine."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores.dynamodb import DynamoDBOptions, DynamoDBStore, requests
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.conformance import StoreConformance
from airflow_coordination.testing.conformance.kit import StoreFactory
from tests.simulation.dynamodb.engine import Engine

OPTIONS = DynamoDBOptions(table_name="coordination", billing_mode="on_demand")


class TestSimulatedEngine(StoreConformance):
    writers = 1  # the engine is for one thread; its races are the simulation's
    options = OPTIONS

    @pytest.fixture
    def store_factory(self, monkeypatch: pytest.MonkeyPatch) -> StoreFactory:
        monkeypatch.setattr(requests, "PARALLEL", 1)
        engine: list[Engine] = []

        def make(clock: FakeClock) -> PartitionStore:
            engine[:] = engine or [Engine(clock.now)]
            return DynamoDBStore(self.options, clock, client=lambda _: engine[0])

        return make


class TestWithHistory(TestSimulatedEngine):
    """The same, with a row for each tenure beside it."""

    keeps_starts = False
    options = replace(OPTIONS, history_retention=timedelta(days=30))
