"""The plans of the hot statements: an index range per branch, no sort of what is ready, nothing scanned."""

from __future__ import annotations

import json
import re
from typing import Any

import psycopg
import pytest

from airflow_coordination.stores import open_store
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.sql.columns import Ready, Timed
from airflow_coordination.stores.sql.postgres_store import PostgresStore
from airflow_coordination.stores.sql.queue import EVERYTHING, LOWEST, apart, parameters
from airflow_coordination.stores.sql.statements import acquire, read, writes
from airflow_coordination.stores.sql.statements.dialect import Statement
from airflow_coordination.stores.sql.store import SqlStore
from tests.integration.stores.conftest import SOURCE, creation, ending, following

LOOK = Call("explain", writes=False)
PARAMETERS: dict[str, Any] = {
    "source": SOURCE,
    "now": 2**52,
    "max_lost": 5,
    "due_from": LOWEST,
    **parameters("near", EVERYTHING),
    **parameters("sure", EVERYTHING),
    "limit": 10,
    "key": "k",
    "op": "o",
    "owner": "o",
    "owner_task": "t",
    "owner_try": 1,
    "owner_details": None,
    "max_failures": 5,
    "timeout": 10**9,
    "nonce": "n",
}


def sqlite_plan(store: SqlStore, text: str) -> list[str]:
    statement = store.database.dialect.statement("EXPLAIN QUERY PLAN " + text)
    return [row[3] for row in store.database.fetch(LOOK, statement, PARAMETERS)]


@pytest.mark.parametrize("ready", list(Ready))
def test_sqlite_reads_what_is_ready_in_index_order(sqlite_store: SqlStore, ready: Ready) -> None:
    [step] = sqlite_plan(sqlite_store, acquire.ready_branch(ready))
    assert "coordination_partitions_ready (source_identifier=? AND ready=?)" in step


@pytest.mark.parametrize("timed", list(Timed))
def test_sqlite_reads_what_is_due_by_range(sqlite_store: SqlStore, timed: Timed) -> None:
    plan = sqlite_plan(sqlite_store, acquire.timed_branch(sqlite_store.database.dialect, timed))
    assert "coordination_partitions_timed (source_identifier=? AND timed=? AND due_at<?)" in plan[0]


def _reads(plan: list[str]) -> list[str]:
    return [step for step in plan if "coordination_partitions" in step]


@pytest.mark.parametrize("new_first", [False, True])
def test_sqlite_acquires_by_index_ranges_only(sqlite_store: SqlStore, new_first: bool) -> None:
    plan = _reads(sqlite_plan(sqlite_store, acquire.find_first(sqlite_store.database.dialect, new_first=new_first)))
    assert len(plan) == 8
    for step in plan:
        assert re.search(
            r"\(source_identifier=\? AND (ready=\?|timed=\? AND due_at<\?|source_partition_key=\?)\)", step
        )


def test_sqlite_sweeps_and_finds_by_index(sqlite_store: SqlStore) -> None:
    dialect = sqlite_store.database.dialect
    for text in (writes.reclaim(dialect), writes.reopen(dialect), writes.promote(dialect), read.find_nonce()):
        assert any("coordination_partitions_timed" in step for step in _reads(sqlite_plan(sqlite_store, text)))
        assert not any(step.startswith("SCAN coordination_partitions") for step in sqlite_plan(sqlite_store, text))


@pytest.fixture
def filled(postgres_store: SqlStore) -> SqlStore:
    """A store with 3,000 partitions, of which 50 are held and 50 completed, known to the planner."""
    postgres_store.create(creation([f"k{number:05}" for number in range(3_000)]))
    for number in range(100):
        held = postgres_store.acquire_next(following())
        assert held is not None
        if number % 2:
            postgres_store.write(ending(held))
    postgres_store.database.fetch(LOOK, Statement("ANALYZE coordination_partitions", ()), {})
    return postgres_store


def postgres_plan(store: SqlStore, text: str, how: str = "") -> list[str]:
    statement = store.database.dialect.statement(f"EXPLAIN ({how}COSTS OFF) {text}")
    return [row[0] for row in store.database.fetch(LOOK, statement, PARAMETERS)]


@pytest.mark.postgres
@pytest.mark.parametrize("ready", list(Ready))
def test_postgresql_reads_what_is_ready_in_index_order(filled: SqlStore, ready: Ready) -> None:
    plan = " ".join(postgres_plan(filled, acquire.ready_branch(ready)))
    assert "using coordination_partitions_ready" in plan
    assert "Sort" not in plan


@pytest.mark.postgres
@pytest.mark.parametrize("timed", list(Timed))
def test_postgresql_reads_what_is_due_by_range(filled: SqlStore, timed: Timed) -> None:
    plan = " ".join(postgres_plan(filled, acquire.timed_branch(filled.database.dialect, timed)))
    assert "using coordination_partitions_timed" in plan
    assert re.search(r"Index Cond: .*timed = \d.*due_at <=", plan)


@pytest.mark.postgres
def test_postgresql_acquires_by_index_ranges_only(filled: SqlStore) -> None:
    plan = postgres_plan(filled, acquire.acquire_next(filled.database.dialect, new_first=False))
    assert not [line for line in plan if "Seq Scan" in line or "Bitmap" in line]


