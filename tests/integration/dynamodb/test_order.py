"""The acquisition order where one page of the index does not show all of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from airflow_coordination.leases.writes import Create
from airflow_coordination.stores.dynamodb import DynamoDBStore
from airflow_coordination.stores.dynamodb.acquiring import PAGE
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.conformance.workbench import MINUTE, Workbench, owner
from tests.integration.dynamodb.conftest import Engine

MANY = PAGE + 5


@pytest.fixture
def store(local: Engine, table: str) -> Iterator[DynamoDBStore]:
    store = local.store(table, FakeClock())
    store.setup()
    yield store
    local.delete(table)


@pytest.fixture
def bench(store: DynamoDBStore) -> Workbench:
    clock = store.table.clock.injected
    assert isinstance(clock, FakeClock)
    return Workbench(store, clock)


def keys(letter: str, count: int = MANY) -> list[str]:
    return [f"{letter}-{number:03}" for number in range(count)]


def queries(store: DynamoDBStore) -> int:
    return store.table.requests["query"]


def test_s9_new_ones_get_their_turn_behind_a_page_of_crashed_ones(bench: Workbench) -> None:
    bench.create(*keys("crashed"), "new")
    for key in keys("crashed"):
        bench.acquire(key)
    bench.expire()
    bench.sweep()
    assert bench.acquire(new_first=True).key == "new"
    assert bench.drained(new_first=True) == keys("crashed")


def test_a_page_of_delayed_ones_is_leapt_over_with_one_query(bench: Workbench, store: DynamoDBStore) -> None:
    bench.create(*keys("failed"))
    for key in keys("failed"):
        bench.fail(bench.acquire(key), delay=MINUTE)
    bench.create("new")
    before = queries(store)
    assert bench.acquire().key == "new"
    assert queries(store) - before == 4
    assert bench.next() is None
    bench.clock.advance(MINUTE)
    assert bench.drained() == keys("failed")


def test_what_others_took_of_a_whole_page_does_not_hide_the_rest(bench: Workbench, store: DynamoDBStore) -> None:
    """Every row of the first page is old: others acquired them, and the index does not know it yet."""
    bench.create(*keys("k", 2 * PAGE))
    read = store.table.client.query
    old = {}

    def from_before(**arguments: Any) -> Any:
        asked = repr(sorted(arguments.items(), key=str))
        return old.setdefault(asked, read(**arguments))

    other = Workbench(store, bench.clock)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store.table.client, "query", from_before)
        first = bench.acquire()
        for key in keys("k", 2 * PAGE)[1 : PAGE + 3]:
            assert other.hinted(key, 0, by=owner("other")).applied
        got = {first.key} | {bench.acquire().key for _ in range(PAGE - 3)}
        assert bench.next() is None
    assert len(got) == PAGE - 2


def test_creating_uses_each_ordinal_once(bench: Workbench, store: DynamoDBStore) -> None:
    for page in (keys("b", 3), keys("a", 3)):
        bench.create(*page)
    assert bench.drained() == keys("b", 3) + keys("a", 3)
    assert store.create(Create(source=bench.source, op="op", partitions=())).created == 0
