"""All subjects of the kit, held by one class."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.conformance.accounting import Copying, Keeping
from airflow_coordination.testing.conformance.acquisition import Acquisition
from airflow_coordination.testing.conformance.cleaning import Cleaning
from airflow_coordination.testing.conformance.coordinator_cases import Coordinating, Coordinators, SeedOrder
from airflow_coordination.testing.conformance.creation import Creation, Hostile, Refreshing
from airflow_coordination.testing.conformance.endings import Endings, Fused
from airflow_coordination.testing.conformance.exactly import Exactly
from airflow_coordination.testing.conformance.fixtures import Workbench, owner
from airflow_coordination.testing.conformance.following import Following, Parking
from airflow_coordination.testing.conformance.heads import Heads, Remembering, history
from airflow_coordination.testing.conformance.hierarchy import Families, Hierarchy
from airflow_coordination.testing.conformance.lost_answers import Concurrency, LostAnswers
from airflow_coordination.testing.conformance.pausing import Braking, Pausing
from airflow_coordination.testing.conformance.people import People, Retracting
from airflow_coordination.testing.conformance.placing import Placing
from airflow_coordination.testing.conformance.reading import Reading, Summing
from airflow_coordination.testing.conformance.sweeping import Limits, Sweeping
from airflow_coordination.testing.conformance.tenure import Tenure, Wanting
from airflow_coordination.testing.conformance.viewing.branches import Branches, Emptying, Enabling, Publishing
from airflow_coordination.testing.conformance.viewing.documents import Changing, Documents
from airflow_coordination.testing.conformance.viewing.ended import Counting

StoreFactory = Callable[[FakeClock], PartitionStore]


class StoreConformance:
    """Every row of the protocol's table, on one store. Subclasses give the fixture ``store_factory``.

    The tests lie in classes of their own, a subject each, which this one holds: pytest collects them in every subclass,
    and gives them its fixtures. ``TestPlacing = None`` in a subclass leaves a subject out.
    """

    writers: ClassVar[int] = 16
    """How many threads may use the store at once; with ``1`` the tests of races are skipped."""
    keeps_starts: ClassVar[bool] = True
    """Whether ``acquired_at`` and ``owner_details`` are stored with the partition. Where they are not (DynamoDB), a row
    of the history has them if the process that ends the tenure has seen it begin."""

    TestCreation = Creation
    TestAcquisition = Acquisition
    TestTenure = Tenure
    TestWanting = Wanting
    TestEndings = Endings
    TestExactly = Exactly
    TestSweeping = Sweeping
    TestLimits = Limits
    TestPeople = People
    TestHeads = Heads
    TestRemembering = Remembering
    TestKeeping = Keeping
    TestFollowing = Following
    TestParking = Parking
    TestHierarchy = Hierarchy
    TestFamilies = Families
    TestCleaning = Cleaning
    TestRetracting = Retracting
    TestReading = Reading
    TestSumming = Summing
    TestCounting = Counting
    TestCopying = Copying
    TestPausing = Pausing
    TestBraking = Braking
    TestPlacing = Placing
    TestRefreshing = Refreshing
    TestDocuments = Documents
    TestChanging = Changing
    TestBranches = Branches
    TestPublishing = Publishing
    TestEmptying = Emptying
    TestEnabling = Enabling
    TestFused = Fused
    TestHostile = Hostile
    TestCoordinating = Coordinating
    TestLostAnswers = LostAnswers
    TestConcurrency = Concurrency

    @pytest.fixture
    def most_writers(self) -> int:
        """Return how many threads may use the store at once."""
        return self.writers

    @pytest.fixture
    def starts_are_kept(self) -> bool:
        """Return whether the store knows since when a partition is held whoever asks."""
        return self.keeps_starts

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

    @pytest.fixture
    def keeping(self, bench: Workbench) -> Workbench:
        """Return the bench of a store that keeps a history."""
        assert history(bench) == []
        return bench

    @pytest.fixture
    def coordinators(self, store: PartitionStore, clock: FakeClock) -> Coordinators:
        """Return a function that makes a coordinator of the source "flights"."""

        def make(by: str = owner().text, **options: Any) -> SourceCoordinator:
            on = options.pop("store", store)
            return SourceCoordinator(on, "flights", by, clock=clock, randomness=SeedOrder(), **options)

        return make
