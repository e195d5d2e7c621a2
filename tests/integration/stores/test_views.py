"""What a look at a large source costs (D): rows are counted in the plans, and not only time."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import create_engine, text

from airflow_coordination.leases import PartitionStatus, SourceCoordinator
from airflow_coordination.leases.explaining.facts import PLACES
from airflow_coordination.monitoring.owners import owners
from airflow_coordination.protocol.results import Outlook
from airflow_coordination.stores import open_store
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.sql import indexes
from airflow_coordination.stores.sql.queue import EVERYTHING, LOWEST
from airflow_coordination.stores.sql.queue import parameters as spans
from airflow_coordination.stores.sql.statements import acquire, documents, read
from airflow_coordination.stores.sql.store import SqlStore
from airflow_coordination.values.times import from_micros
from tests.engines.postgres import fresh_database
from tests.integration.stores.conftest import SOURCE as CREATED
from tests.integration.stores.conftest import creation
from tests.integration.stores.earlier import NO_HISTORY
from tests.integration.stores.filling import SOURCE, fill

S = PartitionStatus
NUMBER = 100_000
MOST_ROWS = 2_000
PAGE = 100
BRANCH = 7
LOOK = Call("explain", writes=False)
STORED = f"{SOURCE}|PARTITION"


@pytest.fixture(scope="module")
def large(postgres_cluster: str, postgres_template: str) -> Iterator[str]:
    """URL of a store with many partitions, which no test changes."""
    with fresh_database(postgres_cluster, postgres_template) as url:
        fill(url, NUMBER)
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
            of_branch = "source_partition_key >= 'k000001200' AND source_partition_key < 'k000001300'"
            connection.execute(f"UPDATE coordination_partitions SET branch = {BRANCH} WHERE {of_branch}")
            connection.execute("VACUUM (ANALYZE) coordination_partitions")
        yield url


@pytest.fixture
def store(large: str) -> Iterator[SqlStore]:
    store = open_store(large)
    assert isinstance(store, SqlStore)
    yield store
    store.close()


def _plan(store: SqlStore, text: str, **parameters: Any) -> list[str]:
    statement = store.database.dialect.statement(f"EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) {text}")
    given = {"source": STORED, "after": "k000050000", "limit": PAGE, **parameters}
    given |= {"due_from": LOWEST, **spans("sure", EVERYTHING)}
    return [line for [line] in store.database.fetch(LOOK, statement, given)]


def _rows_of_the_table(plan: list[str]) -> int:
    """Return how many rows were read in the table itself, those that a filter removed included."""
    rows = 0
    for place, line in enumerate(plan):
        if re.search(r" on coordination_partitions( |$)", line) and (ran := re.search(r"rows=(\d+) loops=(\d+)", line)):
            below = " ".join(plan[place + 1 : place + 8]).partition("->")[0]
            if "Index Only Scan" in line:
                found = re.search(r"Heap Fetches: (\d+)", below)
                rows += int(found[1]) if found else 0
            else:
                removed = re.search(r"Rows Removed by Filter: (\d+)", below)
                rows += (int(ran[1]) + (int(removed[1]) if removed else 0)) * int(ran[2])
    return rows


LOOKS: dict[str, Callable[[SqlStore], str]] = {
    "counts": lambda _: read.counts(),
    "outlook": lambda store: read.outlook(store.database.dialect),
    "claimable": lambda store: acquire.claimable_list(store.database.dialect),
    "tenures of a task": lambda _: read.find_task(),
}


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize("look", LOOKS)
def test_d_no_look_reads_more_than_two_thousand_rows(store: SqlStore, look: str) -> None:
    """D: what is counted is counted in an index alone."""
    plan = _plan(store, LOOKS[look](store), task="none")
    assert "Seq Scan" not in " ".join(plan)
    assert _rows_of_the_table(plan) <= MOST_ROWS, "\n".join(plan)


@pytest.mark.slow
@pytest.mark.postgres
def test_d_a_place_in_the_order_reads_as_many_rows_as_it_counts(store: SqlStore) -> None:
    """D: what an explanation asks of a source that is swept."""
    plan = _plan(store, acquire.claimable_list(store.database.dialect), limit=PLACES)
    assert "Seq Scan" not in " ".join(plan)
    assert _rows_of_the_table(plan) <= PLACES, "\n".join(plan)


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize("parked", [None, True, False])
@pytest.mark.parametrize("status", [None, *S])
def test_d_a_page_reads_what_it_shows(store: SqlStore, status: S | None, parked: bool | None) -> None:
    """D: also of what is CLOSED and not parked, whatever is parked beside it; where ranges are merged, of each."""
    plan = _plan(store, read.page(status=status, parked=parked), after="")
    assert "Seq Scan" not in " ".join(plan)
    ranges = 1 if parked or (status and (status, parked) != (S.CLOSED, None)) else len(S)
    assert _rows_of_the_table(plan) <= PAGE * ranges, "\n".join(plan)


@pytest.mark.slow
@pytest.mark.postgres
def test_d_a_branch_is_counted_and_listed_without_all_that_is_in_none(store: SqlStore) -> None:
    """D: by an index of its own."""
    found = store.branch_counts(STORED, BRANCH)
    assert found.partitions == len(store.branch_partitions(STORED, BRANCH, None, 2 * PAGE)) == PAGE
    assert 0 < found.completed < PAGE
    for look in (documents.branch_counts(), documents.branch_partitions()):
        plan = _plan(store, look, branch=BRANCH, after="")
        assert "Seq Scan" not in " ".join(plan)
        assert _rows_of_the_table(plan) <= PAGE, "\n".join(plan)


@pytest.mark.slow
@pytest.mark.postgres
def test_d_what_is_counted_in_indexes_is_exact(store: SqlStore) -> None:
    """D: the outlook is put together from several counts."""
    coordinator = SourceCoordinator(store, SOURCE, "o")
    tens = NUMBER // 10_000
    parked, held, delayed = tens, 10 * tens, 100 * tens
    completed, fresh, closed = 6_000 * tens, 1_900 * tens, 2_000 * tens - held - parked
    found = coordinator.looking.outlook()
    assert found.next_due is not None
    assert (found.claimable, found.assigned, found.waiting) == (fresh, held, closed + delayed)
    assert (found.parked, found.completed) == (parked, completed)
    assert coordinator.counts() == {
        S.UNASSIGNED: fresh + delayed,
        S.ASSIGNED: held,
        S.CLOSED: closed + parked,
        S.COMPLETED: completed,
    }
    assert found != Outlook()


@pytest.mark.slow
@pytest.mark.postgres
def test_d_owners_come_page_by_page(store: SqlStore) -> None:
    """D: each page is the page of what is ASSIGNED, whose plan is looked at above."""
    keys, after = list[str](), None
    while True:
        page = owners(store, STORED, 77, after)
        keys += [held.key for held in page.held]
        after = page.after
        if after is None:
            break
        assert len(page.held) == 77
    assert len(keys) == len(set(keys)) == SourceCoordinator(store, SOURCE, "o").counts()[S.ASSIGNED]
    assert keys == sorted(keys)


SHOWN = "SELECT source_partition_key FROM coordination_partitions WHERE source_identifier = %s AND {} ORDER BY 1"
WANTED = {None: "true", True: "source_partition_status = 'CLOSED' AND reopen_at IS NULL"}
WANTED[False] = f"NOT ({WANTED[True]})"


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.parametrize("parked", [None, True, False])
@pytest.mark.parametrize("status", [None, *S])
def test_d_pages_leave_nothing_out(store: SqlStore, large: str, status: S | None, parked: bool | None) -> None:
    """D: a page is put together from several ranges."""
    wanted = f"{WANTED[parked]} AND source_partition_key < 'k000005'"
    wanted += f" AND source_partition_status = '{status}'" if status and not parked else ""
    with psycopg.connect(large.replace("+psycopg", "")) as elsewhere:
        keys = [key for [key] in elsewhere.execute(SHOWN.format(wanted), [STORED]).fetchall()]
    after, shown = "", []
    while page := store.page(STORED, status, after, 777, parked=parked):
        shown += [partition.key for partition in page if partition.key < "k000005"]
        after = page[-1].key
        if after >= "k000005":
            break
    assert shown == keys


@pytest.mark.postgres
def test_d_thousands_of_parked_are_passed_by(postgres_store: SqlStore, postgres_store_url: str) -> None:
    """D: a page of what is CLOSED and not parked does not walk over them."""
    postgres_store.create(creation([f"k{number:05}" for number in range(5_000)]))
    with psycopg.connect(postgres_store_url.replace("+psycopg", ""), autocommit=True) as elsewhere:
        elsewhere.execute(
            "UPDATE coordination_partitions SET source_partition_status = 'CLOSED', ready = NULL,"
            " reopen_at = CASE WHEN source_partition_key >= 'k04990' THEN 1 END"
        )
        elsewhere.execute("VACUUM (ANALYZE) coordination_partitions")
    plan = _plan(postgres_store, read.page(status=S.CLOSED, parked=False), source=CREATED, after="")
    assert _rows_of_the_table(plan) == 10, "\n".join(plan)


@pytest.mark.postgres
@pytest.mark.parametrize("overdue", [0, 2_000])
def test_d_the_next_end_of_a_lease_is_seen_behind_many(
    postgres_store: SqlStore, postgres_store_url: str, overdue: int
) -> None:
    """D: leases that have ended hide it not; among many renewed ones it is never named too late, and few are read."""
    held = overdue + 2_000
    postgres_store.create(creation([f"k{number:05}" for number in range(held)]))
    with psycopg.connect(postgres_store_url.replace("+psycopg", ""), autocommit=True) as elsewhere:
        now = "CAST(extract(epoch FROM now()) * 1000000 AS BIGINT)"
        elsewhere.execute(
            f"""UPDATE coordination_partitions AS p SET source_partition_status = 'ASSIGNED', ready = NULL, timed = 1,
                due_at = {now} + due, partition_ownership_timeout = {now} + CASE n WHEN %s THEN due ELSE ends END
            FROM (SELECT k, n, CASE WHEN n <= %s THEN -5000000 ELSE 600000000 + n * 1000 END AS due,
                CASE WHEN n <= %s THEN -5000000 ELSE 900000000 END AS ends
                FROM (SELECT source_partition_key AS k, row_number() OVER () AS n FROM coordination_partitions) AS r
            ) AS s
            WHERE p.source_partition_key = s.k""",
            [held - 500, overdue, overdue],
        )
        elsewhere.execute("VACUUM (ANALYZE) coordination_partitions")
        query = f"""SELECT min(partition_ownership_timeout) FROM coordination_partitions
            WHERE partition_ownership_timeout > {now}"""
        [(first,)] = elsewhere.execute(query).fetchall()
    found = postgres_store.outlook(CREATED)
    assert found.next_due is not None
    assert from_micros(first) - timedelta(minutes=5) <= found.next_due <= from_micros(first)
    assert found.overdue == overdue
    now = postgres_store.database.dialect.now
    plan = _plan(postgres_store, read.first_end(now, f"AND due_at <= {now}"), source=CREATED)
    assert _rows_of_the_table(plan) <= overdue + read.LEASES_LOOKED_AT, "\n".join(plan)


def _undo(url: str) -> None:
    """Bring a store back to the first schema."""
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as elsewhere:
        for index in indexes.VIEWS:
            elsewhere.execute(f"DROP INDEX {index.name}")
        for statement in NO_HISTORY:
            elsewhere.execute(statement)
        elsewhere.execute("ALTER TABLE coordination_partitions DROP COLUMN max_lost_leases")
        elsewhere.execute("UPDATE coordination_schema_history SET version_num = '0001'")
        elsewhere.execute("UPDATE coordination_meta SET schema_version = 1")


def _valid(url: str) -> list[str]:
    with psycopg.connect(url.replace("+psycopg", "")) as elsewhere:
        found = elsewhere.execute(
            "SELECT relname FROM pg_index JOIN pg_class ON oid = indexrelid WHERE indisvalid AND relname = ANY (%s)",
            [[index.name for index in indexes.VIEWS]],
        ).fetchall()
    return sorted(name for [name] in found)


ALL = sorted(index.name for index in indexes.VIEWS)


@pytest.mark.postgres
def test_d_s16_indexes_are_built_beside_a_writer(postgres_store_url: str) -> None:
    """D: a writer's open transaction holds the build up, as it must; it is not held up itself, nor is anybody else."""
    _undo(postgres_store_url)
    plain = postgres_store_url.replace("+psycopg", "")
    store = open_store(postgres_store_url)
    migrating = threading.Thread(target=store.setup)
    with psycopg.connect(plain) as writer, psycopg.connect(plain, autocommit=True) as other:
        writer.execute("UPDATE coordination_partitions SET updated_at = 0")
        migrating.start()
        waits = """SELECT count(*) FROM pg_stat_activity
            WHERE query LIKE 'CREATE INDEX CONCURRENTLY%' AND wait_event_type = 'Lock'"""
        while other.execute(waits).fetchall() != [(1,)]:
            assert migrating.is_alive()
        modes = """SELECT DISTINCT mode FROM pg_locks WHERE relation = 'coordination_partitions'::regclass
            AND pid IN (SELECT pid FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX CONCURRENTLY%')"""
        assert other.execute(modes).fetchall() == [("ShareUpdateExclusiveLock",)]
        other.execute("SET lock_timeout = '2s'")
        other.execute("UPDATE coordination_partitions SET updated_at = 0")
        writer.execute("UPDATE coordination_partitions SET updated_at = 1")
        writer.commit()
    migrating.join(60)
    assert _valid(postgres_store_url) == ALL
    store.close()


