"""All parts of the kit in one class."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.conformance.accounting import Keeping
from airflow_coordination.testing.conformance.acquisition import Acquisition
from airflow_coordination.testing.conformance.braking import Braking
from airflow_coordination.testing.conformance.cleaning import Cleaning
from airflow_coordination.testing.conformance.concurrency import Concurrency
from airflow_coordination.testing.conformance.coordinating import Coordinating
from airflow_coordination.testing.conformance.copying import Copying
from airflow_coordination.testing.conformance.creation import Creation
from airflow_coordination.testing.conformance.endings import Endings
from airflow_coordination.testing.conformance.exactly import Exactly
from airflow_coordination.testing.conformance.families import Families
from airflow_coordination.testing.conformance.following import Following
from airflow_coordination.testing.conformance.fused import Fused
from airflow_coordination.testing.conformance.heads import Heads
from airflow_coordination.testing.conformance.hierarchy import Hierarchy
from airflow_coordination.testing.conformance.hostile import Hostile
from airflow_coordination.testing.conformance.limits import Limits
from airflow_coordination.testing.conformance.lost_answers import LostAnswers
from airflow_coordination.testing.conformance.parking import Parking
from airflow_coordination.testing.conformance.pausing import Pausing
from airflow_coordination.testing.conformance.people import People
from airflow_coordination.testing.conformance.placing import Placing
from airflow_coordination.testing.conformance.reading import Reading
from airflow_coordination.testing.conformance.refreshing import Refreshing
from airflow_coordination.testing.conformance.retracting import Retracting
from airflow_coordination.testing.conformance.sweeping import Sweeping
from airflow_coordination.testing.conformance.tenure import Tenure
from airflow_coordination.testing.conformance.wanting import Wanting
from airflow_coordination.testing.conformance.workbench import Workbench

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
