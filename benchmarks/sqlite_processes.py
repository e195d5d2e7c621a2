"""Many processes drain one SQLite file: ours with its queue, and the bare engine without one, in one run."""

from __future__ import annotations

import argparse
import multiprocessing
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.stores import open_store

Result = tuple[list[str], float]
Worker = Callable[[str, int], Result]


def prepare_ours(path: str, count: int) -> None:
    store = open_store(f"sqlite:///{path}")
    store.setup()
    SourceCoordinator(store, "flights", "benchmark").create_partitions(f"{number:07}" for number in range(count))
    store.close()


def work_ours(path: str, number: int) -> Result:
    """Acquire and complete until nothing is left; return the keys and the longest wait of one call, in seconds."""
    store = open_store(f"sqlite:///{path}")
    coordinator = SourceCoordinator(store, "flights", f"worker-{number}")
    keys: list[str] = []
    longest = 0.0
    while True:
        started = time.monotonic()
        lease = coordinator.get_next_partition()
        longest = max(longest, time.monotonic() - started)
        if lease is None:
            store.close()
            return keys, longest
        keys.append(lease.key)
        started = time.monotonic()
        coordinator.complete(lease)
        longest = max(longest, time.monotonic() - started)


def connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=60, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    return connection


def prepare_bare(path: str, count: int) -> None:
    connection = connect(path)
    connection.execute("CREATE TABLE work (id INTEGER PRIMARY KEY, key TEXT, status INT)")
    connection.execute("CREATE INDEX waiting ON work (status, id)")
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO work (key, status) VALUES (?, 0)", ((f"{n:07}",) for n in range(count)))
    connection.execute("COMMIT")


def work_bare(path: str, number: int) -> Result:
    """The least a queue in SQLite can do: one UPDATE to take, one to finish; the engine's own busy handler."""
    connection = connect(path)
    keys: list[str] = []
    longest = 0.0
    while True:
        started = time.monotonic()
        row = connection.execute(
            "UPDATE work SET status = 1 WHERE id = (SELECT id FROM work WHERE status = 0 ORDER BY id LIMIT 1) "
            "RETURNING id, key"
        ).fetchone()
        longest = max(longest, time.monotonic() - started)
        if row is None:
            return keys, longest
        keys.append(row[1])
        started = time.monotonic()
        connection.execute("UPDATE work SET status = 2 WHERE id = ?", (row[0],))
        longest = max(longest, time.monotonic() - started)


def run(worker: Worker, path: str, number: int, start: Any, results: Any) -> None:
    start.wait()
    results.put(worker(path, number))


def drain(worker: Worker, path: str, processes: int) -> tuple[float, list[Result]]:
    """Start all processes at once; return the seconds until the last is done, and what each did."""
    context = multiprocessing.get_context("spawn")
    start, results = context.Barrier(processes + 1), context.Queue()
    children = [
        context.Process(target=run, args=(worker, path, number, start, results), daemon=True)
        for number in range(processes)
    ]
    for child in children:
        child.start()
    start.wait()
    started = time.monotonic()
    done = [results.get(timeout=1800) for _ in children]
    seconds = time.monotonic() - started
    for child in children:
        child.join()
    return seconds, done


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--partitions", type=int, default=20_000)
    parser.add_argument("--processes", type=int, default=16)
    arguments = parser.parse_args()
    count, wrong, longest_waits = arguments.partitions, 0, []
    print(f"{count:,} partitions, {arguments.processes} processes")
    print(f"{'':8}{'cycles/s':>10}{'longest wait':>14}{'most served':>13}{'least served':>14}{'exactly once':>14}")
    for name, prepare, worker in (("ours", prepare_ours, work_ours), ("bare", prepare_bare, work_bare)):
        with tempfile.TemporaryDirectory() as directory:
            path = str(Path(directory, "partitions.db"))
            prepare(path, count)
            seconds, done = drain(worker, path, arguments.processes)
        times = Counter(key for keys, _ in done for key in keys)
        exact = len(times) == count and set(times.values()) == {1}
        served = [len(keys) for keys, _ in done]
        longest_waits.append(max(wait for _, wait in done))
        wrong += not exact
        print(
            f"{name:8}{count / seconds:>10,.0f}{longest_waits[-1] * 1000:>11,.0f} ms"
            f"{max(served):>13,}{min(served):>14,}{'yes' if exact else 'NO':>14}",
            flush=True,
        )
    print(f"ratio of the longest waits, bare / ours: {longest_waits[1] / longest_waits[0]:.1f}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
