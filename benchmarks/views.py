"""What a look at a large source costs on PostgreSQL: python -m benchmarks.views [partitions]; prints milliseconds.

The column "before" is the statement of the version before, on the same rows and without the indexes of views (decision
13); for the first parked ones, the first of the pages that it read.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

import psycopg

from airflow_coordination.leases import PartitionStatus, SourceCoordinator
from airflow_coordination.stores import open_store
from airflow_coordination.stores.sql.indexes import VIEWS
from airflow_coordination.testing.postgres import fresh_database, private_postgres
from tests.integration.stores.filling import SOURCE, fill

TIMES = 5
_OF = f"FROM coordination_partitions WHERE source_identifier = '{SOURCE}|PARTITION' AND deleted = 0"
_PAGE = f"SELECT * {_OF} AND source_partition_status = '{{}}' ORDER BY source_partition_key LIMIT {{}}"
_OUTLOOK = f"""SELECT sum(CASE WHEN status <> 'COMPLETED' AND due <= 0 THEN 1 ELSE 0 END),
    sum(CASE WHEN status = 'ASSIGNED' AND due > 0 THEN 1 ELSE 0 END),
    sum(CASE WHEN status IN ('UNASSIGNED', 'CLOSED') AND due > 0 THEN 1 ELSE 0 END),
    sum(CASE WHEN status <> 'COMPLETED' AND due IS NULL THEN 1 ELSE 0 END),
    sum(CASE WHEN status = 'COMPLETED' THEN 1 ELSE 0 END), min(CASE WHEN due > 0 THEN due END)
    FROM (SELECT source_partition_status AS status, CASE source_partition_status WHEN 'UNASSIGNED' THEN available_at
        WHEN 'CLOSED' THEN reopen_at WHEN 'ASSIGNED' THEN partition_ownership_timeout END AS due {_OF}) AS living"""
BEFORE = {
    "counts": f"SELECT source_partition_status, count(*) {_OF} GROUP BY source_partition_status",
    "outlook": _OUTLOOK,
    "first parked": _PAGE.format("CLOSED", 1000),
    "list --status CLOSED": _PAGE.format("CLOSED", 5),
    "list --status ASSIGNED": _PAGE.format("ASSIGNED", 100),
}


def _fastest(look: Callable[[], object]) -> float:
    """Return the fewest milliseconds of some tries: what others do on the machine is not of interest."""
    times = []
    for _ in range(TIMES):
        began = time.perf_counter()
        look()
        times.append(time.perf_counter() - began)
    return 1000 * min(times)


def _fetched(connection: psycopg.Connection, text: str) -> object:
    return connection.execute(text).fetchall()


def main(number: int) -> None:
    """Fill a store of its own, look at it, and print a table."""
    with private_postgres() as cluster, fresh_database(cluster) as url:
        store = open_store(url)
        store.setup()
        fill(url, number)
        source = SourceCoordinator(store, SOURCE, "o")
        looks: dict[str, Callable[[], object]] = {
            "counts": source.counts,
            "outlook": source.outlook,
            "first parked": lambda: source.partitions(parked=True, limit=10),
            "list --status CLOSED": lambda: source.partitions(PartitionStatus.CLOSED, limit=5),
            "list --status ASSIGNED": lambda: source.partitions(PartitionStatus.ASSIGNED, limit=100),
            "hints": lambda: source.claimable(1024),
            "sweep": source.sweep,
        }
        now = {name: _fastest(look) for name, look in looks.items()}
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as elsewhere:
            for index in VIEWS:
                elsewhere.execute(f"DROP INDEX {index.name}")
            elsewhere.execute("SET jit = off")
            before = {name: _fastest(partial(_fetched, elsewhere, text)) for name, text in BEFORE.items()}
        print(f"{number:,} partitions; milliseconds\n{'':24}{'now':>10}{'before':>10}")
        for name, taken in now.items():
            print(f"{name:24}{taken:10.1f}{before.get(name, taken):10.1f}")
        store.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
