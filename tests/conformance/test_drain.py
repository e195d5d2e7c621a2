"""Many workers on one store: each partition is processed exactly once."""

from __future__ import annotations

import multiprocessing
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from airflow_coordination.leases import PartitionStatus, SourceCoordinator
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store

THREADS, PROCESSES, PARTITIONS = 8, 4, 200
DRAINED = {
    PartitionStatus.UNASSIGNED: 0,
    PartitionStatus.ASSIGNED: 0,
    PartitionStatus.CLOSED: 0,
    PartitionStatus.COMPLETED: PARTITIONS,
}


def drain(store: PartitionStore, name: str) -> list[str]:
    """Complete what can be had; every other partition by the fused step."""
    worker = SourceCoordinator(store, "s", name)
    keys: list[str] = []
    lease = worker.get_next_partition()
    while lease is not None:
        keys.append(lease.key)
        if len(keys) % 2:
            lease = worker.complete_and_get_next(lease)
        else:
            worker.complete(lease)
            lease = worker.get_next_partition()
    assert worker.refusals == 0
    return keys


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PartitionStore]:
    url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/store.db"
    store = open_store(url)
    store.setup()
    yield store
    store.close()


def test_s5_threads_drain_each_partition_exactly_once(store: PartitionStore) -> None:
    supplier = SourceCoordinator(store, "s", "supplier")
    supplier.create_partitions(f"{number:04}" for number in range(PARTITIONS))
    together = threading.Barrier(THREADS)

    def work(number: int) -> list[str]:
        together.wait()
        return drain(store, f"worker-{number}")

    with ThreadPoolExecutor(THREADS) as pool:
        keys = [key for found in pool.map(work, range(THREADS)) for key in found]
    assert Counter(keys) == Counter(f"{number:04}" for number in range(PARTITIONS))
    assert supplier.counts() == DRAINED


def test_s5_threads_racing_for_one_partition_have_one_winner(store: PartitionStore) -> None:
    SourceCoordinator(store, "s", "supplier").create_partitions(["k"])
    together = threading.Barrier(THREADS)

    def race(number: int) -> bool:
        worker = SourceCoordinator(store, "s", f"worker-{number}")
        hint = worker.claimable()[0]
        together.wait()
        return worker.get_next_partition(hint=hint) is not None

    with ThreadPoolExecutor(THREADS) as pool:
        assert sorted(pool.map(race, range(THREADS))) == [False] * (THREADS - 1) + [True]


def _drain_process(url: str, name: str, start: threading.Barrier) -> list[str]:
    store = open_store(url)
    start.wait()
    keys = drain(store, name)
    store.close()
    return keys


@pytest.mark.slow
def test_s5_processes_drain_each_partition_of_one_file_exactly_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    store = open_store(url)
    store.setup()
    supplier = SourceCoordinator(store, "s", "supplier")
    supplier.create_partitions(f"{number:04}" for number in range(PARTITIONS))
    spawned = multiprocessing.get_context("spawn")
    with spawned.Manager() as shared, spawned.Pool(PROCESSES) as pool:
        start = shared.Barrier(PROCESSES)
        work = [(url, f"process-{number}", start) for number in range(PROCESSES)]
        keys = [key for found in pool.starmap(_drain_process, work, chunksize=1) for key in found]
    assert Counter(keys) == Counter(f"{number:04}" for number in range(PARTITIONS))
    assert supplier.counts() == DRAINED
    store.close()
