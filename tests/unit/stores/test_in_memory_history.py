"""What the in-memory store's history costs."""

from __future__ import annotations

import tracemalloc
from datetime import timedelta

from airflow_coordination import SourceCoordinator, open_store
from airflow_coordination.protocol.writes import Sweep
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.history.past_tenures import unremembered
from airflow_coordination.values.accounting import Accounting
from airflow_coordination.values.names import identifier_of

PROGRESS = 100_000
ENDINGS = 40


def test_the_history_holds_no_progress_of_earlier_tenures() -> None:
    """It kept each partition as it was before and after every ending: 20,000 times whatever progress it had."""
    coordinator = SourceCoordinator(open_store("memory://"), "flights", "me")
    coordinator.create_partitions(["k"])
    tracemalloc.start()
    try:
        for number in range(ENDINGS):
            lease = coordinator.get_next_partition()
            assert lease is not None
            coordinator.give_up(coordinator.save_progress_state(lease, f"{number}" + "x" * PROGRESS))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(coordinator.looking.past_tenures()) == ENDINGS
    assert held < ENDINGS * PROGRESS / 4


def test_x11_a_sweep_that_is_applied_twice_ends_two_tenures_under_one_operation() -> None:
    """Each row has the counts of its own end. The check took both for the newest once (in memory, seed 25465)."""
    clock = FakeClock()
    coordinator = SourceCoordinator(InMemoryStore(clock), "flights", "me", clock=clock)
    coordinator.create_partitions(["k"])
    sweep = Sweep(source=identifier_of(coordinator), op="a" * 24, limit=10, max_lost_leases=5)
    for _ in range(2):
        lease = coordinator.get_next_partition()
        assert lease is not None
        coordinator.save_progress_state(lease, "half", counted=Accounting(read=3, unrouted=3))
        clock.advance(timedelta(hours=1))
        assert coordinator.store.sweep(sweep).reclaimed == 1
    newest, first = coordinator.looking.past_tenures()
    assert (newest.accounting, first.accounting) == (Accounting(read=6, unrouted=6), Accounting(read=3, unrouted=3))
    assert newest.op == first.op
    assert list(unremembered(coordinator.store, identifier_of(coordinator))) == []
