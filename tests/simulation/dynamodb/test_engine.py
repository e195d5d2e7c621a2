"""What the engine adds to DynamoDB Local: virtual time, an index that lags, TTL; and what both do at their limits."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from airflow_coordination.testing.clock import FakeClock
from tests.simulation.dynamodb.engine import Engine
from tests.simulation.dynamodb.items import Item

TABLE = "table"
LAYOUT = {
    "TableName": TABLE,
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("h", "r", "ih", "ir")],
    "KeySchema": [{"AttributeName": "h", "KeyType": "HASH"}, {"AttributeName": "r", "KeyType": "RANGE"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "index",
            "KeySchema": [{"AttributeName": "ih", "KeyType": "HASH"}, {"AttributeName": "ir", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["shown"]},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
}


def item(key: str, place: str = "", **more: Any) -> Item:
    """Return an item; one with a place is in the index."""
    where = {"ih": {"S": "queue"}, "ir": {"S": place}} if place else {}
    return {"h": {"S": "hash"}, "r": {"S": key}, **where, **more}


class Given:
    """An engine with one table, and a clock.

    :param delays: how long each change takes to the index, one after the other.
    """

    def __init__(self, *delays: float) -> None:
        self.clock, left = FakeClock(), iter(delays)
        self.engine = Engine(self.clock.now, lambda: next(left, 0.0))
        self.engine.create_table(**LAYOUT)

    def put(self, key: str, place: str = "", **more: Any) -> None:
        self.engine.put_item(TableName=TABLE, Item=item(key, place, **more))

    def query(self, **more: Any) -> dict[str, Any]:
        return self.engine.query(
            TableName=TABLE,
            IndexName="index",
            KeyConditionExpression="#h = :h",
            ExpressionAttributeNames={"#h": "ih"},
            ExpressionAttributeValues={":h": {"S": "queue"}},
            **more,
        )

    def shown(self) -> list[str]:
        return [row["r"]["S"] + row.get("shown", {}).get("S", "") for row in self.query()["Items"]]

    def keys(self) -> list[str]:
        return [row["r"]["S"] for row in self.engine.scan(TableName=TABLE, ConsistentRead=True)["Items"]]


def pages(given: Given, **more: Any) -> Iterator[list[str]]:
    """Yield the keys of a query, page by page."""
    start: dict[str, Any] = {}
    while True:
        answer = given.query(**start, **more)
        yield [row["r"]["S"] for row in answer["Items"]]
        if "LastEvaluatedKey" not in answer:
            return
        start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}


def test_every_answer_says_the_time_in_whole_seconds() -> None:
    given = Given()
    given.clock.advance(1.999)
    answer = given.engine.describe_table(TableName=TABLE)
    assert answer["ResponseMetadata"]["HTTPHeaders"]["date"] == "Thu, 01 Jan 2026 00:00:01 GMT"
    given.clock.advance(0.001)
    with pytest.raises(given.engine.exceptions.ResourceNotFoundException) as raised:
        given.engine.describe_table(TableName="absent")
    assert raised.value.response["ResponseMetadata"]["HTTPHeaders"]["date"] == "Thu, 01 Jan 2026 00:00:02 GMT"


def test_the_index_shows_each_change_when_it_is_due() -> None:
    given = Given(2.0, 1.0)
    given.put("a", "1")
    given.put("b", "2")
    assert (given.shown(), given.keys()) == ([], ["a", "b"])
    given.clock.advance(1.0)
    assert given.shown() == ["b"]
    given.clock.advance(1.0)
    assert given.shown() == ["a", "b"]


def test_an_item_s_changes_show_in_their_order() -> None:
    given = Given(5.0, 0.0)
    given.put("a", "1", shown={"S": "old"})
    given.put("a", "1", shown={"S": "new"})
    assert given.shown() == []
    given.clock.advance(5.0)
    assert given.shown() == ["anew"]


def test_a_deletion_shows_late_as_well() -> None:
    given = Given(0.0, 3.0)
    given.put("a", "1")
    given.engine.delete_item(TableName=TABLE, Key=item("a"))
    assert (given.shown(), given.keys()) == (["a"], [])
    given.clock.advance(3.0)
    assert given.shown() == []


def test_what_the_index_does_not_repeat_is_no_change_of_it() -> None:
    given = Given(0.0, 99.0)
    given.put("a", "1")
    given.put("a", "1", hidden={"S": "x"})
    given.put("b", "2")
    assert given.shown() == ["a"], "the second delay was drawn for a change that the index does not show"


def test_everything_shows_when_it_is_told_to_catch_up() -> None:
    given = Given(99.0)
    given.put("a", "1")
    given.engine.catch_up()
    assert given.shown() == ["a"]


def test_the_index_is_sparse_and_in_the_order_of_bytes() -> None:
    given = Given()
    places = ["\U0001f600", "\uffff", "é", "~", "P", "10", "9", "!"]
    for place in places:
        given.put("at " + place, place)
    given.put("nowhere")
    assert given.shown() == ["at " + place for place in sorted(places, key=str.encode)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8])
def test_pages_of_rows_of_one_place_leave_nothing_out(size: int) -> None:
    given = Given()
    for key in "abcdefg":
        given.put(key, "~")
    found = list(pages(given, Limit=size))
    assert sorted(key for page in found for key in page) == list("abcdefg")
    assert all(len(page) == size for page in found[:-1])


def test_a_page_ends_at_a_megabyte() -> None:
    given = Given()
    for key in "abcde":
        given.put(key, key, shown={"S": "x" * 300_000})
    assert list(pages(given)) == [list("abcd"), ["e"]]


def test_ttl_deletes_what_has_expired_once_it_is_enabled() -> None:
    given = Given()
    now = int(given.clock.now().timestamp())
    given.put("due", expires={"N": str(now + 1)})
    given.put("later", expires={"N": str(now + 2)})
    given.put("never", expires={"S": "soon"})
    given.clock.advance(timedelta(seconds=1))
    assert given.engine.expire() == []
    ttl = {"Enabled": True, "AttributeName": "expires"}
    given.engine.update_time_to_live(TableName=TABLE, TimeToLiveSpecification=ttl)
    assert given.engine.expire() == [("hash", "due")]
    assert given.keys() == ["later", "never"]


def test_a_refused_transaction_changes_nothing() -> None:
    given = Given()
    given.put("a", "1")
    absent = {"ConditionExpression": "attribute_not_exists(#r)", "ExpressionAttributeNames": {"#r": "r"}}
    writes = [
        {"Put": {"TableName": TABLE, "Item": item("b", "2")}},
        {"Put": {"TableName": TABLE, "Item": item("a"), **absent}},
    ]
    with pytest.raises(given.engine.exceptions.TransactionCanceledException) as raised:
        given.engine.transact_write_items(TransactItems=writes)
    codes = [reason["Code"] for reason in raised.value.response["CancellationReasons"]]
    assert codes == ["None", "ConditionalCheckFailed"]
    assert (given.shown(), given.keys()) == (["a"], ["a"])


def test_a_transaction_touches_an_item_once() -> None:
    given = Given()
    put = {"Put": {"TableName": TABLE, "Item": item("a")}}
    with pytest.raises(ClientError, match="multiple operations on one item"):
        given.engine.transact_write_items(TransactItems=[put, put])


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("query", {"ScanIndexForward": False}),
        ("get_item", {"Key": item("a")}),
        ("get_item", {"Key": item("a"), "ConsistentRead": False}),
        ("put_item", {"Item": item("a", at={"B": b"x"})}),
        ("put_item", {"Item": item("a"), "ReturnValues": "ALL_OLD"}),
    ],
)
def test_a_request_that_the_store_does_not_make_is_refused_by_name(operation: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(NotImplementedError):
        getattr(Given().engine, operation)(TableName=TABLE, **arguments)
