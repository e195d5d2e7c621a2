"""An index that is up to some seconds behind, as DynamoDB's are; the engines for tests have fresh ones only.

A second table of the same shape plays the index: what is written to the first comes to it later, each item by
itself and in the item's own order. So the engine still reads the key conditions.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import uuid4

from airflow_coordination.values.times import Clock

LONGEST: Final = timedelta(seconds=5)
Row = dict[str, Any]


class LaggingIndex:
    """Sends requests on, and answers queries of an index from what it knew some time ago.

    :param client: boto3's.
    :param table: the table, which exists.
    :param clock: moved by the test.
    :param source: draws how long each change takes to come.
    :param longest: the longest time that one takes.
    :param watch: called with the key of every item that is written and its new version, ``None`` when it is deleted.
    """

    def __init__(
        self,
        client: Any,
        table: str,
        clock: Clock,
        source: random.Random,
        longest: timedelta = LONGEST,
        watch: Callable[[Row, Row | None], object] = lambda key, version: None,
    ) -> None:
        self._watch = watch
        self._client, self._table, self._clock, self._random, self._longest = client, table, clock, source, longest
        self.table = f"lagging-{uuid4().hex}"
        """The table that plays the index; delete it when the test is over."""
        self._keys, self._index_keys = self._make()
        self._due: dict[tuple[str, ...], list[tuple[datetime, Row | None]]] = {}
        self._shown: set[tuple[str, ...]] = set()
        self._lock = threading.Lock()

    def send(self, name: str, arguments: dict[str, Any]) -> Any:
        """Send a request; note what it writes; answer a query of an index late."""
        if "IndexName" in arguments and arguments.get("TableName") == self._table:
            self._bring()
            return getattr(self._client, name)(**arguments | {"TableName": self.table})
        answer = getattr(self._client, name)(**arguments)
        for key in self._written(name, arguments):
            self._note(key)
        return answer

    def catch_up(self) -> None:
        """Let everything come now."""
        self._bring(everything=True)

    def _make(self) -> tuple[list[str], list[str]]:
        found = self._client.describe_table(TableName=self._table)["Table"]
        indexes = [
            {name: index[name] for name in ("IndexName", "KeySchema", "Projection")}
            for index in found["GlobalSecondaryIndexes"]
        ]
        self._client.create_table(
            TableName=self.table,
            AttributeDefinitions=found["AttributeDefinitions"],
            KeySchema=found["KeySchema"],
            GlobalSecondaryIndexes=indexes,
            BillingMode="PAY_PER_REQUEST",
        )
        return _names(found), _names(indexes[0])

    def _written(self, name: str, arguments: dict[str, Any]) -> Iterator[Row]:
        for change in _changes(name, arguments):
            if change.get("TableName") == self._table:
                where = change.get("Key") or change["Item"]
                yield {part: where[part] for part in self._keys}

    def _note(self, key: Row) -> None:
        with self._lock:
            image = self._client.get_item(TableName=self._table, Key=key, ConsistentRead=True).get("Item")
            coming = self._due.setdefault(tuple(key[part]["S"] for part in self._keys), [])
            due = self._clock.now() + self._random.random() * self._longest
            coming.append((max([due, *(when for when, _ in coming)]), image))
        self._watch(key, image)

    def _bring(self, *, everything: bool = False) -> None:
        now = self._clock.now()
        with self._lock:
            for key, coming in list(self._due.items()):
                ready = [image for when, image in coming if everything or when <= now]
                self._due[key] = coming[len(ready) :]
                if ready:
                    self._put(key, ready[-1])
                if not self._due[key]:
                    del self._due[key]

    def _put(self, key: tuple[str, ...], image: Row | None) -> None:
        if image is not None and all(part in image for part in self._index_keys):
            self._client.put_item(TableName=self.table, Item=image)
            self._shown.add(key)
        elif key in self._shown:
            self._shown.remove(key)
            where = {part: {"S": text} for part, text in zip(self._keys, key, strict=True)}
            self._client.delete_item(TableName=self.table, Key=where)


def _names(described: Row) -> list[str]:
    return [part["AttributeName"] for part in described["KeySchema"]]


def _changes(name: str, arguments: dict[str, Any]) -> Iterator[Row]:
    if name == "transact_write_items":
        for change in arguments["TransactItems"]:
            yield from (part for kind, part in change.items() if kind != "ConditionCheck")
    elif name in ("put_item", "update_item", "delete_item"):
        yield arguments
