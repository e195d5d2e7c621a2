"""What a PostgreSQL session of ours is, whatever the URL, the role or a pooler in between says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

import psycopg
import pytest
from sqlalchemy.engine import make_url

from airflow_coordination import PartitionStatus, SourceCoordinator
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.stores import open_store
from airflow_coordination.values.input_errors import SettingsError
from tests.engines.pgbouncer import pgbouncer
from tests.engines.postgres import private_server

pytestmark = pytest.mark.postgres
SHOWN = "SELECT application_name, current_setting('work_mem'), current_setting('tcp_keepalives_idle')"


def run_sql(url: str, *statements: str) -> list[tuple[object, ...]]:
    """Execute statements one by one; return the last one's rows."""
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


@contextmanager
def opened(url: str, query: str = "") -> Iterator[PartitionStore]:
    store = open_store(url + query)
    try:
        yield store
    finally:
        store.close()


def keys(store: PartitionStore) -> list[str]:
    return [found.key for found in SourceCoordinator(store, "flights", "x").partitions()]


TEAMS = [
    ("?schema=team_a", "?schema=team_b"),
    ("?options=-csearch_path%3Dteam_a", "?options=--search-path%3Dteam_b"),
    ("", "?schema=" + quote('Team "B" 100%\\')),
]


@pytest.mark.parametrize("queries", TEAMS)
def test_e7_two_teams_with_a_schema_each_have_a_store_each(postgres_url: str, queries: tuple[str, str]) -> None:
    """E7: what the URL says of schemas was dropped, and both worked in one store."""
    if "options" in queries[0]:
        run_sql(postgres_url, "CREATE SCHEMA team_a", "CREATE SCHEMA team_b")
    ids = []
    for number, query in enumerate(queries):
        with opened(postgres_url, query) as store:
            store.setup()
            ids.append(store.store_id)
            SourceCoordinator(store, "flights", "x").create_partitions([f"of-team-{number}"])
    for number, query in enumerate(queries):
        with opened(postgres_url, query) as again:
            assert (again.store_id, keys(again)) == (ids[number], [f"of-team-{number}"])
            assert again.reference is not None
            with opened(again.reference) as by_reference:
                assert by_reference.store_id == ids[number]
    assert len(set(ids)) == 2


def test_e7_a_sequence_and_the_history_are_looked_for_in_the_schema_only(postgres_url: str) -> None:
    """E7: the second schema's tables are complete, also beside a store in ``public``."""
    for query in ("", "?schema=second"):
        with opened(postgres_url, query) as store:
            store.setup()
    found = run_sql(
        postgres_url,
        "SELECT relnamespace::regnamespace::text, count(*) FROM pg_class "
        "WHERE relname LIKE 'coordination%' GROUP BY 1 ORDER BY 1",
    )
    assert [name for name, _ in found] == ["public", "second"]
    assert found[0][1] == found[1][1]


def test_e7_a_store_that_is_seen_behind_the_first_schema_is_nobodys_guess(postgres_url: str) -> None:
    """E7: a ``search_path`` of several schemas never leads into another team's store."""
    with opened(postgres_url) as store:
        store.setup()
    run_sql(postgres_url, "CREATE SCHEMA team_b")
    wide = "?options=" + quote("-c search_path=team_b,public")
    message = "has a store in schema 'public', but search_path begins with 'team_b'. Add schema=public to its URL"
    with opened(postgres_url, wide) as other:
        for call in (other.setup, lambda: other.store_id):
            with pytest.raises(SettingsError, match=message):
                call()


def test_e7_what_the_url_says_arrives(postgres_store_url: str) -> None:
    """E7: application_name, keepalives and options were dropped."""
    said = "?application_name=mine&keepalives_idle=5&options=" + quote("-c work_mem=5MB")
    with opened(postgres_store_url, said) as store:
        assert store.store_id
        found = run_sql(postgres_store_url, "SELECT DISTINCT application_name FROM pg_stat_activity")
        assert ("mine",) in found
        assert store.database._session.arguments["options"].startswith("-c work_mem=5MB -c statement_timeout=10000")  # type: ignore[attr-defined]
        with store.database.connected(_call()) as connected:  # type: ignore[attr-defined]
            assert connected.connection.execute("SHOW work_mem").fetchone() == ("5MB",)
            assert connected.connection.execute("SHOW statement_timeout").fetchone() == ("10s",)
            parameters = {one.keyword: one.val for one in connected.connection.pgconn.info}
            assert parameters[b"keepalives_idle"] == b"5"