@pytest.mark.postgres
def test_postgresql_sweeps_and_finds_by_index(filled: SqlStore) -> None:
    dialect = filled.database.dialect
    for text in (writes.reclaim(dialect), writes.reopen(dialect), writes.promote(dialect), read.find_nonce()):
        plan = postgres_plan(filled, text)
        assert any("coordination_partitions_timed" in line for line in plan)
        assert not [line for line in plan if "Seq Scan" in line]


def _rows_visited(store: SqlStore, mark: tuple[int, int]) -> int:
    """Return how many index entries an acquisition that starts at ``mark`` looks up, dead ones included."""
    text = acquire.acquire_next(store.database.dialect, new_first=False)
    statement = store.database.dialect.statement(f"EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) {text}")
    plan = store.database.fetch(LOOK, statement, {**PARAMETERS, **parameters("near", apart(EVERYTHING, *mark))})
    return sum(int(found[1]) for [line] in plan if (found := re.search(r"Heap Fetches: (\d+)", line)))


@pytest.mark.postgres
def test_p4_a_held_snapshot_does_not_slow_acquisitions_down(postgres_store_url: str) -> None:
    store = open_store(postgres_store_url)
    assert isinstance(store, PostgresStore)
    store.create(creation([f"k{number:05}" for number in range(3_000)]))
    with psycopg.connect(postgres_store_url.replace("+psycopg", "")) as elsewhere:
        elsewhere.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        elsewhere.execute("SELECT count(*) FROM coordination_partitions")
        held = store.acquire_next(following())
        for _ in range(2_500):
            assert held is not None
            held = store.complete_and_acquire(ending(held), following()).next
        assert held is not None
        from_the_mark = _rows_visited(store, (held.priority, held.ordinal))
        from_the_beginning = _rows_visited(store, (-1, -1))
    store.close()
    assert from_the_mark < 10
    assert from_the_beginning > 2_500


@pytest.mark.postgres
def test_p4_the_mark_moves_with_acquisitions_and_is_forgotten_at_the_end(postgres_store_url: str) -> None:
    store = open_store(postgres_store_url)
    assert isinstance(store, PostgresStore)
    store.create(creation(["a", "b"]))
    asked = store.queued(following())
    assert store.acquire_next(following()) is not None
    moved = store.queued(following())
    assert max(json.loads(f"[{asked['near_low'][1:-1]}]")) < max(json.loads(f"[{moved['near_low'][1:-1]}]"))
    late = open_store(postgres_store_url)
    late.create(creation(["urgent"], priority=-1))
    found = [store.acquire_next(following()), store.acquire_next(following()), store.acquire_next(following())]
    assert [p.key if p else None for p in found] == ["urgent", "b", None]
    store.close()
    late.close()


@pytest.mark.postgres
def test_e17_what_was_committed_late_is_found_when_nothing_else_is_left(postgres_store_url: str) -> None:
    """E17: its place is below the mark, because another supplier's page was numbered later and committed before."""
    store = open_store(postgres_store_url)
    assert isinstance(store, PostgresStore)
    store.create(creation(["a", "late", "b"]))
    with psycopg.connect(postgres_store_url.replace("+psycopg", "")) as elsewhere:
        elsewhere.execute("UPDATE coordination_partitions SET ready = NULL WHERE source_partition_key = 'late'")
        elsewhere.commit()
        found = [store.acquire_next(following()), store.acquire_next(following())]
        elsewhere.execute("UPDATE coordination_partitions SET ready = 3 WHERE source_partition_key = 'late'")
        elsewhere.commit()
        found.append(store.acquire_next(following()))
    store.close()
    assert [p.key if p else None for p in found] == ["a", "b", "late"]


@pytest.mark.postgres
def test_e17_an_acquisition_from_the_mark_walks_over_nothing_that_is_used_up(postgres_store_url: str) -> None:
    """E17: neither when it looks for the heads, nor when it locks the first free row."""
    store = open_store(postgres_store_url)
    assert isinstance(store, PostgresStore)
    store.create(creation([f"k{number:05}" for number in range(3_000)]))
    with psycopg.connect(postgres_store_url.replace("+psycopg", "")) as elsewhere:
        elsewhere.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        elsewhere.execute("SELECT count(*) FROM coordination_partitions")
        use_up = "UPDATE coordination_partitions SET ready = NULL WHERE source_partition_key < 'k02500'"
        store.database.fetch(Call("use up"), Statement(use_up, ()), {})
        first = store.get(SOURCE, "k02500")
        assert first is not None
        text = acquire.acquire_next(store.database.dialect, new_first=False)
        statement = store.database.dialect.statement(f"EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) {text}")
        near = parameters("near", apart(EVERYTHING, first.priority, first.ordinal))
        plan = [line for [line] in store.database.fetch(LOOK, statement, {**PARAMETERS, **near})]
    store.close()
    [read, *_] = re.findall(r"Buffers: shared hit=(\d+)", " ".join(plan))
    assert int(read) < 60, plan