@pytest.mark.postgres
def test_d_s16_who_reads_for_long_does_not_make_writers_wait(postgres_store_url: str) -> None:
    """D: a table is changed under a lock that a dump refuses; writers would queue behind whoever waits for it."""
    _undo(postgres_store_url)
    plain = postgres_store_url.replace("+psycopg", "")
    store = open_store(postgres_store_url)
    migrating = threading.Thread(target=store.setup)
    with psycopg.connect(plain) as reader, psycopg.connect(plain, autocommit=True) as writer:
        reader.execute("SELECT count(*) FROM coordination_partitions")
        migrating.start()
        wanted = """SELECT count(*) FROM pg_locks WHERE relation = 'coordination_partitions'::regclass
            AND mode = 'AccessExclusiveLock' AND NOT granted"""
        for waiting in (1, 0, 1):
            while writer.execute(wanted).fetchall() != [(waiting,)]:
                assert migrating.is_alive()
        writer.execute("SET lock_timeout = '5s'")
        writer.execute("UPDATE coordination_partitions SET updated_at = 0")
        assert migrating.is_alive(), "the reader has not gone"
    migrating.join(60)
    assert not migrating.is_alive()
    assert _valid(postgres_store_url) == ALL
    store.close()


@pytest.mark.postgres
def test_d_s16_what_a_failed_build_has_left_is_built_anew(postgres_store_url: str) -> None:
    """D: PostgreSQL keeps a name without a usable index, and IF NOT EXISTS would be content with it."""
    _undo(postgres_store_url)
    broken = indexes.VIEWS[0]
    with psycopg.connect(postgres_store_url.replace("+psycopg", ""), autocommit=True) as elsewhere:
        elsewhere.execute(indexes.creation(broken))
        elsewhere.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass", [broken.name])
    assert _valid(postgres_store_url) == []
    store = open_store(postgres_store_url)
    store.setup()
    store.close()
    assert _valid(postgres_store_url) == ALL


