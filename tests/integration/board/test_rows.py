"""What one request of the board reads of a large source: as many rows as one can look at, however many there are."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial

import psycopg
import pytest
from fastapi.testclient import TestClient

from airflow_coordination.board.acting import ROWS
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.monitoring.states import WORDS
from airflow_coordination.planning.intervals import Interval
from airflow_coordination.planning.view import changing
from airflow_coordination.planning.view.view import View
from airflow_coordination.protocol.beside.chunk_sums import ChunkSums
from airflow_coordination.protocol.port import PartitionStore
from tests.engines.postgres import fresh_database
from tests.integration.board.conftest import OPEN_DAG, OURS
from tests.integration.stores.filling import SOURCE, fill

pytestmark = pytest.mark.slow
NUMBER = 50_000
ROWS_OF_DOCUMENTS = 2_000
"""Some documents of some sources, and a hundred versions of these."""
RULED = [f"ruled-{number}" for number in range(5)]
"""Sources of 20,000 documents each, whose histories were forgotten: of fewer PostgreSQL may read all at once."""
HERE = {"store": "coordination_default", "source": f"{SOURCE}|PARTITION"}
CHILDREN = "children|PARTITION"
_READ = """SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_user_tables
    WHERE relname IN ('coordination_partitions', 'coordination_history', 'coordination_heads', 'coordination_chunks',
        'coordination_documents', 'coordination_ended', 'coordination_audit')"""
_HISTORY = """INSERT INTO coordination_history (source_identifier, source_partition_key, token, nonce, ended_at,
        outcome, op, status_after, closed_count, partition_owner, acquired_at, row_count, byte_count)
    SELECT source_identifier, source_partition_key, 1, nonce, updated_at - ordinal * 1000, 'completed', 'o',
        'COMPLETED', 0, 'h/d/r/t/0/1', updated_at - ordinal * 1000 - 1000000, 0, 0
    FROM coordination_partitions WHERE source_partition_status = 'COMPLETED'"""
_RECENT = """UPDATE coordination_history SET ended_at =
        CAST(extract(epoch FROM now()) * 1000000 AS BIGINT) - 61000000 - mod(token, 7)
        - CAST(abs(hashtext(source_partition_key)) AS BIGINT) % 200000000
    WHERE source_partition_key < 'k000020000'"""
"""Thousands have ended in the last minutes."""
_HEADS = """INSERT INTO coordination_heads (source_identifier, source_partition_key, dataset, blocks, row_count,
        byte_count, generation, op, token, kind, state, published_at)
    SELECT source_identifier, source_partition_key, 'clean', '[]', 1, 1, '', 'o', 1, 'files', 'applied', updated_at
    FROM coordination_partitions"""
_MONTHS = [
    ChunkSums(dataset=dataset, chunk_start=month, chunk_end=month + timedelta(days=30), heads=NUMBER, bytes_before=1)
    for dataset in ("clean", "rejected")
    for month in (datetime(2000, 1, 1, tzinfo=UTC) + timedelta(days=30) * number for number in range(400))
]
"""A third of a century of months, in two datasets, however many head records are in them."""
_ENDED = """INSERT INTO coordination_ended (source_identifier, slot_start, counted_to, completed, failed, lost,
        row_count, byte_count)
    SELECT DISTINCT source_identifier, now.slot - ago, now.slot - ago + 1, 9, 0, 0, 0, 0
    FROM coordination_history,
        (SELECT CAST(floor(extract(epoch FROM now()) / 300) AS BIGINT) * 300000000 - 300000000 AS slot) AS now,
        (SELECT number * CAST(300000000 AS BIGINT) AS ago FROM generate_series(0, 575) AS number) AS slots"""
"""Two days of sums, of which the newest five minutes are to be counted on: more of the history than is read at once."""
_AUDIT = """INSERT INTO coordination_audit (source_identifier, source_partition_key, at, action, acted_by, why, op,
        batch)
    SELECT source_identifier, source_partition_key, updated_at - ordinal, 'reset', 'ana', 'late rows', 'o',
        CASE WHEN ordinal % 3000 < 2500 THEN 'b' || ordinal / 3000 END
    FROM coordination_partitions WHERE ordinal < 20000 ORDER BY ordinal"""
"""Much of it was done to 2,500 at once."""
_IN_BRANCH = """UPDATE coordination_partitions SET branch = 1 WHERE source_partition_key < 'k000000101'"""
_BLOCKED = """INSERT INTO coordination_partitions (source_identifier, source_partition_key, source_partition_status,
        ordinal, position, token, nonce, last_op, created_at, updated_at, create_op, generation, parents, waits_for)
    SELECT 'children|PARTITION', 'k' || lpad(n::text, 9, '0'), CASE WHEN n % 20 = 0 THEN 'CLOSED' ELSE 'UNASSIGNED' END,
        n, n, 0, '', md5('o'), 1, 1, md5('c'), md5('g'), '["p"]', '["p"]' FROM generate_series(1, 5000) AS n"""
"""What waits for a parent, of which somebody has parked some."""
_COUNTED = """UPDATE coordination_partitions SET accounting =
        '{"generation":"' || generation || '","over":1,"counts":{"read":3,"dead_lettered":2,"delivered_everywhere":1}}'
    WHERE source_partition_key < 'k000005000' AND source_identifier = 'flights|PARTITION'"""
_AGAIN = """INSERT INTO coordination_partitions (source_identifier, source_partition_key, source_partition_status,
        ordinal, position, token, nonce, last_op, created_at, updated_at, create_op, generation, payload, accounting)
    SELECT 'flights-again|PARTITION', source_partition_key || '@' || left(md5(source_partition_key), 12), 'COMPLETED',
        ordinal, ordinal, 1, md5('n'), md5('o'), 1, 1, md5('c'), md5('g'), '{"again":{"source":"flights","partition":"'
        || source_partition_key || '","dataset":"clean","letters":"' || md5(source_partition_key) || '","round":1}}',
        '{"generation":"' || md5('g') || '","over":1,"counts":{"read":2,"delivered_everywhere":2}}'
    FROM coordination_partitions
    WHERE source_partition_key < 'k000005000' AND source_identifier = 'flights|PARTITION'"""
"""Dead letters that thousands of partitions have set aside, and others have delivered again."""
_DOCUMENTS = """INSERT INTO coordination_documents (source_identifier, name, version, content, author, comment, op,
        at)
    SELECT 'ruled-' || source || '|PARTITION', 'rules/d' || n, 2, '[]', 'ana', 'w', md5('o'), n
    FROM generate_series(0, 4) AS source, generate_series(1, 20000) AS n"""
_OTHERS = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
    AND application_name = 'airflow-coordination'"""


