"""Ranges of PostgreSQL's tables: its types, its collations, and transactions that end late."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa

from airflow_coordination.leases import Checkpoint
from airflow_coordination.sources import range_clause, sql_ranges

pytestmark = pytest.mark.postgres

KEYS = {
    "integer": ("bigint", "generate_series(-20, 20)"),
    "decimal": ("numeric(20, 4)", "n / 7.0 FROM generate_series(-20, 20) n"),
    "text": ('text COLLATE "und-x-icu"', "chr(n) FROM generate_series(33, 400) n WHERE n < 127 OR n > 160"),
    "date": ("date", "date '2026-01-01' + n FROM generate_series(-20, 20) n"),
    "timestamp": ("timestamp", "timestamp '2026-01-01' + n * interval '7 hours' FROM generate_series(-20, 20) n"),
    "timestamptz": ("timestamptz", "timestamptz '2026-03-29' + n * interval '7 min' FROM generate_series(-90, 90) n"),
    "uuid": ("uuid", "md5(n::text)::uuid FROM generate_series(1, 40) n"),
}


@pytest.fixture
def engine(postgres_url):
    engine = sa.create_engine(postgres_url)
    yield engine
    engine.dispose()


def payloads_of(supplier, state):
    """Run a supplier; return its payloads, and leave its state in ``state``."""
    items = list(supplier(dict(state)))
    for item in items:
        if isinstance(item, Checkpoint):
            state.update(item.state)
    return [item.payload for item in items if not isinstance(item, Checkpoint)]


@pytest.mark.parametrize("kind", KEYS)
def test_rows_of_every_kind_are_in_exactly_one_partition(engine, kind):
    column, keys = KEYS[kind]
    with engine.begin() as connection:
        connection.execute(sa.text(f'CREATE TABLE "My Rows" (row serial, "Key" {column})'))
        connection.execute(sa.text(f'INSERT INTO "My Rows" ("Key") SELECT {keys}'))
        connection.execute(sa.text('INSERT INTO "My Rows" ("Key") VALUES (NULL), (NULL)'))
    payloads = payloads_of(sql_ranges(engine, "My Rows", "Key", rows=7), {})
    assert {payload["type"] for payload in payloads} == {kind}
    with engine.connect() as connection:
        rows = sorted(connection.execute(sa.text('SELECT row FROM "My Rows"')).scalars())
        query = sa.select(sa.column("row")).select_from(sa.table("My Rows"))
        found = [row for each in payloads for row in connection.execute(query.where(range_clause(each))).scalars()]
    assert sorted(found) == rows
    assert len(payloads) == -(-(len(rows) - 2) // 7)


def test_a_row_whose_transaction_ends_late_is_not_lost(engine):
    """Serial keys are given before they are committed: 2 is seen while 1 is not."""
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE events (id bigserial PRIMARY KEY)"))
    insert = sa.text("INSERT INTO events DEFAULT VALUES")
    late = engine.connect()
    late.execute(insert)
    with engine.begin() as connection:
        connection.execute(insert)
    supplier = sql_ranges(engine, "events", "id", rows=10, append_only=True, lateness=timedelta(microseconds=1))
    state = {}
    assert payloads_of(supplier, state) == []
    late.commit()
    late.close()
    [payload] = payloads_of(supplier, state)
    with engine.connect() as connection:
        query = sa.select(sa.column("id")).select_from(sa.table("events")).where(range_clause(payload))
        assert sorted(connection.execute(query).scalars()) == [1, 2]


def test_a_condition_can_be_written_out_for_spark(engine):
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE t (k text)"))
        connection.execute(sa.text("INSERT INTO t VALUES ('a''b'), ('c')"))
    [first, _] = payloads_of(sql_ranges(engine, "t", "k", rows=1), {})
    with engine.connect() as connection:
        text = str(range_clause(first).compile(engine, compile_kwargs={"literal_binds": True}))
        assert connection.execute(sa.text(f"SELECT k FROM t WHERE {text}")).scalars().all() == ["a'b"]