def test_d_s16_a_sqlite_file_of_before_gets_them(tmp_path: Path) -> None:
    """D: with its partitions in it."""
    url = f"sqlite:///{tmp_path}/store.db"
    store = open_store(url)
    store.setup()
    store.create(creation(["a"]))
    engine = create_engine(url)
    with engine.begin() as connection:
        for index in indexes.VIEWS:
            connection.execute(text(f"DROP INDEX {index.name}"))
        for statement in NO_HISTORY:
            connection.execute(text(statement))
        connection.execute(text("UPDATE coordination_schema_history SET version_num = '0002'"))
        connection.execute(text("UPDATE coordination_meta SET schema_version = 1"))
    open_store(url).setup()
    with engine.connect() as connection:
        there = connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'index'")).scalars().all()
    engine.dispose()
    assert set(ALL) <= set(there)


@pytest.mark.postgres
def test_d_renewals_and_saves_touch_no_index(postgres_store: SqlStore, postgres_store_url: str) -> None:
    """D: the new indexes are of nothing that a renewal changes (heap-only updates)."""
    postgres_store.create(creation(["a"]))
    coordinator = SourceCoordinator(postgres_store, SOURCE, "o")
    lease = coordinator.get_next_partition()
    assert lease is not None
    with psycopg.connect(postgres_store_url.replace("+psycopg", ""), autocommit=True) as elsewhere:
        count = (
            "SELECT n_tup_upd - n_tup_hot_upd FROM pg_stat_xact_user_tables WHERE relname = 'coordination_partitions'"
        )
        with elsewhere.transaction():
            elsewhere.execute(
                "UPDATE coordination_partitions SET partition_ownership_timeout = partition_ownership_timeout + 1,"
                " confirmed = 1, updated_at = updated_at + 1, last_op = 'x', partition_progress_state = 'y'"
            )
            assert elsewhere.execute(count).fetchall() == [(0,)]
            elsewhere.execute("UPDATE coordination_partitions SET source_partition_status = 'CLOSED'")
            assert elsewhere.execute(count).fetchall() == [(1,)]
