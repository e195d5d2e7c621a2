"""What people see of a source, on the stores that are servers: owners, sources, progress."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from airflow_coordination.leases import Owner, PartitionStatus, SourceCoordinator
from airflow_coordination.monitoring.owners import owners
from airflow_coordination.monitoring.progress import Pace
from airflow_coordination.monitoring.summaries import sources
from airflow_coordination.protocol.beside.parts import parts_of
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.names import compose_source
from tests.unit.monitoring.words import counted_and_listed, one_of_each

MINUTE = timedelta(minutes=1)
TASK = Owner.of_task("node/7", "flights", "manual__1", "process", 3, 2).text
SOURCE = compose_source("flights", "eu", "PARTITION")
STORES = [pytest.param("dynamodb"), pytest.param("postgresql", marks=[pytest.mark.slow, pytest.mark.postgres])]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, clock: FakeClock) -> Iterator[PartitionStore]:
    """A store under a clock that the test moves."""
    if request.param == "dynamodb":
        moto = request.getfixturevalue("moto")
        made = moto.store("looking", clock)
        made.setup()
    else:
        made = open_store(request.getfixturevalue("postgres_store_url"), clock=clock)
    yield made
    made.close()
    if request.param == "dynamodb":
        moto.delete("looking")


@pytest.fixture
def flights(store: PartitionStore, clock: FakeClock) -> SourceCoordinator:
    coordinator = SourceCoordinator(store, "flights", TASK, "eu", ownership_timeout=10 * MINUTE, clock=clock)
    coordinator.supplying.register_dag("flights_dag")
    coordinator.create_partitions([f"k{number}" for number in range(5)])
    return coordinator


def test_who_holds_what_page_by_page(flights, store, clock):
    leases = {key: flights.acquire_partition(key) for key in ("k0", "k2", "k3")}
    clock.advance(4 * MINUTE)
    flights.renew(leases["k2"])
    flights.save_progress_state(leases["k3"], {"row": 1})
    first = owners(store, SOURCE, limit=2)
    last = owners(store, SOURCE, limit=2, after=first.after)
    assert [held.key for held in (*first.held, *last.held)] == ["k0", "k2", "k3"]
    assert (first.after, last.after) == ("k2", None)
    k0, k2, [k3] = *first.held, last.held
    assert {held.fence for held in (k0, k2, k3)} == {lease.fence for lease in leases.values()}
    assert {held.task.task for held in (k0, k2, k3)} == {"process"}
    assert [held.heard for held in (k0, k2, k3)] == [False, True, True]
    assert k0.since == k2.since == k3.wrote_at - 4 * MINUTE
    assert k3.since == (
        k0.since if parts_of(store).history is not None else None
    )  # DynamoDB keeps no start that a save would hide
    # DynamoDB's leases last longer by how little it knows the time.
    assert [round(held.left / MINUTE) for held in (k0, k2, k3)] == [6, 10, 10]


def test_sources_and_their_progress(flights, store, clock):
    pace = Pace()
    pace.progress(flights.looking.outlook(), clock.monotonic())
    for _ in range(3):
        flights.complete(flights.get_next_partition())
    clock.advance(MINUTE)
    [found] = sources(store)
    assert (found.name, found.prefix, found.dags, found.total) == ("flights", "eu", ("flights_dag",), 5)
    assert found.counts[PartitionStatus.COMPLETED] == 3
    assert found.outlook.oldest_claimable >= MINUTE
    seen = pace.progress(found.outlook, clock.monotonic())
    assert (round(seen.rate.per_minute), seen.outlook.completed) == (3, 3)


def test_each_count_leads_to_a_list_of_exactly_those(store, clock):
    found = counted_and_listed(one_of_each(store, clock))
    numbers = {word: number for word, (number, _) in found.items()}
    assert numbers == {word: len(keys) for word, (_, keys) in found.items()}
    assert list(numbers.values()) == [6, 2, 3, 2, 2, 3, 4]
