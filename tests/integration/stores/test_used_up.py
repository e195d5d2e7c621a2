"""Looks at a queue of which much is used up while a snapshot is held (E15): blocks are counted, and not time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest

from airflow_coordination.protocol.writes import Sweep
from airflow_coordination.stores import open_store
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.sql import queue
from airflow_coordination.stores.sql.postgres_store import PostgresStore
from airflow_coordination.stores.sql.queue import NO_FLOORS
from airflow_coordination.stores.sql.statements import create
from airflow_coordination.stores.sql.statements.dialect import Statement
from tests.integration.stores.conftest import SOURCE, creation, ending, following, op

pytestmark = pytest.mark.postgres

NUMBER = 4_000
FLAT = 200
"""Blocks of the table and its indexes that one look may read, however much is used up: some of each index there is."""
_BLOCKS = """SELECT heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit FROM pg_statio_user_tables
    WHERE relname = 'coordination_partitions'"""
_HELD = """UPDATE coordination_partitions SET source_partition_status = 'ASSIGNED', ready = NULL, timed = 1, due_at = 1,
    token = 1, partition_ownership_timeout = 1 WHERE source_partition_key = ANY (%s)"""
_COMPLETED = """UPDATE coordination_partitions SET source_partition_status = 'COMPLETED', timed = NULL, due_at = NULL,
    partition_ownership_timeout = NULL WHERE source_partition_key = ANY (%s)"""


@pytest.fixture
def store(postgres_store_url: str) -> Iterator[PostgresStore]:
    """A store that looks for the floors before every look."""
    store = open_store(postgres_store_url)
    assert isinstance(store, PostgresStore)
    store._used_up.slow = 0.0
    yield store
    store.close()


@pytest.fixture
def elsewhere(postgres_store_url: str) -> Iterator[psycopg.Connection]:
    """Another session."""
    with psycopg.connect(postgres_store_url.replace("+psycopg", ""), autocommit=True) as connection:
        yield connection


@pytest.fixture
def snapshot(postgres_store_url: str) -> Iterator[None]:
    """A snapshot that is held: no index entry goes away."""
    with psycopg.connect(postgres_store_url.replace("+psycopg", "")) as connection:
        connection.execute("ALTER TABLE coordination_partitions SET (autovacuum_enabled = off)")
        connection.commit()
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT count(*) FROM coordination_partitions")
        yield


@pytest.fixture
def later(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> Callable[[float], float]:
    """Lets time go by, by which the store decides when to look for the floors again; all looks count as slow ones."""
    monkeypatch.setattr(queue, "SHARE", 1e9)
    monkeypatch.setattr(queue, "_AGAIN", 0)
    seconds = [0.0]

    def pass_by(more: float = 0.01) -> float:
        seconds[0] += more
        return seconds[0]

    store._used_up.clock = pass_by
    return pass_by


def _keys(name: str, number: int = NUMBER) -> list[str]:
    return [f"{name}{place:05}" for place in range(number)]


def _use_up(elsewhere: psycopg.Connection, keys: list[str]) -> None:
    """Acquire and complete; the leases would have ended long ago."""
    for text in (_HELD, _COMPLETED):
        elsewhere.execute(text, [keys])


def _blocks(store: PostgresStore, elsewhere: psycopg.Connection, look: Callable[[], object]) -> int:
    """Return how many blocks a look reads."""

    def now() -> int:
        store.database.fetch(Call("flush"), Statement("SELECT pg_stat_force_next_flush()", ()), {})
        elsewhere.execute("SELECT pg_stat_force_next_flush()")
        [(blocks,)] = elsewhere.execute(_BLOCKS).fetchall()
        return int(blocks)

    before = now()
    look()
    return now() - before


def _looks(store: PostgresStore) -> dict[str, Callable[[], object]]:
    sweep = Sweep(source=SOURCE, op=op(), limit=100, max_lost_leases=5)
    return {
        "hints": lambda: store.claimable(SOURCE, 10),
        "acquire": lambda: store.acquire_next(following()),
        "sweep": lambda: store.sweep(sweep),
    }


def _forgive(store: PostgresStore) -> None:
    """Let it look at what it knows, and no more for the floors."""
    store._used_up.slow = 1e9
    store._used_up.clock = lambda: 0.0


@pytest.mark.parametrize("left", [0, 20])
@pytest.mark.parametrize("look", ["hints", "acquire", "sweep"])
def test_e15_no_look_walks_over_what_is_used_up(
    store: PostgresStore, elsewhere: psycopg.Connection, snapshot: None, look: str, left: int
) -> None:
    """E15: neither at the default priority nor at one that was seen, nor over leases that would have ended."""
    store.create(creation(_keys("urgent"), priority=-3))
    store.create(creation(_keys("usual")))
    assert len(store.claimable(SOURCE, 10)) == 10
    _use_up(elsewhere, _keys("urgent", NUMBER - left) + _keys("usual", NUMBER - left))
    for _ in range(3):
        _looks(store)[look]()
    _forgive(store)
    assert _blocks(store, elsewhere, _looks(store)[look]) <= FLAT


def test_e15_a_priority_that_nobody_saw_costs_no_visit_to_the_table(
    store: PostgresStore, elsewhere: psycopg.Connection, snapshot: None
) -> None:
    """E15: its entries are walked over in the index alone."""
    store.create(creation(_keys("rare"), priority=7))
    _use_up(elsewhere, _keys("rare"))
    assert [store.acquire_next(following()) for _ in range(3)] == [None] * 3
    _forgive(store)
    assert _blocks(store, elsewhere, lambda: store.acquire_next(following())) <= FLAT


def _creating(elsewhere: psycopg.Connection, store: PostgresStore, keys: list[str]) -> None:
    """Create a page in an open transaction."""
    statement = store.database.dialect.statement(create.create_page(store.database.dialect))
    write = creation(keys)
    parameters = statement.bind(store._page(write, list(write.partitions)))
    psycopg.RawCursor(elsewhere).execute(statement.text, parameters)


def test_e15_a_page_that_is_still_being_created_is_found_at_once(
    store: PostgresStore, elsewhere: psycopg.Connection, postgres_store_url: str, later: Callable[[float], float]
) -> None:
    """E15, L3: a later page is used up before the earlier one can be seen; no floor passes its place."""
    store.create(creation(_keys("first", 10)))
    assert len(store.claimable(SOURCE, 99)) == 10
    with psycopg.connect(postgres_store_url.replace("+psycopg", "")) as slow:
        _creating(slow, store, ["late"])
        store.create(creation(_keys("second", 10)))
        _use_up(elsewhere, _keys("first", 10) + _keys("second", 10))
        for _ in range(5):
            assert store.claimable(SOURCE, 99) == []
            assert store.acquire_next(following()) is None
            later(queue.SOON)
        slow.commit()
    assert store.claimable(SOURCE, 99) == [("late", 0)]
    found = store.acquire_next(following())
    assert found is not None
    assert found.key == "late"


def test_e15_a_writer_of_before_holds_the_floors_back(
    store: PostgresStore, elsewhere: psycopg.Connection, postgres_store_url: str
) -> None:
    """E15: it is waited for by its transaction, and no longer than it takes."""
    store.create(creation(["a"]))
    _use_up(elsewhere, ["a"])
    with psycopg.connect(postgres_store_url.replace("+psycopg", "")) as writer:
        writer.execute("UPDATE coordination_partitions SET updated_at = 0")
        for _ in range(3):
            store.claimable(SOURCE, 9)
        assert store._used_up.of(SOURCE) == NO_FLOORS
    for _ in range(2):
        store.claimable(SOURCE, 9)
    assert store._used_up.of(SOURCE) != NO_FLOORS


def test_e15_what_comes_above_and_beside_the_floors_is_found(
    store: PostgresStore, elsewhere: psycopg.Connection, later: Callable[[float], float]
) -> None:
    """E15: later pages of smaller and of greater priority, what comes back, and a deleted one that is made again."""
    store.create(creation(_keys("used", 20)))
    for _ in range(3):
        assert len(store.claimable(SOURCE, 99)) == 20
        later(queue.SOON)
    _use_up(elsewhere, _keys("used", 20))
    for _ in range(3):
        assert store.claimable(SOURCE, 99) == []
        later(queue.SOON)
    assert store._used_up.of(SOURCE) != NO_FLOORS
    for key, priority in {"usual": 0, "urgent": -1, "spare": 1}.items():
        store.create(creation([key], priority=priority))
    elsewhere.execute("UPDATE coordination_partitions SET deleted = 1 WHERE source_partition_key = 'used00003'")
    store.create(creation(["used00003"]))
    elsewhere.execute("UPDATE coordination_partitions SET ready = 2 WHERE source_partition_key = 'used00005'")
    elsewhere.execute("UPDATE coordination_partitions SET ready = 0 WHERE source_partition_key = 'used00006'")
    wanted = ["used00006", "urgent", "used00005", "usual", "used00003", "spare"]
    assert [key for key, _ in store.claimable(SOURCE, 99)] == wanted
    found = [store.acquire_next(following()) for _ in wanted]
    assert [partition and partition.key for partition in found] == wanted


def test_e15_what_nobody_could_expect_is_found_by_the_next_look_at_all(
    store: PostgresStore, elsewhere: psycopg.Connection, later: Callable[[float], float]
) -> None:
    """E15: a clock decides when, and never whether; here a person writes a row of the queue."""
    store.create(creation(["a", "b"]))
    store.acquire_next(following())
    store.acquire_next(following())
    for _ in range(3):
        assert store.acquire_next(following()) is None
        later(queue.SOON)
    elsewhere.execute("UPDATE coordination_partitions SET ready = 3, timed = NULL WHERE source_partition_key = 'a'")
    later(queue.SELDOM)
    found = store.acquire_next(following())
    assert found is not None
    assert found.key == "a"


@pytest.mark.parametrize(
    "goes_back", ["SELECT setval('coordination_pages', 1)", "ALTER SEQUENCE coordination_pages RESTART"]
)
def test_e15_floors_of_another_server_are_forgotten(
    store: PostgresStore, elsewhere: psycopg.Connection, later: Callable[[float], float], goes_back: str
) -> None:
    """E15: after a failover that lost pages, their numbers are given again."""
    for key in ("a", "b", "c"):
        store.create(creation([key]))
        held = store.acquire_next(following())
        assert held is not None
        store.write(ending(held))
        assert store.claimable(SOURCE, 9) == []
        later(queue.SOON)
    before = store._used_up.of(SOURCE)
    elsewhere.execute(goes_back)
    store.create(creation(["again"]))
    made = store.get(SOURCE, "again")
    assert made is not None
    assert made.ordinal < max(span.low for span in before.fresh), "it is below the floor of before"
    assert store.claimable(SOURCE, 9) == [("again", 0)]


def test_e15_who_may_not_see_the_number_of_pages_looks_from_the_beginning(
    store: PostgresStore, elsewhere: psycopg.Connection
) -> None:
    """E15: a reader has no right on the sequence."""
    store.create(creation(["a"]))
    role = f"reader_{op()}"
    elsewhere.execute(f"CREATE ROLE {role} LOGIN")
    try:
        elsewhere.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}")
        reader = open_store(store.database.public_url.replace("//coordination@", f"//{role}@"))
        assert isinstance(reader, PostgresStore)
        reader._used_up.slow = 0.0
        assert [reader.claimable(SOURCE, 9) for _ in range(3)] == [[("a", 0)]] * 3
        assert reader._used_up.of(SOURCE) == NO_FLOORS
        reader.close()
    finally:
        elsewhere.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


def test_e15_a_look_for_the_floors_that_fails_harms_nobody(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E15: the acquisition itself is what its caller asked for."""
    store.create(creation(["a", "b"]))
    assert store.acquire_next(following()) is not None
    monkeypatch.setattr(queue, "first_due", lambda _: "SELECT no_such_column FROM coordination_partitions")
    found = store.acquire_next(following())
    assert found is not None
    assert found.key == "b"
