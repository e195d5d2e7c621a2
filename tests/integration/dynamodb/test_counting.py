"""Counts between two exact ones: brought by few processes for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from airflow_coordination.leases import PartitionStatus, SourceCoordinator
from airflow_coordination.stores.dynamodb import DynamoDBStore
from airflow_coordination.stores.dynamodb.counting import ENOUGH, FLEET, FLUSH_SECONDS
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.values.times import Randomness
from tests.integration.dynamodb.engine import Engine

COMPLETED = PartitionStatus.COMPLETED


class Drawn(Randomness):
    """Chances that a test decides."""

    def __init__(self, *, happens: bool) -> None:
        super().__init__()
        self.happens = happens
        self.asked: list[float] = []

    def chance(self, probability: float) -> bool:
        self.asked.append(probability)
        return self.happens


Process = Callable[[Drawn, FakeClock], DynamoDBStore]


@pytest.fixture
def process(moto: Engine, table: str) -> Iterator[Process]:
    """Makes processes on a source of three partitions that is counted, each with its own chance and time."""
    clock = FakeClock()
    first = moto.store(table, clock)
    first.setup()
    one = SourceCoordinator(first, "s", "a")
    one.create_partitions(["a", "b", "c"])
    one.counts()
    yield lambda draws, local: DynamoDBStore(moto.options(table), clock, lambda _: moto.client, draws, local)
    moto.delete(table)


def acquire(store: DynamoDBStore) -> None:
    one = SourceCoordinator(store, "s", "a")
    assert one.get_next_partition(hint=one.claimable()[0])


@pytest.mark.parametrize("happens", [True, False])
def test_c7_who_ends_after_little_work_brings_it_by_chance_for_others_like_it(process: Process, happens: bool) -> None:
    """C7: one change of a thousand: with a chance of 1 in 1,000, and then a thousand times as much."""
    draws = Drawn(happens=happens)
    store = process(draws, FakeClock())
    acquire(store)
    store.close()
    assert draws.asked[-1] == 1 / ENOUGH
    assert store.table.requests["update_item"] == 1 + happens
    served = process(Drawn(happens=False), FakeClock()).counts("s|PARTITION")
    assert served[PartitionStatus.ASSIGNED] == (ENOUGH if happens else 0)
    assert served[PartitionStatus.UNASSIGNED] == (0 if happens else 3), "a sample below zero is shown as zero"


def test_c7_a_process_that_stays_brings_now_and_then_and_learns_how_many_there_are(process: Process) -> None:
    """C7: at first as one of 64, then as one of those that the counts know of."""
    local = FakeClock()
    store = process(Drawn(happens=False), local)
    sent = []
    for seconds in (FLUSH_SECONDS * FLEET, 1, FLUSH_SECONDS + 1):
        local.advance(seconds)
        acquire(store)
        sent.append(store.table.requests["update_item"])
    assert sent == [1, 3, 4]  # the second brings two changes, so that two are at work; it is early for the third
