"""What a mutant showed that no other test looked at."""

from __future__ import annotations

import random
from datetime import timedelta

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.leases.clock import Randomness
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock


def test_s9_now_and_then_an_acquisition_starts_at_the_new_ones() -> None:
    """However many wait in front: the coordinator asks for "new first" about once in eight times."""
    clock = FakeClock()
    one = SourceCoordinator(InMemoryStore(clock), "flights", "o", clock=clock, randomness=Randomness(random.Random(7)))
    one.create_partitions([f"before {number}" for number in range(200)])
    while (lease := one.get_next_partition()) is not None:
        one.close(lease, timedelta(seconds=1))
    clock.advance(2)
    one.create_partitions([f"new {number}" for number in range(200)])
    first = [one.get_next_partition() for _ in range(100)]
    new = sum(lease is not None and lease.key.startswith("new") for lease in first)
    assert 3 <= new <= 30
