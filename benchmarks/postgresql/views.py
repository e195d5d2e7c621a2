"""P12: what a person or a sensor asks of 1,000,000 partitions, by the rows and entries of indexes that it reads.

They are those that the server counts, read in the table and in its indexes, by a session that asks one question.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import psycopg

from airflow_coordination.leases import PartitionStatus, SourceCoordinator
from airflow_coordination.stores import open_store
from benchmarks.goals import Reading, Readings
from benchmarks.harness.postgres import plain
from benchmarks.harness.run import Run
from tests.engines.postgres import fresh_database, private_postgres
from tests.integration.stores.filling import SOURCE, fill

PARTITIONS = 1_000_000
TIMES = 5
OTHER = "h/d/r/other/0/1"
"""A task that holds nothing: what it asks may not read what the others hold."""
_READ = """SELECT seq_tup_read + coalesce(idx_tup_fetch, 0),
    (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'coordination_partitions')
    FROM pg_stat_user_tables WHERE relname = 'coordination_partitions'"""
_OTHERS = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
    AND application_name = 'airflow-coordination'"""
Look = Callable[[], object]


def looks(source: SourceCoordinator) -> dict[str, Look]:
    """Return what is asked, and how."""

    def sensor() -> None:
        source.sweep(1_000)
        source.looking.outlook()
        source.partitions(parked=True, limit=10)
        source.claimable(1_024)

    def status() -> None:
        source.counts()
        source.looking.outlook()

    def listed(status: PartitionStatus | None = None, *, parked: bool | None = None) -> Look:
        return lambda: source.partitions(status, limit=101, parked=parked)

    return {
        "a sensor's look": sensor,
        "status": status,
        "counts": source.counts,
        "outlook": source.looking.outlook,
        "what an earlier try of a task holds": source.tries.held_by_task,
        "what an acquisition without an answer did": lambda: source.store.find_nonce(f"{SOURCE}|PARTITION", "none"),
        "list": listed(),
        **{f"list --status {each}": listed(each) for each in PartitionStatus if each is not PartitionStatus.CLOSED},
        "list --status CLOSED": listed(PartitionStatus.CLOSED, parked=False),
        "list --status PARKED": listed(PartitionStatus.CLOSED, parked=True),
    }


def benchmark(run: Run) -> Readings:
    """Count; milliseconds, which the page does not tell, are left out with ``quick``."""
    number = 20_000 if run.quick else run.scaled(PARTITIONS, 20_000)
    with private_postgres() as cluster, fresh_database(cluster) as url:
        store = open_store(url)
        store.setup()
        store.close()
        fill(url, number)
        taken = _measured(run, url)
    table = run.table(f"{number:,} partitions", "question", "rows", "entries of indexes", "milliseconds")
    for name, (rows, entries, milliseconds) in taken.items():
        table.add_row(name, f"{rows:,}", f"{entries:,}", milliseconds)
    run.console.print(table)
    if run.quick:
        return {}
    most, name = max((rows, name) for name, (rows, _, _) in taken.items())
    entries = max(entries for _, entries, _ in taken.values())
    return {
        "P12": Reading(most, f"{most:,}", f"“{name}”, at {number:,}; counting reads {entries:,} entries of indexes")
    }


def _measured(run: Run, url: str) -> dict[str, tuple[int, int, str]]:
    taken = {}
    with psycopg.connect(plain(url), autocommit=True) as elsewhere:
        for name in looks(SourceCoordinator(open_store(url), SOURCE, OTHER)):
            store = open_store(url)
            look = looks(SourceCoordinator(store, SOURCE, OTHER))[name]
            before = _read(elsewhere)
            look()
            store.close()  # so that the server counts what its session has read
            after = _read(elsewhere)
            fastest = "" if run.quick else f"{min(_milliseconds(look) for _ in range(TIMES)):.1f}"
            store.close()
            taken[name] = after[0] - before[0], after[1] - before[1], fastest
    return taken


def _read(elsewhere: psycopg.Connection) -> tuple[int, int]:
    while elsewhere.execute(_OTHERS).fetchall() != [(0,)]:
        time.sleep(0.01)
    [(rows, entries)] = elsewhere.execute(_READ).fetchall()
    return int(rows), int(entries)


def _milliseconds(look: Look) -> float:
    began = time.perf_counter()
    look()
    return 1_000 * (time.perf_counter() - began)