def _a_branch_and_much_that_is_hidden(view: View) -> View:
    start = datetime(2000, 1, 1, tzinfo=UTC)
    view, number = changing.begun(view, {"prefix": "k0000000"}, None, "ana", "late rows", start)
    view = changing.complete(view, number, 100, None)
    for day in range(200):
        hidden = Interval(start + timedelta(days=day), start + timedelta(days=day + 1))
        view = changing.hidden(view, "clean", hidden, "ana", "wrong", start)
    return view


@pytest.fixture(scope="module")
def url(postgres_cluster: str, postgres_template: str) -> Iterator[str]:
    """A store with many partitions, of which none is changed."""
    from airflow_coordination.stores import open_store

    with fresh_database(postgres_cluster, postgres_template) as url:
        fill(url, NUMBER)
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute(_HISTORY)
            connection.execute(_RECENT)
            connection.execute("VACUUM (ANALYZE) coordination_history")
            connection.execute(_ENDED)
            connection.execute("VACUUM (ANALYZE) coordination_ended")
            connection.execute(_AUDIT)
            connection.execute("VACUUM (ANALYZE) coordination_audit")
            connection.execute(_HEADS)
            connection.execute(_IN_BRANCH)
            connection.execute(_BLOCKED)
            connection.execute(_COUNTED)
            connection.execute(_AGAIN)
            connection.execute("VACUUM (ANALYZE) coordination_partitions")
            connection.execute("VACUUM (ANALYZE) coordination_heads")
        store = open_store(url)
        filled = SourceCoordinator(store, SOURCE, "somebody")
        filled.supplying.register_dag(OPEN_DAG)
        SourceCoordinator(store, "children", "somebody").supplying.register_dag(OPEN_DAG)
        filled.looking.chunks.put(_MONTHS)
        filled.documents.change_view(_a_branch_and_much_that_is_hidden, "ana", "late rows")
        for name in RULED:
            SourceCoordinator(store, name, "somebody").supplying.register_dag(OPEN_DAG)
        for number in range(300):
            filled.documents.change("compaction/other", partial("[{}]".format, number), "ana", "w")
        store.close()
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute(_DOCUMENTS)
            connection.execute("VACUUM (ANALYZE) coordination_documents")
        yield url


