"""All parts of the kit in one class."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.conformance.accounting import Copying, Keeping
from airflow_coordination.testing.conformance.acquisition import Acquisition
from airflow_coordination.testing.conformance.cleaning import Cleaning
from airflow_coordination.testing.conformance.coordinator_cases import Coordinating
from airflow_coordination.testing.conformance.creation import Creation, Hostile, Refreshing
from airflow_coordination.testing.conformance.endings import Endings, Fused
from airflow_coordination.testing.conformance.exactly import Exactly
from airflow_coordination.testing.conformance.fixtures import Workbench
from airflow_coordination.testing.conformance.following import Following, Parking
from airflow_coordination.testing.conformance.heads import Heads
from airflow_coordination.testing.conformance.hierarchy import Families, Hierarchy
from airflow_coordination.testing.conformance.lost_answers import Concurrency, LostAnswers
from airflow_coordination.testing.conformance.pausing import Braking, Pausing
from airflow_coordination.testing.conformance.people import People, Retracting
from airflow_coordination.testing.conformance.placing import Placing
from airflow_coordination.testing.conformance.reading import Reading
from airflow_coordination.testing.conformance.sweeping import Limits, Sweeping
from airflow_coordination.testing.conformance.tenure import Tenure, Wanting

StoreFactory = Callable[[FakeClock], PartitionStore]


class StoreConformance(
    Creation,
    Acquisition,
    Tenure,
    Wanting,
    Endings,
    Exactly,
    Sweeping,
    Limits,
    People,
    Heads,
    Keeping,
    Following,
    Parking,
    Hierarchy,
    Families,
    Cleaning,
    Retracting,
    Reading,
    Copying,
    Pausing,
    Braking,
    Placing,
    Refreshing,
    Fused,
    Hostile,
    Coordinating,
    LostAnswers,
    Concurrency,
):
    """Every row of the protocol's table, on one store. Subclasses give the fixture ``store_factory``."""

    @pytest.fixture
    def clock(self) -> FakeClock:
        """Return the time that the store and the tests share."""
        return FakeClock()

    @pytest.fixture
    def store(self, store_factory: StoreFactory, clock: FakeClock) -> Iterator[PartitionStore]:
        """Give a new store, set up, and close it afterwards."""
        store = store_factory(clock)
        store.setup()
        yield store
        store.close()

    @pytest.fixture
    def bench(self, store: PartitionStore, clock: FakeClock) -> Workbench:
        """Return the store with short names for the writes."""
        return Workbench(store, clock)
