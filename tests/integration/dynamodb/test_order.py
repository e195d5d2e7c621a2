"""The acquisition order where one page of the index does not show all of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from airflow_coordination.protocol.writes import Action, Create
from airflow_coordination.stores.dynamodb import DynamoDBStore
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.acquiring import PAGE
from airflow_coordination.stores.dynamodb.keys import LARGE
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.conformance.fixtures import MINUTE, Workbench, owner
from airflow_coordination.values.input_errors import ProgressStateError
from tests.integration.dynamodb.engine import Engine

MANY = PAGE + 5


@pytest.fixture
def store(local: Engine, table: str, clock: FakeClock) -> Iterator[DynamoDBStore]:
    store = local.store(table, clock)
    store.setup()
    yield store
    local.delete(table)


@pytest.fixture
def bench(store: DynamoDBStore, clock: FakeClock) -> Workbench:
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
    assert queries(store) - before == 1 + 4  # a process starts with a look for another writer
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


def blind(store: DynamoDBStore, patch: pytest.MonkeyPatch) -> None:
    """Let the index show nothing any more."""
    read = store.table.client.query

    def without_index(**arguments: Any) -> Any:
        if "IndexName" in arguments:
            return {"Items": [], "Count": 0, "ScannedCount": 0}
        return read(**arguments)

    patch.setattr(store.table.client, "query", without_index)


def test_what_this_process_has_created_is_acquired_before_the_index_shows_it(
    bench: Workbench, store: DynamoDBStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    blind(store, monkeypatch)
    bench.create("b", "a")
    assert bench.drained() == ["b", "a"]
    assert bench.next() is None


def test_an_index_that_shows_nothing_does_not_complete_a_source(
    bench: Workbench, store: DynamoDBStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sensor would end the run, or skip it."""
    bench.create("new", "held", "closed", "done", "parked")
    held = bench.acquire("held")
    bench.close(bench.acquire("closed"))
    bench.fail(bench.acquire("parked"), delay=None)
    bench.complete(bench.acquire("done"))
    with monkeypatch.context() as patch:
        blind(store, patch)
        seen = store.outlook(bench.source)
        assert (seen.claimable, seen.assigned, seen.waiting, seen.parked, seen.completed) == (0, 0, 3, 1, 1)
    bench.complete(held)
    assert store.outlook(bench.source).parked == 1
    bench.complete(bench.acquire("new"))
    bench.act(Action.PARK, "closed")
    with monkeypatch.context() as patch:
        blind(store, patch)
        seen = store.outlook(bench.source)
        assert (seen.waiting, seen.parked, seen.completed) == (0, 2, 3), "nor where nothing moves any more"


def test_renewed_leases_hide_no_hint(bench: Workbench, store: DynamoDBStore) -> None:
    """None of them has moved in the index."""
    bench.create(*keys("held"), "new")
    held = [bench.acquire(key) for key in keys("held")]
    bench.clock.advance(5 * MINUTE)
    for lease in held:
        bench.renew(lease, 30 * MINUTE)
    bench.clock.advance(10 * MINUTE)
    assert list(store.claimable(bench.source, 5)) == [("new", 0)]
    assert store.outlook(bench.source).claimable == 1


def test_l5_a_partition_whose_text_is_gone_is_parked_and_stops_nobody(bench: Workbench, store: DynamoDBStore) -> None:
    bench.create("gone", "good")
    bench.give_up(bench.save(bench.acquire("gone"), {"x": "x" * 1000}))
    table, client = store.table.name, store.table.client
    [large] = [i for i in client.scan(TableName=table)["Items"] if i[it.SOURCE]["S"].endswith(f"|{LARGE}")]
    client.delete_item(TableName=table, Key={name: large[name] for name in (it.SOURCE, it.KEY)})
    for _ in range(3):
        with pytest.raises(ProgressStateError, match="is gone from the store"):
            bench.next(max_lost_leases=3)
        bench.expire()
        bench.sweep(max_lost_leases=3)
    assert store.outlook(bench.source).parked == 1
    assert bench.drained() == ["good"]


def test_s6_an_acquisition_that_boto_repeats_takes_one_partition(bench: Workbench, store: DynamoDBStore) -> None:
    """As the retries of an Airflow connection do after a lost answer."""
    bench.create("a", "b")
    send = store.table.client.update_item

    def twice(**arguments: Any) -> Any:
        send(**arguments)
        return send(**arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store.table.client, "update_item", twice)
        held = bench.acquire()
    assert (held.key, held.token) == ("a", 1)
    assert bench.get("b").token == 0
