"""The service's limits, at the limit and one above, here and there."""

from __future__ import annotations

from datetime import timedelta

import pytest
from botocore.exceptions import ClientError

from airflow_coordination.protocol.writes import Action
from airflow_coordination.stores.dynamodb import DynamoDBStore
from airflow_coordination.stores.dynamodb.items import COMBINATION, KEY, SOURCE, STANDING, typed, whole_item
from airflow_coordination.stores.dynamodb.keys import MAX_ITEM_BYTES, MAX_SORT_KEY_BYTES, check_item, stored_key
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.conformance.fixtures import Workbench, block, head
from airflow_coordination.values.errors import PartitionUpdateError, SchemaVersionError
from airflow_coordination.values.input_errors import InvalidInputError
from tests.integration.dynamodb.engine import Engine


def item_of(size: int) -> dict[str, object]:
    """Return an item of this many bytes, numbers, truth and other letters than ASCII in it."""
    item: dict[str, object] = {SOURCE: "s", KEY: "k", "number": -1234567, "truth": True, "é": "\U0001f600"}
    rest = size - len("sourceIdentifiers" + "sourcePartitionKeyk") - len("number") - 6 - len("truth") - 1 - 2 - 4
    return item | {"x": "x" * (rest - 1)}


def test_x9_an_item_at_the_limit_is_taken_and_one_above_refused(local_store: DynamoDBStore, local: Engine) -> None:
    table = local_store.table.name
    local.client.put_item(TableName=table, Item=whole_item(item_of(MAX_ITEM_BYTES)))
    with pytest.raises(ClientError, match="size"):
        local.client.put_item(TableName=table, Item=typed(item_of(MAX_ITEM_BYTES + 1)))
    with pytest.raises(InvalidInputError, match="item of 409,601 bytes, DynamoDB's limit is 409,600") as caught:
        check_item(item_of(MAX_ITEM_BYTES + 1))
    assert (caught.value.field, caught.value.remedy) == ("x", "Make it shorter; it alone takes 409,541")


@pytest.mark.parametrize("size", [1023, 1024, 1025, 2048])
def test_x9_a_key_at_the_limit_and_above(local: Engine, table: str, size: int) -> None:
    store = local.store(table, clock := FakeClock())
    store.setup()
    bench, key = Workbench(store, clock), "é" * (size // 2) + "x" * (size % 2)
    bench.create(key, key[:-1])
    assert bench.acquire(key).key == key
    assert (stored_key(key) == key) == (size <= MAX_SORT_KEY_BYTES)
    assert len(stored_key(key).encode()) <= MAX_SORT_KEY_BYTES
    local.delete(table)


def test_x9_facts_that_fit_no_item_are_refused_by_name(local_store: DynamoDBStore) -> None:
    with pytest.raises(InvalidInputError, match=r"facts=.*DynamoDB's limit"):
        local_store.register("s|PARTITION", {"dags": "x" * MAX_ITEM_BYTES})
    assert list(local_store.sources()) == []


def test_e16_x9_more_datasets_than_a_transaction_holds_are_not_retracted_by_halves(
    local_store: DynamoDBStore, local: Engine
) -> None:
    """E16, X9: all of them or none, and the message says why."""
    bench = Workbench(local_store, FakeClock())
    bench.create("k")
    for number in range(98):
        held = bench.acquire("k")
        bench.complete(held, head(held, block("b", f"d{number}"), dataset=f"d{number}"))
        if number == 96:
            bench.act(Action.RETRACT, "k")
            assert {found.blocks for found in local_store.heads(bench.source)} == {()}
        bench.act(Action.RESET, "k")
    with pytest.raises(PartitionUpdateError, match="published to more than 97 datasets, and DynamoDB writes 100 items"):
        bench.store.act(bench.acting(Action.RETRACT, bench.get("k")))
    assert [len(found.blocks) for found in local_store.heads(bench.source)].count(1) == 1


def test_e16_what_was_completed_stays_under_its_ttl_when_it_is_retracted(engine: Engine, table: str) -> None:
    """E16: any other way out of COMPLETED takes the TTL away."""
    store = engine.store(table, clock := FakeClock(), ttl=timedelta(days=7))
    store.setup()
    bench = Workbench(store, clock)
    held = bench.new("k")
    bench.complete(held, head(held, block("b")))

    def expiration() -> object:
        found = engine.client.get_item(TableName=table, Key=typed({SOURCE: bench.source, KEY: "k"}))
        return found["Item"].get("expirationTime")

    before = expiration()
    assert before is not None
    clock.advance(timedelta(hours=1))
    bench.act(Action.RETRACT, "k")
    assert expiration() == before
    bench.act(Action.RESET, "k")
    assert expiration() is None
    engine.delete(table)


def test_s15_keys_that_share_their_beginning_with_a_hashed_one_stay_apart(local: Engine, table: str) -> None:
    """A key above 768 bytes is stored as its first 512 and a hash; another one is just these 512."""
    store = local.store(table, clock := FakeClock())
    store.setup()
    bench, short = Workbench(store, clock), "x" * 512
    long = short + "y" * 600
    for key in (short, long):
        held = bench.new(key)
        bench.complete(held, head(held, block("b"), dataset="0data"))
        bench.act(Action.RESET, key)
    for key in (short, long):
        assert [record.key for record in store.heads(bench.source, key=key)] == [key]
        assert [line["key"] for line in store.audit(bench.source, key)] == [key]
    listed: list[str] = []
    while page := store.heads(bench.source, "0data", after=listed[-1] if listed else None, limit=1):
        listed += [record.key for record in page]
    assert sorted(listed) == sorted([short, long])
    local.delete(table)


def test_a_table_whose_key_is_a_number_has_another_shape(local: Engine, table: str) -> None:
    schema = [{"AttributeName": SOURCE, "KeyType": "HASH"}, {"AttributeName": KEY, "KeyType": "RANGE"}]
    index = [{"AttributeName": COMBINATION, "KeyType": "HASH"}, {"AttributeName": STANDING, "KeyType": "RANGE"}]
    types = {SOURCE: "S", KEY: "S", COMBINATION: "S", STANDING: "N"}
    local.client.create_table(
        TableName=table,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=schema,
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()],
        GlobalSecondaryIndexes=[
            {"IndexName": "source-status", "KeySchema": index, "Projection": {"ProjectionType": "ALL"}}
        ],
    )
    with pytest.raises(SchemaVersionError, match="another shape: partitionPriority is not of type S"):
        local.store(table).setup()
    local.delete(table)
