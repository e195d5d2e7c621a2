"""What the in-memory store's history costs."""

from __future__ import annotations

import tracemalloc

from airflow_coordination import SourceCoordinator, open_store

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
