"""The audit of a source on DynamoDB: the newest are read alone, also of what code of before has written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import timedelta
from typing import Any

import pytest

from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.monitoring import deeds
from airflow_coordination.protocol.port import AUDITED
from airflow_coordination.protocol.side_writes import Audit
from airflow_coordination.stores.dynamodb import DynamoDBStore, items, keys
from airflow_coordination.stores.dynamodb.beside.audit import is_unlisted, listed, puts
from airflow_coordination.testing.clock import FakeClock
from tests.integration.dynamodb.engine import Engine

SOURCE = "flights|PARTITION"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def store(engine: Engine, table: str, clock: FakeClock) -> Iterator[DynamoDBStore]:
    with closing(engine.store(table, clock)) as store:
        store.setup()
        yield store
    engine.delete(table)


def acted(engine: Engine, table: str, clock: FakeClock, number: int, *, listed: bool = True) -> None:
    """Let people have parked so many, a second each; if not ``listed``, as code of before has audited it."""
    writes: list[dict[str, Any]] = []
    for place in range(number):
        clock.advance(1)
        record = Audit(SOURCE, f"k{place % 700:04}", f"{place:024x}", "park", "ana", "bad files")
        [by_time, by_key] = puts(record, clock.now())
        if listed:
            writes.append(by_time)
        else:
            del by_key["Item"]["listed"]
        writes.append(by_key)
    for first in range(0, len(writes), 25):
        some = [{"PutRequest": each} for each in writes[first : first + 25]]
        engine.client.batch_write_item(RequestItems={table: some})


@contextmanager
def counted(client: Any) -> Iterator[list[int]]:
    """Give how many items each query has read."""
    found: list[int] = []

    def heard(parsed: dict[str, Any], **_: Any) -> None:
        found.append(parsed["ScannedCount"])

    client.meta.events.register("after-call.dynamodb.Query", heard)
    yield found
    client.meta.events.unregister("after-call.dynamodb.Query", heard)


def told(lines: Sequence[dict[str, Any]]) -> list[tuple[object, ...]]:
    return [(line["key"], line["at"], line["action"], line["by"], line["why"], line["batch"]) for line in lines]


def test_the_newest_of_many_are_read_alone(engine: Engine, table: str, store: DynamoDBStore, clock: FakeClock) -> None:
    acted(engine, table, clock, 2 * AUDITED + 500)
    before: str | None = None
    pages = []
    while True:
        with counted(engine.client) as read:
            page = store.audit(SOURCE, None, before=before)
        assert sum(read) <= AUDITED
        if not page:
            break
        pages.append(page)
        before = page[0]["place"]
    assert [len(page) for page in pages] == [AUDITED, AUDITED, 500]
    moments = [line["at"] for page in pages for line in reversed(page)]
    assert moments == sorted(moments, reverse=True)
    assert len(set(moments)) == 2 * AUDITED + 500
    with counted(engine.client) as read:
        found, more = deeds.page(SOURCE, deeds.newest(store, SOURCE, 50), more=True, limit=5)
    assert (sum(read), len(found)) == (50, 5)
    assert more is not None


def test_what_code_of_before_has_audited_is_listed_by_the_next_setup(
    engine: Engine, table: str, store: DynamoDBStore, clock: FakeClock
) -> None:
    acted(engine, table, clock, 60, listed=False)
    by_key = [store.audit(SOURCE, f"k{place:04}") for place in range(60)]
    assert store.audit(SOURCE, None) == []
    for _ in range(2):
        store.setup()
        assert [told([line]) for line in store.audit(SOURCE, None)] == [told(lines) for lines in by_key]
        assert [store.audit(SOURCE, f"k{place:04}") for place in range(60)] == by_key
    with counted(engine.client) as read:
        store.audit(SOURCE, None)
    assert read == [60]


def test_a_setup_that_died_between_two_puts_is_gone_on_with(
    engine: Engine, table: str, store: DynamoDBStore, clock: FakeClock
) -> None:
    acted(engine, table, clock, 1, listed=False)
    [item] = [
        found
        for found in map(items.plain, engine.client.scan(TableName=table)["Items"])
        if found[items.SOURCE] == keys.belonging(SOURCE, keys.AUDIT)
    ]
    assert is_unlisted(item)
    first, _ = listed(item)
    engine.client.put_item(TableName=table, **first)
    store.setup()
    [line] = store.audit(SOURCE, None)
    assert (line["by"], line["key"]) == ("ana", "k0000")


def test_a_pause_lies_beside_them_and_is_no_line(store: DynamoDBStore, engine: Engine, clock: FakeClock) -> None:
    flights = SourceCoordinator(store, "flights", "somebody", clock=clock)
    flights.pausing.pause("ana", "rain", None)
    clock.advance(60)
    flights.pausing.resume("ana", "sun")
    store.setup()
    assert [(line["key"], line["action"]) for line in store.audit(SOURCE, None)] == [("", "pause"), ("", "resume")]
    assert timedelta(seconds=60) == store.audit(SOURCE, None)[1]["at"] - store.audit(SOURCE, None)[0]["at"]
