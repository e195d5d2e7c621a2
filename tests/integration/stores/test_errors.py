"""What the engines' exceptions become at the store's edge."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from airflow_coordination.leases import Settings, SourceCoordinator
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.writes import Save
from airflow_coordination.stores import open_store
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.sql.statements.dialect import Statement
from airflow_coordination.stores.sql.store import SqlStore
from airflow_coordination.values.errors import (
    PartitionUpdateError,
    SchemaVersionError,
    StoreSlowError,
    StoreThrottledError,
    StoreUnavailableError,
)
from airflow_coordination.values.fence import Fence
from airflow_coordination.values.input_errors import CoordinationError, SettingsError
from tests.engines.ports import free_port
from tests.integration.stores.conftest import SOURCE, creation, following, op, tenancy


def plain(url: str) -> str:
    return url.replace("+psycopg", "")


def test_s4_a_full_disk_is_named_and_what_was_there_stays(sqlite_store: SqlStore) -> None:
    sqlite_store.create(creation(["a"]))
    with sqlite_store.database.connected(Call("test")) as connected:
        [pages] = connected.connection.execute("PRAGMA page_count").fetchone()
        connected.connection.execute(f"PRAGMA max_page_count = {pages + 1}")
    with pytest.raises(StoreThrottledError, match=r"the disk of .*store\.db is full") as caught:
        sqlite_store.create(creation([f"k{number:0900}" for number in range(500)]))
    assert caught.value.__cause__ is not None
    assert [p.key for p in sqlite_store.page(SOURCE, None, None, 10)] == ["a"]


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_bytes(b"no database at all, but long enough to look like one" * 100)
    with pytest.raises(PartitionUpdateError, match=r"store\.db is no SQLite database, or damaged"):
        open_store(f"sqlite:///{tmp_path}/store.db").counts(SOURCE)


def test_a_busy_sqlite_is_unavailable(sqlite_store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlite3

    monkeypatch.setattr("airflow_coordination.stores.sql.sqlite.BUSY_SECONDS", 0.1)
    store = open_store(sqlite_store.reference or "")
    assert store.store_id
    other = sqlite3.connect((sqlite_store.reference or "").removeprefix("sqlite:///"), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailableError, match="database is locked"):
        store.create(creation(["a"]))
    other.execute("ROLLBACK")
    other.close()
    assert store.create(creation(["a"])).created == 1
    store.close()


@pytest.mark.postgres
def test_x4_an_unreachable_server_is_unavailable_without_its_password() -> None:
    url = f"postgresql://ana:s3cret@127.0.0.1:{free_port()}/c"
    with pytest.raises(StoreUnavailableError, match=r"ana@127\.0\.0\.1.*[Rr]efused") as caught:
        open_store(url).counts(SOURCE)
    error: BaseException | None = caught.value
    while error is not None:
        assert "s3cret" not in f"{error} {error.args}"
        error = error.__cause__


@pytest.mark.postgres
@pytest.mark.parametrize("change", ["database", "user"])
def test_a_wrong_database_or_user_is_a_setting(postgres_store_url: str, change: str) -> None:
    base, _, name = postgres_store_url.rpartition("/")
    wrong = f"{base}/nowhere" if change == "database" else postgres_store_url.replace("coordination@", "nobody@")
    with pytest.raises(SettingsError, match=r"cannot be used: .*does not exist"):
        open_store(wrong).counts(SOURCE)
    assert name


def held(store: SqlStore) -> Partition:
    store.create(creation(["a"]))
    found = store.acquire_next(following())
    assert found is not None
    return found


def saving(found: Partition) -> Save:
    fence = Fence(found.token, found.nonce)
    return Save(
        source=SOURCE, key="a", fence=fence, op=op(), prev=found.last_op, progress_text="{}", staged=(),
        timeout=tenancy().timeout,
    )  # fmt: skip


@pytest.mark.postgres
def test_a10_a_statement_that_the_server_cancelled_was_not_applied(postgres_store_url: str) -> None:
    """A10: and the error says that the store was too slow, not that it could not be reached."""
    patient, store = open_store(postgres_store_url), open_store(f"{postgres_store_url}?statement_timeout=0.3")
    assert isinstance(patient, SqlStore)
    found = held(patient)
    with psycopg.connect(plain(postgres_store_url)) as other:
        other.execute("SELECT 1 FROM coordination_partitions FOR UPDATE")
        with pytest.raises(StoreSlowError, match=r"The store was too slow to .*statement timeout"):
            store.write(saving(found))
    assert patient.write(saving(found)).applied
    patient.close()
    store.close()


@pytest.mark.postgres
@pytest.mark.parametrize("code", ["53100", "58030", "XX000", "P0001"])
def test_e8_trouble_of_the_server_is_tried_again_whatever_its_code(postgres_store_url: str, code: str) -> None:
    """E8: an unlisted error of PostgreSQL ended a running lease; a trigger raises it here, as the server would."""
    settings = Settings(request_deadline=timedelta(seconds=0.2))
    store = open_store(postgres_store_url)
    coordinator = SourceCoordinator(store, "s", "o", settings=settings)
    coordinator.create_partitions(["a"])
    lease = coordinator.get_next_partition()
    assert lease is not None
    with psycopg.connect(plain(postgres_store_url), autocommit=True) as server:
        raising = f"BEGIN RAISE 'trouble' USING ERRCODE = '{code}'; END"
        server.execute(f"CREATE FUNCTION trouble() RETURNS trigger LANGUAGE plpgsql AS $${raising}$$")
        server.execute("CREATE TRIGGER t BEFORE UPDATE ON coordination_partitions EXECUTE FUNCTION trouble()")
        with pytest.raises(StoreUnavailableError, match="trouble"):
            coordinator.save_progress_state(lease, 1)
        server.execute("DROP TRIGGER t ON coordination_partitions")
    coordinator.save_progress_state(lease, 2)
    coordinator.complete(lease)
    store.close()


@pytest.mark.postgres
@pytest.mark.parametrize("code", ["23514", "54000"])
def test_what_the_server_says_of_the_statement_itself_is_not_repeated(postgres_store_url: str, code: str) -> None:
    store = open_store(postgres_store_url)
    with psycopg.connect(plain(postgres_store_url), autocommit=True) as server:
        raising = f"BEGIN RAISE 'no' USING ERRCODE = '{code}'; END"
        server.execute(f"CREATE FUNCTION trouble() RETURNS trigger LANGUAGE plpgsql AS $${raising}$$")
        server.execute("CREATE TRIGGER t BEFORE INSERT ON coordination_partitions EXECUTE FUNCTION trouble()")
        with pytest.raises(PartitionUpdateError, match="no"):
            store.create(creation(["a"]))
    store.close()


@pytest.mark.postgres
def test_rights_that_are_missing_are_named(postgres_store_url: str) -> None:
    with psycopg.connect(plain(postgres_store_url), autocommit=True) as admin:
        admin.execute("DROP ROLE IF EXISTS reader")
        admin.execute("CREATE ROLE reader LOGIN")
        admin.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
        store = open_store(postgres_store_url.replace("coordination@", "reader@"))
        assert store.counts(SOURCE)
        with pytest.raises(
            PartitionUpdateError,
            match=r"permission denied .* Give this role what `airflow coordination grants worker` prints",
        ):
            store.create(creation(["a"]))
        store.close()
        admin.execute("DROP OWNED BY reader")
        admin.execute("DROP ROLE reader")


@pytest.mark.postgres
def test_tables_that_vanished_are_a_schema_error(postgres_store: SqlStore) -> None:
    assert postgres_store.counts(SOURCE)
    postgres_store.database.fetch(Call("drop"), Statement("DROP TABLE coordination_partitions", ()), {})
    with pytest.raises(SchemaVersionError, match="store migrate"):
        postgres_store.counts(SOURCE)


@pytest.mark.postgres
def test_nothing_stays_in_a_transaction(postgres_store: SqlStore, postgres_store_url: str) -> None:
    held(postgres_store)
    with psycopg.connect(plain(postgres_store_url), autocommit=True) as looking:
        query = "SELECT state FROM pg_stat_activity WHERE application_name = 'airflow-coordination'"
        query += " AND datname = current_database()"  # the server is shared with other tests
        assert looking.execute(query).fetchall() == [("idle",)]


@pytest.mark.postgres
def test_a_pool_that_is_used_up_is_unavailable(postgres_store_url: str) -> None:
    store = open_store(f"{postgres_store_url}?pool_size=1&connect_timeout=0.3")
    assert isinstance(store, SqlStore)
    assert store.store_id
    from contextlib import ExitStack

    with ExitStack() as stack:
        for _ in range(11):
            stack.enter_context(store.database.connected(Call("hold")))
        with pytest.raises(StoreUnavailableError, match="all its connections are busy") as caught:
            store.counts(SOURCE)
        assert isinstance(caught.value, CoordinationError)
    assert store.counts(SOURCE)
    store.close()
