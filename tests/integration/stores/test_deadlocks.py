"""Pages of several suppliers at once on PostgreSQL: whatever their order, nobody waits in a circle."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor

import psycopg

from airflow_coordination.protocol.results import Created
from airflow_coordination.stores.sql.store import SqlStore
from tests.integration.stores.conftest import SOURCE, creation

KEYS = ["a", "m", "z"]
_WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


def side_by_side(store: SqlStore, url: str, holding: str) -> list[Created]:
    """Create one page in two orders, both begun while ``holding``, a statement on the middle key, is not committed."""
    with (
        psycopg.connect(url) as holder,
        psycopg.connect(url, autocommit=True) as watcher,
        ThreadPoolExecutor(2) as pool,
    ):
        holder.execute(holding)
        pages: list[Future[Created]] = []
        for page in (KEYS, KEYS[::-1]):
            pages.append(pool.submit(store.create, creation(page)))
            see_waiting(watcher, len(pages))
        holder.rollback()
        return [page.result() for page in pages]


def see_waiting(watcher: psycopg.Connection, count: int) -> None:
    """Wait until so many statements wait for a lock."""
    end = time.monotonic() + 60
    while (found := watcher.execute(_WAITING).fetchone()) != (count,):
        assert time.monotonic() < end, f"{found} statements wait for a lock, not {count}"
        time.sleep(0.01)


def driver_url(url: str) -> str:
    return url.replace("+psycopg", "")


def ordinals(store: SqlStore) -> list[str]:
    """Return the keys in the order of the list that made them."""
    made = [partition for key in KEYS if (partition := store.get(SOURCE, key))]
    return [partition.key for partition in sorted(made, key=lambda partition: partition.ordinal)]


def test_e16_pages_in_opposite_order_do_not_deadlock(postgres_store: SqlStore, postgres_store_url: str) -> None:
    """E16: each page locks its keys in one order; the one that creates keeps its supplier's order in the ordinals."""
    columns = "source_identifier, source_partition_key, source_partition_status, nonce, last_op, create_op, generation"
    values = f"'{SOURCE}', 'm', 'UNASSIGNED', '', '', '', ''"
    middle = f"INSERT INTO coordination_partitions ({columns}, created_at, updated_at) VALUES ({values}, 0, 0)"
    first, second = side_by_side(postgres_store, driver_url(postgres_store_url), middle)
    assert first.created + second.created == len(KEYS)
    assert ordinals(postgres_store) == (KEYS if first.created else KEYS[::-1])
