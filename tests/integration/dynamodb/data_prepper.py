"""Data Prepper's standard coordinator on a DynamoDB table, as far as the tests need it, by its own rules.

Real Data Prepper 2.16.0 has written ``data_prepper_table.json``. What is here repeats its way with items in Python:
the types of its bean, its conditional puts of whole items, its order of acquisition. It shares no code with the
package.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from airflow_coordination.values.times import Clock

Item = dict[str, dict[str, Any]]

DUMP = json.loads(Path(__file__).with_name("data_prepper_table.json").read_text())
SNAPSHOTS: dict[str, list[Item]] = {name.split()[0]: items for name, items in DUMP["snapshots"].items()}
"""The items of the real table at seven moments, by their numbers."""
_CENTURY = 100 * 365 * 24 * 60 * 60
for _item in (each for each_of in SNAPSHOTS.values() for each in each_of):
    if (_expires := _item.get("expirationTime")) is not None:  # a week after the dump, when DynamoDB Local deletes it
        _expires["N"] = str(int(_expires["N"]) + _CENTURY)

BASE = "env1|s3-pipeline"
GLOBAL_KEY = "GLOBAL_STATE_SOURCE_PARTITION_KEY_FOR_CREATING_PARTITIONS"
LEASE = timedelta(minutes=10)

INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)")
STATUSES = ("UNASSIGNED", "ASSIGNED", "CLOSED", "COMPLETED")


class UnreadableError(Exception):
    """Java's bean cannot be made of an item."""


def text(value: str) -> str:
    return value


def long(value: str) -> int:
    if not re.fullmatch(r"[+-]?\d+", value):
        raise ValueError(value)
    return int(value)


def instant(value: str) -> datetime:
    if not INSTANT.fullmatch(value):
        raise ValueError(value)
    return datetime.fromisoformat(value)


def status(value: str) -> str:
    if value not in STATUSES:
        raise ValueError(value)
    return value


BEAN = {
    "sourceIdentifier": text,
    "sourcePartitionKey": text,
    "partitionOwner": text,
    "partitionProgressState": text,
    "partitionOwnershipTimeout": instant,
    "sourcePartitionStatus": status,
    "reOpenAt": instant,
    "closedCount": long,
    "version": long,
    "sourceStatusCombinationKey": text,
    "partitionPriority": text,
    "expirationTime": long,
}
"""``DynamoDbSourcePartitionItem``: what it has. The SDK takes numbers for texts, and texts for numbers."""


def bean(item: Item) -> dict[str, Any]:
    """Read an item as Java does: attributes that the bean has not are passed over.

    :raises UnreadableError: naming the attribute of another type or form.
    """
    values = {}
    for name in BEAN.keys() & item.keys():
        [(kind, value)] = item[name].items()
        try:
            values[name] = BEAN[name](value if kind in ("S", "N") else "another type")
        except ValueError as error:
            raise UnreadableError(name) from error
    return values


def make_table(client: Any, name: str, items: list[Item]) -> None:
    """Make the table that real Data Prepper made, with these items in it."""
    described = DUMP["table"]
    shape = {key: described[key] for key in ("AttributeDefinitions", "KeySchema", "ProvisionedThroughput")}
    indexes = [{k: v for k, v in index.items() if k != "IndexStatus"} for index in described["GlobalSecondaryIndexes"]]
    client.create_table(TableName=name, GlobalSecondaryIndexes=indexes, **shape)
    ttl = {"Enabled": True, "AttributeName": described["TimeToLive"]["AttributeName"]}
    client.update_time_to_live(TableName=name, TimeToLiveSpecification=ttl)
    for item in items:
        client.put_item(TableName=name, Item=item)


