"""The simulation's engine against the vendor's own: the same requests, the same answers, the same table at the end."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from tests.simulation.dynamodb.engine import Engine
from tests.simulation.dynamodb.mutations import Mutations
from tests.simulation.dynamodb.workload import Sent, Workload

STEPS = 250
"""Of the store; each sends some requests."""
INDEX = ("sourceStatusCombinationKey", "partitionPriority")
COMPARED = ("Item", "Items", "Attributes", "Count", "ScannedCount", "LastEvaluatedKey", "Responses", "UnprocessedKeys")


class Pair:
    """An engine of each kind with one table."""

    def __init__(self, vendors: Any, table: str, layout: dict[str, Any]) -> None:
        self._ours, self._vendors, self.table = Engine(lambda: datetime.now(UTC)), vendors, table
        self.counts: Counter[str] = Counter()
        """What was compared, by operation and by answer."""
        for client in (self._ours, self._vendors):
            client.create_table(**layout)

    def compare(self, sent: Sent) -> None:
        """Send a request to both, and compare what they answer."""
        if "IndexName" in sent.arguments and self._has_equals(sent):
            self.counts["left out: rows of one place"] += 1
            return
        ours, vendors = (_answer(client, sent) for client in (self._ours, self._vendors))
        assert ours == vendors, f"{sent}:\nours    {ours}\nvendor's {vendors}"
        self.counts.update([sent.name, ours.get("error", "answered")])

    def _has_equals(self, sent: Sent) -> bool:
        """Compare a query of the index without limits; return whether the order of its rows is unspecified."""
        left_out = ("Limit", "ExclusiveStartKey", "Select", "ProjectionExpression")
        whole = {name: v for name, v in sent.arguments.items() if name not in left_out}
        used = set(re.findall(r"#\w+", f"{whole.get('KeyConditionExpression')} {whole.get('FilterExpression')}"))
        named = {name: v for name, v in whole.pop("ExpressionAttributeNames", {}).items() if name in used}
        whole |= {"ExpressionAttributeNames": named} if named else {}
        ours, vendors = (_answer(client, Sent("query", whole)) for client in (self._ours, self._vendors))
        rows = [
            sorted(answer.get("Items", ()), key=lambda row: (row[INDEX[1]]["S"], str(_key(row))))
            for answer in (ours, vendors)
        ]
        assert rows[0] == rows[1], sent
        return len({row[INDEX[1]]["S"] for row in rows[0]}) < len(rows[0])

    def compare_tables(self) -> None:
        """Compare everything in the table, and everything that its index shows."""
        everything = Sent("scan", {"TableName": self.table, "ConsistentRead": True})
        ours, vendors = (_answer(client, everything)["Items"] for client in (self._ours, self._vendors))
        assert ours == vendors
        for value in {item[INDEX[0]]["S"] for item in ours if "S" in item.get(INDEX[0], ())}:
            self._has_equals(self._rows(value))

    def _rows(self, value: str) -> Sent:
        """Return the query for all rows of the index with a hash key."""
        arguments = {
            "TableName": self.table,
            "IndexName": "source-status",
            "KeyConditionExpression": "#n0 = :v0",
            "ExpressionAttributeNames": {"#n0": INDEX[0]},
            "ExpressionAttributeValues": {":v0": {"S": value}},
        }
        return Sent("query", arguments)


def _key(item: dict[str, Any]) -> tuple[str, str]:
    return item["sourceIdentifier"]["S"], item["sourcePartitionKey"]["S"]


def _answer(client: Any, sent: Sent) -> dict[str, Any]:
    """Return what can be compared of an answer or a refusal."""
    try:
        answer = getattr(client, sent.name)(**sent.arguments)
    except ClientError as error:
        return {
            "error": error.response["Error"]["Code"],
            "item": error.response.get("Item"),
            "reasons": [(r["Code"], r.get("Item")) for r in error.response.get("CancellationReasons", ())],
        }
    found = {name: answer[name] for name in COMPARED if answer.get(name)}
    if sent.name == "scan":
        found["Items"] = sorted(answer["Items"], key=_key)
    if "Responses" in found:
        found["Responses"] = {name: sorted(items, key=_key) for name, items in found["Responses"].items()}
    return found


@pytest.fixture
def name(local_client: Any) -> Iterator[str]:
    """Name of a table that the test makes."""
    name = f"engines-{uuid4().hex}"
    yield name
    local_client.delete_table(TableName=name)


@pytest.mark.parametrize("seed", range(2))
def test_random_requests_have_the_same_answers(local_client: Any, name: str, seed: int) -> None:
    source = random.Random(seed)
    workload = Workload(name, seed)
    sent = workload.recorded(STEPS)
    pair = Pair(local_client, name, workload.layout)
    mutations = Mutations(sent, name, source)
    for one in sent:
        pair.compare(one)
        if source.random() < 0.5:
            pair.compare(mutations.of(one))
        if source.random() < 0.02:
            pair.compare(mutations.deletion())
    pair.compare_tables()
    assert pair.counts["ConditionalCheckFailedException"] > 100, "too few refusals to say anything"
    assert pair.counts["TransactionCanceledException"] > 10, "too few transactions to say anything"


KEY = {"sourceIdentifier": {"S": "s"}, "sourcePartitionKey": {"S": "k"}}


def text(length: int) -> dict[str, str]:
    return {"S": "x" * length}


def reading(key: dict[str, Any]) -> Sent:
    return Sent("get_item", {"Key": key, "ConsistentRead": True})


def putting(**attributes: Any) -> Sent:
    return Sent("put_item", {"Item": KEY | attributes})


def updating(expression: str, values: dict[str, Any] | None = None, **names: str) -> Sent:
    arguments = {"Key": KEY, "UpdateExpression": expression}
    placeholders = {"ExpressionAttributeNames": {f"#{letter}": name for letter, name in names.items()}}
    return Sent("update_item", arguments | placeholders | ({"ExpressionAttributeValues": values} if values else {}))


def between(low: str, high: str, name: str = "sourcePartitionKey", **more: Any) -> Sent:
    arguments = {
        "KeyConditionExpression": "(#h = :h AND #r BETWEEN :low AND :high)",
        "ExpressionAttributeNames": {"#h": "sourceIdentifier", "#r": name},
        "ExpressionAttributeValues": {":h": {"S": "s"}, ":low": {"S": low}, ":high": {"S": high}},
        "ConsistentRead": True,
    }
    return Sent("query", arguments | more)


AT_THE_LIMITS = [
    *[reading(key) for key in (KEY | {"a": text(1)}, {"sourceIdentifier": text(1)})],
    *[reading(KEY | {"sourcePartitionKey": key}) for key in (text(0), {"N": "1"})],
    *[putting(sourcePartitionKey=text(length)) for length in (0, 1024, 1025)],
    *[putting(sourceIdentifier=text(length)) for length in (2048, 2049)],
    *[putting(a=text(400 * 1024 - less)) for less in (37, 36)],
    *[putting(partitionPriority=value) for value in (text(0), {"N": "1"}, text(1))],
    *[putting(a={"N": number}) for number in ("1" * 38, "1" * 39, "-0.0", "1e20", "0.10")],
    *[updating("SET #a = :a", {":a": text(400 * 1024 - less)}, a="a") for less in (37, 36)],
    updating("SET #a = :a", {":a": text(1), ":b": text(1)}, a="a"),
    updating("SET #a = :a", a="a"),
    updating("SET #a = #b", a="a", b="absent"),
    updating("REMOVE #a, #b", a="a", b="a"),
    updating("REMOVE #a", a="sourceIdentifier"),
    between("z", "a"),
    between("a", "z", name="a"),
    between("a", "z", IndexName="source-status"),
    between("a", "z", IndexName="absent", ConsistentRead=False),
    *[putting(sourcePartitionKey={"S": key}, a=text(300_000)) for key in "bcdef"],
    between("a", "z"),
    *[between("a", "z", Limit=limit) for limit in (3, 4, 5, 6, 7)],
]


def test_the_limits_are_the_same(local_client: Any, name: str) -> None:
    pair = Pair(local_client, name, Workload(name, 0).layout)
    for operation, arguments in AT_THE_LIMITS:
        pair.compare(Sent(operation, arguments | {"TableName": name}))
    keys = [KEY | {"sourcePartitionKey": {"S": str(number)}} for number in range(101)]
    for wanted in (keys[:100], keys, [KEY, KEY]):
        pair.compare(Sent("batch_get_item", {"RequestItems": {name: {"Keys": wanted, "ConsistentRead": True}}}))
    for together in (keys[:100], keys):
        writes = [{"Put": {"TableName": name, "Item": key}} for key in together]
        pair.compare(Sent("transact_write_items", {"TransactItems": writes}))
    pair.compare_tables()
    assert pair.counts["ValidationException"] > 15
