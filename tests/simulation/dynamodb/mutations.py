"""Requests that the store never sends just then: its own, with other values, keys, limits, and in other company."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from airflow_coordination.stores.dynamodb.items import KEY, SOURCE
from tests.simulation.dynamodb.items import Attribute, Item
from tests.simulation.dynamodb.workload import Sent

_WRITES = {"put_item": "Put", "update_item": "Update", "delete_item": "Delete"}


class Mutations:
    """Changes requests by chance; every change is of a copy.

    :param sent: what the store has sent, to take values and companions from.
    :param table: the table's name.
    :param source: decides everything.
    """

    def __init__(self, sent: list[Sent], table: str, source: random.Random) -> None:
        self._random, self._table = source, table
        self._writes = [one for one in sent if one.name in _WRITES]
        self._keys = [one.arguments["Key"] for one in sent if "Key" in one.arguments]
        self._values: defaultdict[str, list[Attribute]] = defaultdict(list)
        for one in self._writes:
            for value in one.arguments.get("ExpressionAttributeValues", {}).values():
                [kind] = value
                self._values[kind].append(value)

    def of(self, sent: Sent) -> Sent:
        """Return a request like this one."""
        changes = _FOR.get(sent.name)
        return sent if changes is None else self._random.choice(changes)(self, sent)

    def deletion(self) -> Sent:
        """Return the deletion of any item."""
        return Sent("delete_item", {"TableName": self._table, "Key": self._random.choice(self._keys)})

    def other_value(self, sent: Sent) -> Sent:
        """Give one placeholder another value."""
        values = sent.arguments.get("ExpressionAttributeValues", {})
        if not values:
            return sent
        name = self._random.choice(sorted(values))
        return self._with(sent, ExpressionAttributeValues=values | {name: self._other(values[name])})

    def other_key(self, sent: Sent) -> Sent:
        """Mean another item, or one that is not there."""
        key = self._random.choice(self._keys)
        if self._random.random() < 0.2:
            key = {name: {"S": value["S"][:100] + "absent"} for name, value in key.items()}
        if "Item" in sent.arguments:
            return self._with(sent, Item=sent.arguments["Item"] | key)
        return self._with(sent, Key=key)

    def other_attribute(self, sent: Sent) -> Sent:
        """Put an attribute more, less or with another value."""
        item: Item = dict(sent.arguments["Item"])
        name = self._random.choice(sorted(item))
        change = self._random.choice(["change", "leave out", "new"])
        if change == "leave out":
            del item[name]
        elif change == "change":
            item[name] = self._other(item[name])
        else:
            item["new"] = self._random.choice(_UNUSUAL)
        return self._with(sent, Item=item)

    def no_condition(self, sent: Sent) -> Sent:
        """Leave the condition out; its placeholders are left over."""
        return Sent(sent.name, {name: v for name, v in sent.arguments.items() if name != "ConditionExpression"})

    def other_return(self, sent: Sent) -> Sent:
        """Ask for another answer."""
        shown = self._random.choice(["NONE", "ALL_OLD"])
        changed = self._with(sent, ReturnValuesOnConditionCheckFailure=shown)
        if sent.name != "update_item":
            return changed
        return self._with(changed, ReturnValues=self._random.choice(["NONE", "ALL_OLD", "ALL_NEW"]))

    def in_company(self, sent: Sent) -> Sent:
        """Make a transaction of this write and earlier ones, which may well refuse it."""
        company = [sent, *self._random.sample(self._writes, self._random.randrange(1, 4))]
        self._random.shuffle(company)
        return Sent("transact_write_items", {"TransactItems": _distinct([_part(one) for one in company])})

    def one_of_many(self, sent: Sent) -> Sent:
        """Change one write of a transaction."""
        changes = list(sent.arguments["TransactItems"])
        place = self._random.randrange(len(changes))
        [(kind, request)] = changes[place].items()
        name = next(name for name, known in _WRITES.items() if known == kind)
        changes[place] = _part(self.other_value(self.other_key(Sent(name, request))))
        return self._with(sent, TransactItems=_distinct(changes))

    def other_keys(self, sent: Sent) -> Sent:
        """Ask for other items, now and then for one twice."""
        keys = self._random.sample(self._keys, self._random.randrange(1, 5))
        return self._with(sent, RequestItems={self._table: {"Keys": keys, "ConsistentRead": True}})

    def other_limit(self, sent: Sent) -> Sent:
        """Ask for a shorter page."""
        return self._with(sent, Limit=self._random.randrange(1, 4))

    def _other(self, value: Attribute) -> Attribute:
        [kind] = value
        chance = self._random.random()
        if kind == "N" and chance < 0.5:
            return {"N": str(int(value["N"]) + self._random.choice([-1, 1]))}
        if chance < 0.95:
            return self._random.choice(self._values[kind] or [value])
        return self._random.choice(_UNUSUAL)

    def _with(self, sent: Sent, **changes: Any) -> Sent:
        return Sent(sent.name, sent.arguments | changes)


def _part(sent: Sent) -> dict[str, Any]:
    kept = {name: value for name, value in sent.arguments.items() if name != "ReturnValues"}
    return {_WRITES[sent.name]: kept}


def _distinct(changes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first change of each item: DynamoDB Local applies a second one, which the service refuses."""
    found: dict[str, dict[str, Any]] = {}
    for change in changes:
        [request] = change.values()
        where = request.get("Key") or {name: request["Item"].get(name) for name in (SOURCE, KEY)}
        found.setdefault(json.dumps(where, sort_keys=True), change)
    return list(found.values())


_UNUSUAL: list[Attribute] = [
    {"S": "é\U0001f600\uffff"},
    {"N": "-1.50"},
    {"N": "007"},
    {"N": "12e3"},
    {"BOOL": True},
    {"NULL": True},
    {"L": [{"S": "x"}, {"N": "1"}]},  # DynamoDB Local leaves "01" as it is inside a list; the service does not
    {"M": {"row": {"N": "7"}}},
]

Mutation = Callable[[Mutations, Sent], Sent]
_ANY_WRITE: list[Mutation] = [
    Mutations.other_value,
    Mutations.other_key,
    Mutations.no_condition,
    Mutations.other_return,
    Mutations.in_company,
]
_FOR: dict[str, list[Mutation]] = {
    "update_item": [*_ANY_WRITE, Mutations.other_value],
    "put_item": [*_ANY_WRITE, Mutations.other_attribute],
    "transact_write_items": [Mutations.one_of_many],
    "get_item": [Mutations.other_key],
    "batch_get_item": [Mutations.other_keys],
    "query": [Mutations.other_value, Mutations.other_limit],
}
