"""Data Prepper's standard coordinator on its DynamoDB store, request for request, so that it can be run beside ours.

Its rules, from its code (version 2.16): acquiring asks the index for one ASSIGNED partition, then for pages of five
UNASSIGNED ones, then for one CLOSED one, and puts the whole item back under the version it read there; who loses a
put tries the next item of the page, then the next page. Every other step reads the item, compares its owner, and
puts it whole. With nothing found it runs the supplier under the lease of a global item, and looks once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

LEASE = timedelta(minutes=10)
SOURCE = "benchmark|PARTITION"
GLOBAL = ("benchmark|GLOBAL_STATE", "GLOBAL_STATE_ITEM")
INDEX = "source-status"
_PAGES = {"ASSIGNED": 1, "UNASSIGNED": 5, "CLOSED": 1}
_DUE = {"ASSIGNED": "partitionOwnershipTimeout", "UNASSIGNED": "", "CLOSED": "reOpenAt"}

Item = dict[str, dict[str, str]]


def make_table(client: Any, table: str) -> None:
    """Make the table that Data Prepper makes, but for its provisioned units."""
    names = ["sourceIdentifier", "sourcePartitionKey", "sourceStatusCombinationKey", "partitionPriority"]
    keys = [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ["HASH", "RANGE"] * 2, strict=True)]
    client.create_table(
        TableName=table,
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in names],
        KeySchema=keys[:2],
        GlobalSecondaryIndexes=[
            {"IndexName": INDEX, "KeySchema": keys[2:], "Projection": {"ProjectionType": "ALL"}},
        ],
        BillingMode="PAY_PER_REQUEST",
    )


class DataPrepper:
    """One node's coordinator.

    :param client: a low-level client.
    :param table: as :func:`make_table` makes it.
    :param host: the node's name.
    """

    def __init__(self, client: Any, table: str, host: str) -> None:
        self._client, self._table = client, table
        self._owner = f"benchmark:{host}"

    def initialize(self) -> None:
        """Make sure that there is a global item."""
        self._create(GLOBAL, {"sourcePartitionStatus": {"S": "UNASSIGNED"}})

    def create_partition(self, key: str) -> None:
        """Create a partition unless it exists: read, then put."""
        if self._get((SOURCE, key)) is None:
            waiting = {
                "sourcePartitionStatus": {"S": "UNASSIGNED"},
                "closedCount": {"N": "0"},
                "partitionPriority": {"S": _text(datetime.now(UTC))},
                "sourceStatusCombinationKey": {"S": f"{SOURCE}|UNASSIGNED"},
            }
            self._create((SOURCE, key), waiting)

    def get_next_partition(self) -> str | None:
        """Return the key of a partition that is now this node's; ``None`` when there was none, twice."""
        found = self._acquire()
        if found is None:
            self._run_supplier()
            found = self._acquire()
        return found

    def complete(self, key: str) -> None:
        """End a lease: read the item, compare its owner, put it back."""
        item = self._get((SOURCE, key))
        if item is None or item.get("partitionOwner") != {"S": self._owner}:
            raise RuntimeError(f"{key} is not {self._owner}'s: {item}")
        done = {name: value for name, value in item.items() if name not in ("partitionOwner", *_DUE.values())}
        done |= {
            "sourcePartitionStatus": {"S": "COMPLETED"},
            "sourceStatusCombinationKey": {"S": f"{SOURCE}|COMPLETED"},
        }
        if not self._put(done):
            raise RuntimeError(f"{key} was changed while {self._owner} completed it")

    def _acquire(self) -> str | None:
        return next((key for status in _PAGES if (key := self._acquire_one(status)) is not None), None)

    def _acquire_one(self, status: str) -> str | None:
        """Take the first item that lets itself be taken; one that is not due yet ends the search."""
        for item in self._waiting(status):
            due = item.get(_DUE[status])
            if due is not None and due["S"] > _text(datetime.now(UTC)):
                return None
            if self._put(self._assigned(item)):
                return item["sourcePartitionKey"]["S"]
        return None

    def _waiting(self, status: str) -> Iterator[Item]:
        start: dict[str, Any] = {}
        while True:
            page = self._client.query(
                TableName=self._table,
                IndexName=INDEX,
                KeyConditionExpression="sourceStatusCombinationKey = :s",
                ExpressionAttributeValues={":s": {"S": f"{SOURCE}|{status}"}},
                Limit=_PAGES[status],
                **start,
            )
            yield from page["Items"]
            if "LastEvaluatedKey" not in page:
                return
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def _assigned(self, item: Item) -> Item:
        until = {"S": _text(datetime.now(UTC) + LEASE)}
        return item | {
            "sourcePartitionStatus": {"S": "ASSIGNED"},
            "sourceStatusCombinationKey": {"S": f"{SOURCE}|ASSIGNED"},
            "partitionOwner": {"S": self._owner},
            "partitionOwnershipTimeout": until,
            "partitionPriority": until,
        }

    def _run_supplier(self) -> None:
        """Run a supplier that has nothing to supply, under the global item's lease if that is free."""
        item = self._get(GLOBAL)
        if item is None or not self._is_free(item):
            return
        lease = {
            "partitionOwner": {"S": self._owner},
            "partitionOwnershipTimeout": {"S": _text(datetime.now(UTC) + LEASE)},
        }
        if self._put(item | lease | {"sourcePartitionStatus": {"S": "ASSIGNED"}}):
            held = self._get(GLOBAL) or item
            free = {name: value for name, value in held.items() if name not in lease}
            self._put(free | {"sourcePartitionStatus": {"S": "UNASSIGNED"}})

    def _is_free(self, item: Item) -> bool:
        if item["sourcePartitionStatus"]["S"] == "UNASSIGNED" or item["partitionOwner"]["S"] == self._owner:
            return True
        return item["partitionOwnershipTimeout"]["S"] <= _text(datetime.now(UTC))

    def _get(self, key: tuple[str, str]) -> Item | None:
        found: Item | None = self._client.get_item(TableName=self._table, Key=_key(key)).get("Item")
        return found

    def _create(self, key: tuple[str, str], attributes: Item) -> bool:
        absent = "attribute_not_exists(sourceIdentifier) or attribute_not_exists(sourcePartitionKey)"
        return self._put_if(absent, {**_key(key), **attributes, "version": {"N": "0"}})

    def _put(self, item: Item) -> bool:
        """Put a whole item in the place of the version it was made from."""
        same = "attribute_exists(sourceIdentifier) and attribute_exists(sourcePartitionKey) and version = :v"
        newer = {"N": str(int(item["version"]["N"]) + 1)}
        return self._put_if(same, item | {"version": newer}, ExpressionAttributeValues={":v": item["version"]})

    def _put_if(self, condition: str, item: Item, **arguments: Any) -> bool:
        try:
            self._client.put_item(TableName=self._table, Item=item, ConditionExpression=condition, **arguments)
        except self._client.exceptions.ConditionalCheckFailedException:
            return False
        return True


def _key(key: tuple[str, str]) -> Item:
    return {"sourceIdentifier": {"S": key[0]}, "sourcePartitionKey": {"S": key[1]}}


def _text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z"
