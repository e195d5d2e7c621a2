"""The names of a key's two parts, and what the service asks of them."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.simulation.dynamodb.items import Attribute, Item
from tests.simulation.dynamodb.rejections import invalid

MAX_HASH_BYTES = 2048
MAX_RANGE_BYTES = 1024
Key = tuple[str, str]


class Schema(NamedTuple):
    """The attributes that are a key."""

    hash: str
    range: str

    @classmethod
    def of(cls, described: dict[str, Any]) -> Schema:
        """Return the key of a table or an index."""
        names = {part["KeyType"]: part["AttributeName"] for part in described["KeySchema"]}
        if len(names) < len(cls._fields):
            raise NotImplementedError("a key without a range")
        return cls(names["HASH"], names["RANGE"])

    def key(self, item: Item) -> Key:
        """Return the key of an item that is stored."""
        return item[self.hash]["S"], item[self.range]["S"]

    def checked(self, item: Item) -> Key:
        """Return the key in a request.

        :raises Rejected: when the service takes no such key.
        """
        found = _text(item, self.hash), _text(item, self.range)
        if len(found[0].encode()) > MAX_HASH_BYTES or len(found[1].encode()) > MAX_RANGE_BYTES:
            raise invalid("Hash primary key values must be under 2048 bytes, and range primary key values under 1024")
        return found

    def only(self, key: Item) -> Key:
        """Return the key in a request that holds nothing else.

        :raises Rejected: when it does.
        """
        found = self.checked(key)
        if len(key) != len(self):
            raise invalid("The number of conditions on the keys is invalid")
        return found


def _text(item: Item, name: str) -> str:
    value: Attribute | None = item.get(name)
    if value is None:
        raise invalid(f"One of the required keys was not given a value: {name}")
    if not value.get("S"):
        raise invalid(f"One or more parameter values were invalid: {value} for key {name}")
    return str(value["S"])
