"""The history in SQL: how long it is kept, what it reads, who may write it, and what it never stands in the way of."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

from airflow_coordination import SourceCoordinator
from airflow_coordination.stores import open_store
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.sql import store as thinning
from airflow_coordination.stores.sql.statements import writes
from airflow_coordination.stores.sql.store import SqlStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.conformance.fixtures import SOURCE, Workbench
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.status import Outcome
from tests.integration.stores.earlier import NO_HISTORY

OLD = timedelta(days=31)
COPIED = """INSERT INTO coordination_history SELECT source_identifier, source_partition_key, token, nonce, 'a copy',
    NULL, NULL, 0, 'lost', 'op', 'UNASSIGNED', 0, NULL, 0, 0, NULL FROM coordination_partitions RETURNING 1"""

MANY = """INSERT INTO coordination_history SELECT :source, 'k' || n, 1, 'n', NULL, NULL, NULL, n, 'lost', 'op',
    'UNASSIGNED', 0, NULL, 0, 0, NULL FROM generate_series(1, 20000) AS n"""


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest) -> str:
    """URL of a store that is set up."""
    found: str = request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_store_url")
    open_store(found).setup()
    return found


def opened(url: str, clock: FakeClock | None = None) -> SqlStore:
    store = open_store(url, clock=clock)
    assert isinstance(store, SqlStore)
    return store


@pytest.fixture
def bench(url: str) -> Iterator[Workbench]:
    clock = FakeClock()
    store = opened(url, clock)
    yield Workbench(store, clock)
    store.close()


def _end(bench: Workbench, times: int) -> None:
    for _ in range(times):
        bench.give_up(bench.acquire())
        bench.clock.advance(timedelta(microseconds=1))


def test_x11_a_row_that_is_there_refuses_nothing(bench: Workbench) -> None:
    """A restored copy may bring one."""
    held = bench.new("k")
    assert isinstance(bench.store, SqlStore)
    bench.store.database.fetch(Call("copy"), bench.store.database.dialect.statement(COPIED), {})
    assert bench.complete(held).applied
    assert [row.owner for row in bench.store.history(SOURCE)] == ["a copy"]


def test_what_is_too_old_goes_with_the_sweep(bench: Workbench) -> None:
    other = Workbench(bench.store, bench.clock, "other|PARTITION")
    for one in (bench, other):
        one.create("k")
        _end(one, 3)
    bench.clock.advance(OLD)
    _end(bench, 2)
    bench.sweep()
    assert [row.token for row in bench.store.history(SOURCE)] == [5, 4]
    assert len(bench.store.history(other.source)) == 3


def test_it_is_thinned_in_portions_and_seldom(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thinning, "PORTION", 3)
    assert isinstance(bench.store, SqlStore)
    seconds = [0.0]
    bench.store.thinning.clock = lambda: seconds[0]
    bench.create("k")
    _end(bench, 7)
    bench.clock.advance(OLD)
    left = []
    for _ in range(4):
        bench.sweep()
        left.append(len(bench.store.history(SOURCE)))
    assert left == [4, 1, 0, 0]  # a full portion says that there may be more
    _end(bench, 1)
    bench.clock.advance(OLD)
    bench.sweep()
    assert len(bench.store.history(SOURCE)) == 1
    seconds[0] += thinning.SELDOM
    bench.sweep()
    assert len(bench.store.history(SOURCE)) == 0


def test_its_length_is_the_configurations(url: str) -> None:
    clock = FakeClock()
    mapping = {"store": {"sql": {"url": url, "history_retention": 2}}}
    store = open_store(mapping, clock=clock)
    bench = Workbench(store, clock)
    _end_one(bench)
    clock.advance(timedelta(days=1))
    bench.sweep()
    assert len(store.history(SOURCE)) == 1
    store.close()
    clock.advance(timedelta(days=2))
    store = open_store(mapping, clock=clock)
    Workbench(store, clock).sweep()
    assert len(store.history(SOURCE)) == 0
    store.close()


def _end_one(bench: Workbench) -> None:
    bench.complete(bench.new("k"))


@pytest.mark.parametrize("off", ["off", "OFF", False])
def test_it_can_be_off(url: str, off: object) -> None:
    """``off`` without quotes is ``false`` in YAML; the ring remembers all the same, and so does who asks."""
    store = open_store({"store": {"sql": {"url": url, "history_retention": off}}})
    assert store.parts().history is None
    coordinator = SourceCoordinator(store, "flights", "h/d/r/t/0/1")
    coordinator.create_partitions(["k"])
    coordinator.complete(_acquired(coordinator))
    assert len(store.history(SOURCE)) == 0
    [past] = coordinator.history("k")
    assert (past.outcome, past.owner, past.acquired_at) == (Outcome.COMPLETED, None, None)
    store.close()


def _acquired(coordinator: SourceCoordinator):  # type: ignore[no-untyped-def]
    lease = coordinator.get_next_partition()
    assert lease is not None
    return lease


def test_the_drivers_store_keeps_it_as_long(url: str) -> None:
    """What a task hands to its driver is the URL with its options."""
    store = opened(f"{url}?history_retention=off" if "?" not in url else f"{url}&history_retention=off")
    assert store.reference is not None
    assert open_store(store.reference).parts().history is None
    assert "history" not in store.description or "postgresql" in store.description


@pytest.mark.parametrize("wrong", ["0", "-1", "1.5", "month", "99999999"])
def test_what_is_no_number_of_days_is_refused(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(SettingsError, match=r"history_retention.*whole days.*history_retention=off"):
        open_store(f"sqlite:///{tmp_path}/store.db?history_retention={wrong}")


@pytest.mark.postgres
def test_it_is_read_and_thinned_by_index(postgres_store: SqlStore) -> None:
    dialect = postgres_store.database.dialect
    for filled in (MANY, "ANALYZE coordination_history"):
        postgres_store.database.fetch(Call("fill"), dialect.statement(filled), {"source": SOURCE})
    given = {"source": SOURCE, "key": "k", "limit": 9, "kept": 1}
    for text, index in (
        (writes.list_history(dialect, one_key=True), "coordination_history_pkey"),
        (writes.list_history(dialect, one_key=False), "coordination_history_by_time"),
        (writes.thin_history(dialect), "coordination_history_by_time"),
    ):
        statement = dialect.statement(f"EXPLAIN {text}")
        plan = [line for [line] in postgres_store.database.fetch(Call("plan"), statement, given)]
        assert any(index in line for line in plan), "\n".join(plan)
        assert not any("Seq Scan" in line for line in plan), "\n".join(plan)


@pytest.mark.postgres
def test_who_may_change_partitions_may_write_it_after_a_migration(postgres_store_url: str) -> None:
    """A rolling upgrade: the role's rights are from before there was a history."""
    plain = postgres_store_url.replace("+psycopg", "")
    with psycopg.connect(plain, autocommit=True) as owner:
        for statement in (
            'CREATE ROLE "Work er" LOGIN',
            'CREATE ROLE "looker" LOGIN',
            'GRANT SELECT, INSERT, UPDATE ON coordination_partitions TO "Work er"',
            'GRANT SELECT ON coordination_partitions TO "looker"',
            *NO_HISTORY,
            "UPDATE coordination_schema_history SET version_num = '0003'",
            "UPDATE coordination_meta SET schema_version = 2",
        ):
            owner.execute(statement)
        try:
            open_store(postgres_store_url).setup()
            for role, right, may in (
                ("Work er", "SELECT", True),
                ("Work er", "INSERT", True),
                ("Work er", "DELETE", True),
                ("Work er", "UPDATE", False),
                ("looker", "SELECT", True),
                ("looker", "INSERT", False),
            ):
                asked = "SELECT has_table_privilege(%s, 'coordination_history', %s)"
                assert owner.execute(asked, (role, right)).fetchone() == (may,), (role, right)
        finally:
            owner.execute('DROP OWNED BY "Work er", "looker"; DROP ROLE "Work er", "looker"')
