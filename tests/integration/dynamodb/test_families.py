"""What a clean-up leaves in a DynamoDB table: a tombstone for a week, and nothing that says who its children were."""

from __future__ import annotations

from argparse import Namespace
from datetime import timedelta
from typing import Any

import pytest

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.subcommands.metrics import metrics
from airflow_coordination.leases import PartitionIdentifier, SourceCoordinator
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb import DynamoDBStore, index_reads
from airflow_coordination.stores.dynamodb import items as it
from airflow_coordination.stores.dynamodb.changes import TOMBSTONE_LIFE
from airflow_coordination.stores.dynamodb.children import TOGETHER
from airflow_coordination.stores.dynamodb.keys import CHILDREN, RELEASING, belonging, blocked
from airflow_coordination.stores.dynamodb.requests import Table
from tests.integration.dynamodb.engine import Engine

SOURCE = "flights|PARTITION"


@pytest.fixture
def one(store: DynamoDBStore) -> SourceCoordinator:
    found = SourceCoordinator(store, "flights", "host/dag/run/one/0/1")
    found.create_partitions(["p", PartitionIdentifier("c", parents=["p"])])
    for key in ("p", "c"):
        lease = found.acquire_partition(key)
        assert lease is not None
        found.complete(lease)
    return found


def raw(engine: Engine, table: str, key: str) -> it.Item:
    found = engine.client.get_item(TableName=table, Key=it.typed(it.lease_key(SOURCE, key)), ConsistentRead=True)
    return it.plain(found["Item"])


def edges(engine: Engine, table: str) -> list[str]:
    place: dict[str, Any] = {":s": {"S": belonging(SOURCE, CHILDREN)}}
    condition = f"{it.SOURCE} = :s"
    found = engine.client.query(
        TableName=table, KeyConditionExpression=condition, ExpressionAttributeValues=place, ConsistentRead=True
    )
    return [item["childKey"]["S"] for item in found["Items"]]


def test_what_was_cleaned_up_is_forgotten_in_a_week(one: SourceCoordinator, engine: Engine, table: str) -> None:
    assert it.EXPIRATION not in raw(engine, table, "p")
    before = one.store.now()
    assert one.cleaning.clean_up(timedelta(microseconds=1)).keys == ("p",)
    gone = raw(engine, table, "p")
    assert 0 <= int(gone[it.EXPIRATION]) - int((before + TOMBSTONE_LIFE).timestamp()) < 60
    assert it.COMBINATION not in gone


def test_whose_parent_it_was_is_forgotten_at_once(one: SourceCoordinator, engine: Engine, table: str) -> None:
    one.create_partitions(["q", PartitionIdentifier("d", parents=["q", "c"])])
    assert edges(engine, table) == ["d", "c", "d"]
    assert one.cleaning.clean_up(gone=["p"]).keys == ("p",)
    assert edges(engine, table) == ["d", "d"]
    assert [child.key for child in one.store.children(SOURCE, "c", None, 9)] == ["d"]


def test_more_children_than_one_transaction_takes_are_no_hindrance(
    one: SourceCoordinator, engine: Engine, table: str
) -> None:
    one.create_partitions(PartitionIdentifier(f"c{number:03}", parents=["p"]) for number in range(TOGETHER + 20))
    assert one.cleaning.clean_up(gone=["p"]).keys == ("p",)
    assert len(edges(engine, table)) == 21
    one.create_partitions([PartitionIdentifier("late", parents=["p"])])
    late = one.partition("late")
    assert late is not None
    assert late.waits_for == ()


def test_more_that_stand_still_than_are_counted_are_not_about_to_move(
    one: SourceCoordinator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing moves, only what is parked or blocked is left out of what waits for its time: all of it."""
    monkeypatch.setattr(index_reads, "LOOK", 3)
    one.create_partitions([f"p{number}" for number in range(5)])
    one.create_partitions(PartitionIdentifier(f"w{number}", parents=["p0"]) for number in range(5))
    for number in range(5):
        one.people.park(f"p{number}", by="ana", why="a test")
    seen = one.looking.outlook()
    assert (seen.claimable, seen.waiting, seen.parked, seen.blocked) == (0, 0, 3, 3)


def test_to_be_sure_costs_one_reading_of_the_source_and_a_glance_none(
    one: SourceCoordinator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many stand still: of them no more are counted in the index than of what moves."""
    monkeypatch.setattr(index_reads, "LOOK", 3)
    one.create_partitions([f"p{number}" for number in range(9)])
    one.create_partitions(PartitionIdentifier(f"w{number}", parents=["p0"]) for number in range(9))
    for number in range(9):
        one.people.park(f"p{number}", by="ana", why="a test")
    whole: list[int] = []
    counted: list[int] = []
    send = Table.send

    def heard(table: Table, call: Call, operation: str, **given: Any) -> dict[str, Any]:
        answer = send(table, call, operation, **given)
        if operation == "query" and "IndexName" not in given:
            whole.append(answer["Count"])
        if given.get("Select") == "COUNT":
            counted.append(answer["Count"])
        return answer

    monkeypatch.setattr(Table, "send", heard)
    sure = one.looking.outlook()
    assert (sure.claimable, sure.waiting, sure.parked, sure.blocked, sure.completed) == (0, 0, 3, 3, 2)
    assert (whole, max(counted)) == ([20], 3)
    whole.clear()
    counted.clear()
    assert one.looking.glance() == sure
    assert (whole, max(counted)) == ([], 3)
    metrics(CommandContext(lambda: one.store), Namespace(source=None, partition_prefix=None, label=None))
    assert max(whole) < 3, "Prometheus asks once a minute: of the registry and of sums, not of partitions"


def test_a_parent_that_stands_as_releasing_stands_nowhere_afterwards(
    one: SourceCoordinator, engine: Engine, table: str
) -> None:
    """As a process leaves it that dies between the last child's release and the parent's own last write."""
    stands = {it.AWAITED: "0" * 24, it.COMBINATION: blocked(SOURCE), it.STANDING: RELEASING}
    item = raw(engine, table, "p") | stands
    engine.client.put_item(TableName=table, Item=it.typed(item))
    assert one.cleaning.clean_up(gone=["p"]).keys == ("p",)
    assert not stands.keys() & raw(engine, table, "p").keys()