@dataclass
class DataPrepper:
    """One node of Data Prepper.

    :param client: boto3's, of the engine.
    :param table: the table.
    :param clock: its own.
    :param host: its name.
    """

    client: Any
    table: str
    clock: Clock
    host: str = "node-a"

    @property
    def owner(self) -> str:
        return f"{BASE}:{self.host}"

    def time(self, later: timedelta = timedelta(0)) -> str:
        return f"{self.clock.now() + later:%Y-%m-%dT%H:%M:%S.%f}789Z"

    def start(self) -> bool:
        """Be started: create the global item, unless it is there."""
        return self.create(GLOBAL_KEY, "GLOBAL_STATE")

    def create(self, key: str, kind: str = "PARTITION") -> bool:
        """Create a partition; return whether there was none."""
        item = {
            "sourceIdentifier": {"S": f"{BASE}|{kind}"},
            "sourcePartitionKey": {"S": key},
            "closedCount": {"N": "0"},
            "version": {"N": "0"},
            **self._standing(f"{BASE}|{kind}", "UNASSIGNED", self.time()),
        }
        return self._put(item, "attribute_not_exists(sourceIdentifier)")

    def acquire(self) -> str | None:
        """Take the next partition, and return its key."""
        now = self.clock.now()
        for state, size, time in (
            ("ASSIGNED", 1, "partitionOwnershipTimeout"),
            ("UNASSIGNED", 5, None),
            ("CLOSED", 1, "reOpenAt"),
        ):
            for row in self._rows(state, size):
                values = bean(row)
                if time is not None and values.get(time, now) > now:
                    break
                if self._write(row, "ASSIGNED", self.time(LEASE), owner=self.owner):
                    return str(values["sourcePartitionKey"])
        return None

    def complete(self, key: str) -> bool:
        """Complete a partition; return whether nobody wrote in between."""
        row = self.item(key)
        assert row["partitionOwner"]["S"] == self.owner
        return self._write(row, "COMPLETED", row["partitionPriority"]["S"])

    def close(self, key: str, later: timedelta) -> bool:
        """Close a partition until later; return whether nobody wrote in between."""
        row = self.item(key)
        assert row["partitionOwner"]["S"] == self.owner
        return self._write(row | {"reOpenAt": {"S": self.time(later)}}, "CLOSED", self.time(later))

    def save_state(self, state: str) -> bool:
        """Save the global state when its supplier has run: without a look at who holds it."""
        row = self.item(GLOBAL_KEY, "GLOBAL_STATE") | {"partitionProgressState": {"S": state}}
        return self._write(row, "UNASSIGNED", self.time())

    def item(self, key: str, kind: str = "PARTITION") -> Item:
        """Return an item."""
        where = {"sourceIdentifier": {"S": f"{BASE}|{kind}"}, "sourcePartitionKey": {"S": key}}
        item: Item = self.client.get_item(TableName=self.table, Key=where)["Item"]
        return item

    def _rows(self, state: str, size: int) -> list[Item]:
        found = self.client.query(
            TableName=self.table,
            IndexName="source-status",
            KeyConditionExpression="sourceStatusCombinationKey = :key",
            ExpressionAttributeValues={":key": {"S": f"{BASE}|PARTITION|{state}"}},
            Limit=size,
        )
        rows: list[Item] = found["Items"]
        return rows

    @staticmethod
    def _standing(source: str, state: str, priority: str) -> Item:
        return {
            "sourcePartitionStatus": {"S": state},
            "sourceStatusCombinationKey": {"S": f"{source}|{state}"},
            "partitionPriority": {"S": priority},
        }

    def _write(self, row: Item, state: str, priority: str, owner: str | None = None) -> bool:
        """Put the whole item, without whatever the bean does not have."""
        item = {name: value for name, value in row.items() if name in BEAN}
        for name in ("partitionOwner", "partitionOwnershipTimeout"):
            item.pop(name, None)
        if owner is not None:
            item |= {"partitionOwner": {"S": owner}, "partitionOwnershipTimeout": {"S": priority}}
        if "version" not in row:
            return False
        version = int(row["version"]["N"])
        item |= self._standing(row["sourceIdentifier"]["S"], state, priority) | {"version": {"N": str(version + 1)}}
        return self._put(item, "version = :version", {":version": {"N": str(version)}})

    def _put(self, item: Item, condition: str, values: Item | None = None) -> bool:
        given = {"ExpressionAttributeValues": values} if values else {}
        try:
            self.client.put_item(TableName=self.table, Item=item, ConditionExpression=condition, **given)
        except self.client.exceptions.ConditionalCheckFailedException:
            return False
        return True