@pytest.fixture
def store(url: str, monkeypatch: pytest.MonkeyPatch) -> PartitionStore:
    """The store that the board opens."""
    from airflow_coordination.hooks.coordination import CoordinationHook

    monkeypatch.setenv("AIRFLOW_CONN_COORDINATION_DEFAULT", json.dumps({"conn_type": "coordination", "host": url}))
    return CoordinationHook().get_conn()


@pytest.fixture
def rows(url: str, store: PartitionStore) -> Iterator[Callable[[], int]]:
    """Return how many rows of partitions and history the server says were read: a session tells it when it ends."""
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as elsewhere:

        def read() -> int:
            store.close()
            while elsewhere.execute(_OTHERS).fetchall() != [(0,)]:
                time.sleep(0.01)
            [(found,)] = elsewhere.execute(_READ).fetchall()
            return int(found)

        yield read


GETS = {
    "sources": {},
    "partitions": {"limit": 1000},
    **{f"partitions?status={state}": {"status": state, "limit": 1000} for state in ("CLOSED", *WORDS)},
    "partitions?alike": {"status": "parked", "alike": "no such error", "limit": 1000},
    "map?expired": {"status": "expired"},
    "partitions?prefix": {"prefix": "k0000", "after": "k000025000", "limit": 1000},
    "partitions?from": {"from": "k000025000", "to": "k000026000", "limit": 1000},
    "partitions?from&status": {"from": "k000025000", "to": "k000026000", "status": "parked", "limit": 1000},
    "ranges": {},
    "ranges?blocked": {"source": CHILDREN},
    "source?blocked": {"source": CHILDREN},
    "partitions?error": {"error": "no such error", "limit": 1000},
    "partitions?owner": {"owner": "nobody", "limit": 1000},
    "map": {},
    "map?after": {"after": "k000025000"},
    "map?error": {"status": "CLOSED", "error": "no such error"},
    "source": {},
    "ended": {},
    "ended/lately": {},
    "ended/lately?day": {"day": "true"},
    "accounting": {},
    "accounting?after": {"after": "k000002500"},
    "accounting/again": {},
    "accounting/again?after": {"after": "k000002500"},
    "audit": {},
    "audit?narrowed": {"has": "k000000007", "reach": "many", "became": "true"},
    "audit?after": {"after": "9000"},
    "audit?by": {"by": "nobody"},
    "audit?became": {"became": "true", "limit": 50},
    "audit?became&after": {"became": "true", "after": "2000"},
    "audit?all": {"source": "", "became": "true"},
    "datasets": {},
    "dataset": {"dataset": "clean"},
    "dataset?after": {"dataset": "clean", "after": _MONTHS[200].place},
    "view": {},
    "view?dataset": {"dataset": "clean"},
    "rules": {"dataset": "clean"},
    "rules?of": {"dataset": "clean", "of": "2013-01/P1M"},
    "owners": {"limit": 1000},
    **{f"partition?key={key}": {"key": key} for key in ("k000000006", "k000000998", "k000000999", "k000025008")},
}
FILTERS = {
    "all that are done": {"status": "COMPLETED"},
    "an error that nothing has": {"status": "CLOSED", "error_like": "no such error"},
    "a beginning that all have": {"key_prefix": "k0"},
    "half of the keys": {"key_from": "k000025000"},
}


