"""What the store's protocol stands on: conditions hold under threads, and a refusal shows the item that refused."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.integration.engines.conftest import KEY

THREADS = 8
ROUNDS = 15
ABSENT_FIRST = {"ConditionExpression": f"attribute_not_exists({KEY})"}


def item(key: str, **more: str) -> dict[str, Any]:
    return {KEY: {"S": key}, **{name: {"S": value} for name, value in more.items()}}


def taking(table: str, key: str, owner: str) -> dict[str, Any]:
    """An update that only a free item allows."""
    return {
        "TableName": table,
        "Key": item(key),
        "UpdateExpression": "SET partitionOwner = :owner",
        "ConditionExpression": f"attribute_exists({KEY}) AND attribute_not_exists(partitionOwner)",
        "ExpressionAttributeValues": {":owner": {"S": owner}},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def refusal(error: pytest.ExceptionInfo[ClientError]) -> tuple[str, Any]:
    return error.value.response["Error"]["Code"], error.value.response.get("Item")


def test_a_race_to_create_has_one_winner(client: Any, table: str) -> None:
    start = threading.Barrier(THREADS)

    def create(owner: int) -> list[int]:
        won = []
        for turn in range(ROUNDS):
            start.wait(60)
            try:
                client.put_item(TableName=table, Item=item(str(turn), owner=str(owner)), **ABSENT_FIRST)
            except client.exceptions.ConditionalCheckFailedException:
                continue
            won.append(turn)
        return won

    with ThreadPoolExecutor(THREADS) as pool:
        winners = [turn for won in pool.map(create, range(THREADS)) for turn in won]
    assert sorted(winners) == list(range(ROUNDS))


def test_a_race_to_take_has_one_winner(client: Any, table: str) -> None:
    start = threading.Barrier(THREADS)
    for turn in range(ROUNDS):
        client.put_item(TableName=table, Item=item(str(turn)))

    def take(owner: str) -> list[int]:
        won = []
        for turn in range(ROUNDS):
            start.wait(60)
            try:
                client.update_item(**taking(table, str(turn), owner))
            except client.exceptions.ConditionalCheckFailedException:
                continue
            won.append(turn)
        return won

    with ThreadPoolExecutor(THREADS) as pool:
        winners = [turn for won in pool.map(take, map(str, range(THREADS))) for turn in won]
    assert sorted(winners) == list(range(ROUNDS))


def test_a_refused_update_shows_the_item(client: Any, table: str) -> None:
    client.put_item(TableName=table, Item=item("a", partitionOwner="worker-1"))
    with pytest.raises(client.exceptions.ConditionalCheckFailedException) as error:
        client.update_item(**taking(table, "a", "worker-2"))
    assert refusal(error) == ("ConditionalCheckFailedException", item("a", partitionOwner="worker-1"))


def test_a_refused_update_of_an_absent_item_shows_none(client: Any, table: str) -> None:
    with pytest.raises(client.exceptions.ConditionalCheckFailedException) as error:
        client.update_item(**taking(table, "absent", "worker-1"))
    assert refusal(error) == ("ConditionalCheckFailedException", None)


def test_a_cancelled_transaction_gives_each_items_reason(client: Any, table: str) -> None:
    client.put_item(TableName=table, Item=item("a", partitionOwner="worker-1"))
    writes = [
        {"Update": taking(table, "a", "worker-2")},
        {"Update": taking(table, "absent", "worker-2")},
        {"Put": {"TableName": table, "Item": item("head")}},
    ]
    with pytest.raises(client.exceptions.TransactionCanceledException) as error:
        client.transact_write_items(TransactItems=writes)
    reasons = error.value.response["CancellationReasons"]
    assert [reason["Code"] for reason in reasons] == ["ConditionalCheckFailed", "ConditionalCheckFailed", "None"]
    assert [reason.get("Item") for reason in reasons] == [item("a", partitionOwner="worker-1"), None, None]
    assert "Item" not in client.get_item(TableName=table, Key=item("head"))


def test_every_answer_has_a_date(client: Any, table: str) -> None:
    accepted = client.get_item(TableName=table, Key=item("a"))
    with pytest.raises(ClientError) as refused:
        client.update_item(**taking(table, "a", "worker-1"))
    for answer in (accepted, refused.value.response):
        assert answer["ResponseMetadata"]["HTTPHeaders"]["date"].endswith("GMT")