def _call() -> object:
    from airflow_coordination.stores.calls import Call

    return Call("look", writes=False)


REFUSED = [
    ("statement_timeuot=5", "store.statement_timeuot='statement_timeuot': is not an option here. Did you mean"),
    ("tcp_user_timeout=5", "store.tcp_user_timeout='5': is set by this package. Give statement_timeout"),
    ("autocommit=0", "store.autocommit='autocommit': is not an option here"),
    ("client_encoding=latin1", "store.client_encoding='latin1': is set by this package"),
    ("options=-cstatement_timeout%3D0", "sets statement_timeout, which is set by this package. Give it as"),
    ("options=-c%20Synchronous-Commit%3Doff", "sets synchronous_commit, which is set by this package. Leave it out"),
    ("options=--jit%3Don", "sets jit, which is set by this package"),
    ("schema=a&options=-csearch_path%3Db", "sets search_path, which is set by this package. Give either schema or"),
    ("schema=pg_temp", "store.schema='pg_temp': cannot be the name of a schema"),
    ("schema=%24user", "store.schema='$user': cannot be the name of a schema"),
    ("schema=" + "ä" * 32, "cannot be a name in PostgreSQL. Give 1 to 63 bytes"),
]


@pytest.mark.parametrize(("query", "message"), REFUSED)
def test_e7_what_must_be_ours_is_refused_by_name(query: str, message: str) -> None:
    """E7: a key that we set is refused, not dropped; a wrong one has its neighbour named."""
    with pytest.raises(SettingsError) as caught:
        open_store(f"postgresql://ana@db.example/c?{query}")
    assert message in str(caught.value)


def test_e7_schema_is_an_option_of_the_configuration_too() -> None:
    """E7: ``schema`` beside ``url`` in the seed's object."""
    store = open_store({"store": {"sql": {"url": "postgresql://ana@db.example/c", "schema": "team_a"}}})
    assert store.reference == "postgresql+psycopg://ana@db.example/c?schema=team_a"


@pytest.mark.slow
def test_e9_acknowledged_completions_survive_whatever_the_role_says() -> None:
    """E9: ``synchronous_commit = off`` on role and database lost what was acknowledged (S4)."""
    with private_server() as server:
        off = ("synchronous_commit = off", "default_transaction_isolation = serializable")
        run_sql(
            server.url,
            "ALTER SYSTEM SET wal_writer_delay = '10s'",
            "SELECT pg_reload_conf()",
            *(f"ALTER {what} SET {setting}" for setting in off for what in ("ROLE coordination", "DATABASE postgres")),
        )
        with opened(server.url) as store:
            store.setup()
            flights = SourceCoordinator(store, "flights", "x")
            flights.create_partitions([f"k{number}" for number in range(5)])
            run_sql(server.url, "CHECKPOINT")
            for _ in range(5):
                lease = flights.get_next_partition()
                assert lease is not None
                flights.complete(lease)
            server.stop("immediate")
        server.start()
        with opened(server.url) as store:
            assert SourceCoordinator(store, "flights", "x").counts()[PartitionStatus.COMPLETED] == 5


@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_e14_a_pooler_is_recognised_and_refused(postgres_store_url: str, mode: str) -> None:
    """E14: behind PgBouncer in transaction mode prepared statements collided, and what we set was dropped."""
    port = make_url(postgres_store_url).port
    with pgbouncer(postgres_store_url, mode) as url, opened(url) as store:
        assert make_url(url).port != port
        for call in (lambda: store.store_id, store.setup, lambda: store.counts("flights")):
            with pytest.raises(SettingsError) as caught:
                call()
            assert "is behind a connection pooler (PgBouncer or another)" in str(caught.value)
            assert "Give the address of the server itself" in str(caught.value)