@pytest.mark.parametrize("asked", GETS)
def test_a_look_reads_few_rows(client: TestClient, token, rows, asked):
    client.headers["Authorization"] = f"Bearer {token('viewer', [])}"
    before = rows()
    answer = client.get(f"/api/v1/{asked.partition('?')[0]}", params={**HERE, **GETS[asked]})
    assert answer.status_code == 200, answer.text
    read = rows() - before
    print(f"{read:6} rows read: {asked}")
    assert read <= ROWS


def test_what_was_set_is_read_up_to_an_end(client: TestClient, token, rows):
    client.headers["Authorization"] = f"Bearer {token('admin', [])}"
    before = rows()
    for given in ({}, {"by": "nobody"}, {"document": "compaction/other", "before": 200}):
        answer = client.get("/api/v1/documents", params={**HERE, **given})
        assert answer.json()["since"] is not None, answer.text
    assert rows() - before <= 3 * ROWS_OF_DOCUMENTS


@pytest.mark.parametrize("given", [{"source": ""}, {"source": "", "by": "nobody"}, {"source": "ruled-1|PARTITION"}])
def test_of_many_documents_of_many_sources_some_are_read_and_the_others_named(client: TestClient, token, rows, given):
    client.headers["Authorization"] = f"Bearer {token('admin', [])}"
    before = rows()
    page = client.get("/api/v1/documents", params={**HERE, **given}).json()
    assert rows() - before <= ROWS_OF_DOCUMENTS
    unread = {f"{name}|PARTITION" for name in RULED} if not given["source"] else {given["source"]}
    assert {each["source"] for each in page["unread"]} == unread


def test_all_dead_letters_are_found_in_portions(client: TestClient, token, rows):
    client.headers["Authorization"] = f"Bearer {token('viewer', [])}"
    before, found, after = rows(), [], ""
    while after is not None:
        found.append(client.get("/api/v1/accounting/again", params={**HERE, "after": after}).json())
        after = found[-1]["after"]
    assert sum(each["partitions"] for each in found) == 4_999
    assert sum(each["void"] for each in found) == 2 * 4_999, "no head record leads to them"
    assert rows() - before <= ROWS * len(found)


def test_what_is_blocked_is_counted_in_indexes_however_many_there_are(client: TestClient, token, rows):
    client.headers["Authorization"] = f"Bearer {token('viewer', [])}"
    before = rows()
    ranges: list[dict[str, dict[str, int]]] = []
    while not ranges:
        ranges = client.get("/api/v1/ranges", params={**HERE, "source": CHILDREN}).json()["ranges"] or []
    assert sum(each["counts"]["blocked"] for each in ranges) == 4_750
    assert sum(each["counts"]["parked"] for each in ranges) == 250
    assert sum(sum(each["counts"].values()) for each in ranges) == 5_000
    assert rows() - before <= ROWS


@pytest.mark.parametrize("asked", FILTERS)
def test_a_dry_run_reads_few_rows(client: TestClient, token, rows, asked):
    headers = OURS | {"Authorization": f"Bearer {token('user', [])}"}
    before = rows()
    body = {**HERE, "action": "park", "filter": FILTERS[asked]}
    answer = client.post("/api/v1/actions/dry-run", headers=headers, json=body)
    assert answer.status_code == 200, answer.text
    assert rows() - before <= ROWS + 1  # the key that is the beginning itself is looked for, too
