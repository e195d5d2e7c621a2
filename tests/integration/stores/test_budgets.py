"""The request budgets of the protocol, counted where they arrive: at SQLite's engine and on PostgreSQL's wire."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from airflow_coordination.leases.blocks import Block
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.stores import open_store
from airflow_coordination.stores.sql.postgres_store import PostgresStore
from airflow_coordination.stores.sql.sqlite_store import SqliteStore
from airflow_coordination.stores.sql.store import SqlStore
from tests.faults.postgres_cuts import cutting_proxy

Count = Callable[[], int]
BLOCK = Block("clean", "file:///out/manifest", "digest", rows=3, bytes=9)


@contextmanager
def traced(store: SqliteStore) -> Iterator[list[str]]:
    """Give the statements that SQLite's engine executes on this store's one connection."""
    seen: list[str] = []
    with store.database.connected(_call()) as connected:
        connected.connection.set_trace_callback(seen.append)
    yield seen
    store.close()


def _call() -> object:
    from airflow_coordination.stores.calls import Call

    return Call("trace", writes=False)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def counted(request: pytest.FixtureRequest) -> Iterator[tuple[SqlStore, Count]]:
    """A new process's store, and how many statements it has sent so far."""
    if request.param == "sqlite":
        url = request.getfixturevalue("sqlite_url")
        open_store(url).setup()
        store = open_store(url)
        assert isinstance(store, SqliteStore)
        with traced(store) as seen:
            yield store, lambda: len(seen)
        return
    with cutting_proxy(request.getfixturevalue("postgres_store_url")) as (url, proxy):
        behind = open_store(url)
        assert isinstance(behind, PostgresStore)
        behind._used_up.slow = 1e9  # a busy machine does not make it look for what is used up
        yield behind, lambda: proxy.statements
        behind.close()


class Budget:
    """Counts what one operation sends."""

    def __init__(self, counted: tuple[SqlStore, Count]) -> None:
        self.store, self.count = counted
        self.sqlite = isinstance(self.store, SqliteStore)
        self.c = SourceCoordinator(self.store, source="s", owner="h/d/r/t/0/1")

    def of(self, action: Callable[[], object]) -> int:
        before = self.count()
        action()
        return self.count() - before

    def transaction(self, statements: int) -> int:
        """Return what a step of several statements costs: SQLite adds BEGIN and COMMIT, PostgreSQL sends one."""
        return statements + 2 if self.sqlite else 1

    def lease(self) -> Lease:
        lease = self.c.get_next_partition()
        assert lease is not None
        return lease


@pytest.fixture
def budget(counted: tuple[SqlStore, Count]) -> Budget:
    return Budget(counted)


def test_a_process_starts_with_one_read(budget: Budget) -> None:
    """On PostgreSQL each new connection asks once, whether it is the server's own session (E7, E9, E14)."""
    assert budget.of(lambda: budget.store.store_id) == (1 if budget.sqlite else 2)
    assert budget.of(lambda: budget.store.get("s", "k")) == 1


def test_acquiring_is_one_step(budget: Budget) -> None:
    """What may end a tenure remembers it; by a hint nothing is ended unless somebody holds it."""
    budget.c.create_partitions(["a", "b", "c"])
    hint = budget.c.claimable()[2]
    assert budget.of(lambda: budget.c.get_next_partition(hint=hint)) == 1
    assert budget.of(budget.c.get_next_partition) == budget.transaction(2)
    assert budget.of(lambda: budget.c.get_next_partition(hint="b")) == budget.transaction(2)


def test_owner_writes_are_one_step_each(budget: Budget) -> None:
    budget.c.create_partitions([f"k{number}" for number in range(5)])
    lease = budget.lease()
    assert budget.of(lambda: budget.c.renew(lease)) == 1
    assert budget.of(lambda: budget.c.save_progress_state(lease, {"row": 1})) == 1
    assert budget.of(lambda: budget.c.complete(lease)) == budget.transaction(2)
    lease = budget.lease()
    assert budget.of(lambda: budget.c.close(lease, reopen_after=timedelta(hours=1))) == budget.transaction(2)
    lease = budget.lease()
    assert budget.of(lambda: budget.c.give_up(lease)) == budget.transaction(2)


def test_b4_a_failure_is_counted_and_looked_at_and_only_the_success_after_it_pays(budget: Budget) -> None:
    budget.c.create_partitions([f"k{number}" for number in range(4)])
    failed, first, second, third = (budget.lease() for _ in range(4))
    assert budget.of(lambda: budget.c.fail(failed, "broken")) == budget.transaction(3) + 1
    assert budget.of(lambda: budget.c.complete(first)) == budget.transaction(3)
    assert budget.of(lambda: budget.c.complete(second)) == budget.transaction(2)
    assert budget.of(lambda: budget.c.complete(third)) == budget.transaction(2)


def test_an_ending_with_output_is_one_commit(budget: Budget) -> None:
    budget.c.create_partitions(["a"])
    lease = budget.lease()
    assert budget.of(lambda: budget.c.complete(lease, blocks=[BLOCK])) == budget.transaction(3)


def test_completing_and_acquiring_the_next_is_one_commit(budget: Budget) -> None:
    budget.c.create_partitions(["a", "b", "c"])
    lease = budget.lease()
    found: list[Lease | None] = []
    assert budget.of(lambda: found.append(budget.c.complete_and_get_next(lease))) == budget.transaction(4)
    assert found[0] is not None
    following = found[0]
    assert budget.of(lambda: budget.c.complete_and_get_next(following, blocks=[BLOCK])) == budget.transaction(5)


def test_creating_is_a_few_statements_a_page(budget: Budget) -> None:
    keys = [f"k{number:05}" for number in range(5_000)]
    budget.c.register()  # once per process and source, before its first page
    first = budget.of(lambda: budget.c.create_partitions(keys))
    assert first == budget.transaction(2)
    again = budget.of(lambda: budget.c.create_partitions(keys))
    assert again == first + 1


def test_a_refusal_costs_one_read_more(budget: Budget) -> None:
    budget.c.create_partitions(["a"])
    lease = budget.lease()
    budget.c.release("a", by="ana", why="test")
    assert budget.of(lambda: _refused(budget, lease)) == 2


def _refused(budget: Budget, lease: Lease) -> None:
    from airflow_coordination.leases.errors import PartitionNotOwnedError

    with pytest.raises(PartitionNotOwnedError):
        budget.c.renew(lease)


def test_a_person_acts_in_one_commit(budget: Budget) -> None:
    budget.c.create_partitions(["a"])
    seen = budget.c.partition("a")
    act = lambda: budget.c.park("a", by="ana", why="test", seen=seen)  # noqa: E731
    assert budget.of(act) == budget.transaction(2)
